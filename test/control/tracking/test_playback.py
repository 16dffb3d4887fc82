"""Playback: the commands of a plan as they are written, held torques held, at rest outside of the plan."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.control.bridge.plan_interpolation import interpolate_plan
from contact_mpc.control.controller import ControllerSetup
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import NO_REFERENCE, OK, PLAN_KEPT, Reference
from contact_mpc.control.tracking.playback import REPLANNED, Playback
from contact_mpc.loop.controllers import make_controller
from contact_mpc.loop.wire import plan_over_wire, reference_over_wire
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import EDGE_S, Plan

CONFIG = TrackerConfig(controller="playback", horizon_steps=3)
START_NS = 2_000_000_000
DT_S = 0.04
ROUNDING = 1e-9  # times travel in whole nanoseconds; slopes here are of the order of 1/s


@pytest.fixture(scope="module")
def system() -> System:
    return load_system("anypulator_block")


@pytest.fixture(scope="module")
def plan(system: System) -> Plan:
    rng = np.random.default_rng(7)
    n, n_a = 12, system.n_a
    u, du, tau = (rng.uniform(-1.0, 1.0, (n, n_a)) for _ in range(3))
    q = np.tile(system.q_default, (n, 1))
    q[:, system.n_q_u :] = u
    return Plan(DT_S * np.arange(n), q, u, tau, np.zeros((n, 0, 3)), {}, du, tau_ff_held=True)


class Once:
    """Replaces the plan at the first tick from `from_s` on."""

    def __init__(self, from_s: float, start_s: float, plan: Plan) -> None:
        self._from_s, self._replacement, self.began_with = from_s, (start_s, plan), None

    def begin(self, plan: Plan) -> None:
        self.began_with = plan

    def replan(self, t_s: float, state: EstimatedState) -> tuple[float, Plan] | None:
        if t_s < self._from_s or self._replacement is None:
            return None
        found, self._replacement = self._replacement, None
        return found


def state_at(system: System, t_s: float) -> EstimatedState:
    t_ns = START_NS + round(t_s * 1e9)
    return EstimatedState(t_ns, system.q_default, np.zeros(system.n_v), np.zeros(system.n_a), np.zeros((4, 4)))


def make_player(system: System, plan: Plan) -> Playback:
    player = make_controller(ControllerSetup(system, CONFIG)).inner
    assert isinstance(player, Playback)
    player.set_reference(Reference(START_NS, reference_over_wire(system, plan)))
    return player


def played(system: System, plan: Plan, t_s: float, player: Playback | None = None) -> CommandPlan:
    """What the bridge receives at t_s: the plan went over the wire twice."""
    player = make_player(system, plan) if player is None else player
    output = player.step(state_at(system, t_s))
    assert output.status == OK
    return plan_over_wire(output.plan)


def value(commands: CommandPlan, t_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = [np.empty(commands.u.shape[1]) for _ in range(3)]
    interpolate_plan(commands.times_s, commands.u, commands.du, commands.tau_ff, t_s, *out)
    return out[0], out[1], out[2]


def linear(plan: Plan, values: np.ndarray, t_s: float) -> np.ndarray:
    return np.array([np.interp(t_s, plan.times_s, column) for column in values.T])


@pytest.mark.parametrize("solved_at_s", [0.0, 0.013, 0.2])
def test_torque_is_held_and_references_are_linear_at_every_millisecond(
    solved_at_s: float, system: System, plan: Plan
) -> None:
    commands = played(system, plan, solved_at_s)
    for ahead_s in 0.001 * np.arange(1, 200):
        t_s = solved_at_s + ahead_s
        stage = int(np.floor(t_s / DT_S + 1e-6))
        u, du, tau = value(commands, ahead_s)
        np.testing.assert_allclose(u, linear(plan, plan.u, t_s), atol=100 * ROUNDING)
        np.testing.assert_allclose(du, linear(plan, plan.du, t_s), atol=100 * ROUNDING)
        on_edge = abs(t_s / DT_S - round(t_s / DT_S)) < 1e-6
        if not on_edge:
            np.testing.assert_allclose(tau, plan.tau_ff[stage], atol=100 * ROUNDING)


def test_outside_of_the_plan_it_rests_without_feed_forward(system: System, plan: Plan) -> None:
    for t_s, row in ((-0.5, 0), (plan.times_s[-1] + 0.1, -1)):
        u, du, tau = value(played(system, plan, t_s), 0.05)
        np.testing.assert_allclose(u, plan.u[row], atol=ROUNDING)
        assert not du.any() and not tau.any()


def test_the_horizon_outlasts_the_bridges_patience_and_times_increase(system: System, plan: Plan) -> None:
    player = make_player(system, plan)
    for t_s in np.arange(-0.1, 0.6, 0.0007):
        commands = played(system, plan, float(t_s), player)
        assert commands.times_s[0] == 0.0 and commands.times_s[-1] == pytest.approx(0.3, abs=EDGE_S)
        assert np.all(np.diff(commands.times_s) > 0.0)


def test_a_plan_without_velocities_moves_at_the_slope_of_its_commands(system: System, plan: Plan) -> None:
    commands = played(system, replace(plan, du=None, tau_ff_held=False), 0.0)
    _, du, _ = value(commands, 1e-9)
    np.testing.assert_allclose(du, (plan.u[1] - plan.u[0]) / DT_S, rtol=1e-5)


def test_without_a_reference_it_holds(system: System) -> None:
    player = Playback(system, CONFIG)
    player.reset()
    output = player.step(state_at(system, 0.0))
    assert output.plan.is_hold and output.status == NO_REFERENCE


def test_linear_plan_has_the_torque_before_and_after_each_edge(plan: Plan) -> None:
    made = plan.linear()
    assert not made.tau_ff_held and len(made.times_s) == 2 * len(plan.times_s) - 1
    for k in range(1, len(plan.times_s)):
        np.testing.assert_allclose(made.times_s[[2 * k - 1, 2 * k]], plan.times_s[k] - np.array([EDGE_S, 0.0]))
        np.testing.assert_array_equal(made.tau_ff[[2 * k - 1, 2 * k]], plan.tau_ff[[k - 1, k]])
    assert made.linear() is made


def test_a_plan_that_takes_over_is_followed_from_its_instant_on_and_the_old_one_until_then(
    system: System, plan: Plan
) -> None:
    later = replace(plan, u=plan.u + 5.0, tau_ff=plan.tau_ff - 3.0)
    once = Once(0.1, 0.2, later)
    player = Playback(system, CONFIG, once)
    player.set_reference(Reference(START_NS, plan))
    assert once.began_with is plan
    assert player.step(state_at(system, 0.05)).status == OK
    output = player.step(state_at(system, 0.1))
    assert output.status == REPLANNED and output.replacement == (0.2, later)
    before, after = value(output.plan, 0.09), value(output.plan, 0.15)  # 0.19 s and 0.25 s of the motion
    np.testing.assert_allclose(before[0], linear(plan, plan.u, 0.19), atol=ROUNDING)
    np.testing.assert_allclose(after[0], linear(plan, later.u, 0.05), atol=ROUNDING)
    np.testing.assert_array_equal(after[2], later.tau_ff[1])
    assert player.step(state_at(system, 0.15)).status == OK


class InVain:
    """Searches another plan at every tick and finds none."""

    def begin(self, plan: Plan) -> None:
        pass

    def replan(self, t_s: float, state: EstimatedState) -> str:
        return f"no solution from {t_s:.2f} s on"


def test_a_search_in_vain_keeps_the_plan_and_says_why(system: System, plan: Plan) -> None:
    player, alone = Playback(system, CONFIG, InVain()), Playback(system, CONFIG)
    for one in (player, alone):
        one.set_reference(Reference(START_NS, plan))
    output = player.step(state_at(system, 0.1))
    assert output.status == PLAN_KEPT and output.note == "no solution from 0.10 s on"
    assert output.replacement is None
    np.testing.assert_array_equal(output.plan.u, alone.step(state_at(system, 0.1)).plan.u)
