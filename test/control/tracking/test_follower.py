"""What every follower does first with a state, and how its commands follow each other."""

import numpy as np
import pytest

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import (
    BAD_STATE,
    NO_REFERENCE,
    OBJECT_LOST,
    OK,
    Follower,
    Moment,
    Reference,
    TrackerOutput,
    object_error,
)
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig, load_task

T0_NS = 1_000_000_000
CONFIG = TrackerConfig(horizon_steps=3, plan_delay_s=0.02)


class Raising(Follower):
    """Raises all joints by 0.01 rad per stage from the reference's first command."""

    def _follow(self, state: EstimatedState, plan: Plan, moment: Moment) -> TrackerOutput:
        u = plan.u[0] + 0.01 * np.arange(1.0, len(self._instants_s) + 1)[:, None]
        commands = self._lay_out(state.t_ns, moment.t_s, self._command_at(state.t_ns, moment.t_s), u)
        return TrackerOutput(commands, OK, object_error_deg=moment.angle_deg, object_error_mm=moment.distance_mm)


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task("planar_hand_ball")


@pytest.fixture
def reference(task: TaskConfig) -> Reference:
    q, u = np.tile(task.start_q, (2, 1)), np.tile(task.start_u, (2, 1))
    return Reference(T0_NS, Plan(np.array([0.0, 1.0]), q, u, np.zeros_like(u), np.zeros((2, 0, 3))))


def state(task: TaskConfig, t_ns: int = T0_NS, off_m: float = 0.0) -> EstimatedState:
    system, q = task.system, task.start_q.copy()
    q[0] += off_m
    return EstimatedState(t_ns, q, np.zeros(system.n_v), np.zeros(system.n_a), np.eye(system.n_v_u))


def test_it_holds_without_a_reference_and_at_a_state_that_is_none(task: TaskConfig, reference: Reference) -> None:
    follower = Raising(task.system, CONFIG)
    assert follower.period_ns == NS_PER_S // CONFIG.mpc_rate_hz
    assert follower.step(state(task)).status == NO_REFERENCE
    follower.set_reference(reference)
    bad = follower.step(state(task, off_m=np.nan))
    assert bad.status == BAD_STATE and bad.plan.is_hold and np.isnan(bad.object_error_mm)


def test_a_lost_object_stays_lost_until_a_new_reference_or_a_reset(task: TaskConfig, reference: Reference) -> None:
    far_m = 2.0 * CONFIG.lost_distance_m
    follower = Raising(task.system, CONFIG)
    for forget in (lambda: follower.set_reference(reference), follower.reset):
        follower.set_reference(reference)
        lost = follower.step(state(task, off_m=far_m))
        assert lost.status == OBJECT_LOST and lost.plan.is_hold
        assert lost.object_error_mm == pytest.approx(1e3 * far_m)
        assert follower.step(state(task)).status == OBJECT_LOST
        forget()
        assert follower.step(state(task)).status == OK


def test_commands_begin_where_those_in_force_are_until_they_take_effect(task: TaskConfig, reference: Reference) -> None:
    follower = Raising(task.system, CONFIG)
    follower.set_reference(reference)
    first = follower.step(state(task)).plan
    np.testing.assert_array_equal(first.u[:2], np.tile(task.start_u, (2, 1)))
    np.testing.assert_allclose(first.times_s, [0.0, CONFIG.plan_delay_s, *(CONFIG.h_s * np.arange(1, 4))])
    later_ns = T0_NS + follower.period_ns
    second = follower.step(state(task, later_ns)).plan
    for k, delay_s in enumerate((0.0, CONFIG.plan_delay_s)):
        np.testing.assert_allclose(second.u[k], first.sample_u(later_ns + round(delay_s * NS_PER_S)), atol=1e-12)


def test_errors_are_those_of_the_objects_alone(task: TaskConfig, reference: Reference) -> None:
    q = task.start_q.copy()
    q[0] += 0.003
    q[-1] += 1.0
    angle_deg, distance_mm = object_error(task.system, reference.plan, 0.5, q)
    assert angle_deg == pytest.approx(0.0) and distance_mm == pytest.approx(3.0)
