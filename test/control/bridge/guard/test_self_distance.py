"""Links of the robot are kept apart: commands that would bring them together come to rest before they do."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.control.bridge.bridge import BridgeCore, BridgeMode, Cause
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.capsule_cover import cover
from contact_mpc.control.bridge.guard.guard import ClampKind, CommandGuard
from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.control.bridge.guard.self_distance import SelfDistance
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.task.loop_records import CommandPlan

HAND = load_system("allegro_ball")
N = HAND.n_a
DT_S = 0.001
LEAST_M = 0.002
DISCRETE_M = 2e-4  # the setpoint moves in steps, and joints do not all brake equally long
MS = 1_000_000
INDEX, MIDDLE = 0, 4  # the joint that turns each finger about its own length
OPEN = np.where(np.isin(np.arange(N), (INDEX + 1, MIDDLE + 1)), 0.9, HAND.q_default[HAND.n_q_u :])  # both bent


def towards_each_other() -> np.ndarray:
    """Return rates that turn index and middle finger towards each other, rad/s."""
    rates = np.zeros(N)
    first, second = INDEX, MIDDLE
    gaps = SelfDistance(HAND, 1e-6)
    signs = [(a, b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]

    def least(sign: tuple[float, float]) -> float:
        u = OPEN.copy()
        u[first], u[second] = 0.4 * sign[0], 0.4 * sign[1]
        return float(gaps.gaps(u).min())

    rates[first], rates[second] = min(signs, key=least)
    return rates


def make_guard(least_m: float, jerk_per_s2: float = 0.0) -> CommandGuard:
    config = BridgeConfig(gravity_compensation="robot", jerk_per_s2=jerk_per_s2, self_distance_m=least_m)
    apart = SelfDistance(HAND, least_m) if least_m else None
    guard = CommandGuard(GuardLimits.from_config(HAND, config), HAND.joint_names, apart)
    guard.start_from(OPEN, np.zeros(N))
    return guard


def least_gap(system: System, u: np.ndarray, least_m: float = LEAST_M) -> float:
    return float(SelfDistance(system, least_m).gaps(u).min())


def test_gaps_are_those_of_points_along_the_capsules() -> None:
    rng = np.random.default_rng(7)
    watch = SelfDistance(HAND, LEAST_M)
    q = HAND.q_default.copy()
    q[HAND.n_q_u :] = rng.uniform(HAND.q_min, HAND.q_max)
    R, p = forward_kinematics(HAND.tree, q)
    found = dict.fromkeys(watch.pairs, np.inf)
    for pair, value in zip(watch.pairs, watch.gaps(q[HAND.n_q_u :]), strict=True):
        found[pair] = min(found[pair], value)

    def points(link: str) -> list[tuple[np.ndarray, float]]:
        capsules = [item for shape in HAND.geometries if shape.link == link for item in cover(shape)]
        steps = np.linspace(-1.0, 1.0, 201)[:, None]
        placed = []
        for item in capsules:
            line = item.centre + item.half_length * steps * item.axis
            placed.append((line if item.body < 0 else line @ R[item.body].T + p[item.body], item.radius))
        return placed

    for (one, other), value in found.items():
        if (one, other) in watch.left_out:  # of which some capsules count
            continue
        sampled = min(
            np.min(np.linalg.norm(a[:, None] - b[None], axis=2)) - r - s
            for a, r in points(one)
            for b, s in points(other)
        )
        assert value == pytest.approx(sampled, abs=2e-4)
        assert value <= sampled + 1e-9


def test_links_that_a_joint_connects_are_no_pair() -> None:
    assert ("index_link_0", "index_link_1") not in SelfDistance(HAND, LEAST_M).pairs
    assert any({"index_link_3", "middle_link_3"} == set(pair) for pair in SelfDistance(HAND, LEAST_M).pairs)


def test_links_too_near_in_the_systems_own_posture_are_left_out_by_name() -> None:
    watch = SelfDistance(HAND, LEAST_M)
    assert ("palm_link", "thumb_link_1") in watch.left_out
    assert ("index_link_0", "middle_link_0") not in watch.left_out


@pytest.mark.parametrize("jerk_per_s2", [0.0, 2000.0])
def test_fingers_that_are_driven_together_stop_apart(jerk_per_s2: float) -> None:
    rates = towards_each_other()
    ends = {}
    for least_m in (0.0, LEAST_M):
        guard = make_guard(least_m, jerk_per_s2)
        x = guard.limits
        for _ in range(500):
            v = guard.v.copy()
            guard.pass_setpoint(guard.u + 0.1 * rates, rates, rates, DT_S)
            guard.count()
            assert np.all(np.abs(guard.v - v) <= x.a_max * DT_S + 1e-9)
        ends[least_m] = least_gap(HAND, guard.u)
    assert ends[0.0] < 0.0
    assert LEAST_M - DISCRETE_M <= ends[LEAST_M] < LEAST_M + 1e-3
    assert guard.counts[ClampKind.SELF_DISTANCE].any()


def test_after_a_stop_fingers_may_part() -> None:
    guard, rates = make_guard(LEAST_M), towards_each_other()
    for _ in range(500):
        guard.pass_setpoint(guard.u + 0.1 * rates, rates, rates, DT_S)
    stopped = guard.u.copy()
    for _ in range(100):
        assert not guard.pass_setpoint(guard.u - 0.01 * rates, 0.0 * rates, 0.0 * rates, DT_S)
    assert least_gap(HAND, guard.u) > least_gap(HAND, stopped) + 1e-3


def test_links_that_begin_too_near_may_only_part() -> None:
    rates = towards_each_other()
    guard = make_guard(0.004)
    near = OPEN.copy()
    watch = SelfDistance(HAND, 0.004)
    while watch.gaps(near).min() > 0.002:
        near += 0.002 * rates
        assert np.all(np.abs(near) < 2.0), "the fingers never meet"
    guard.start_from(near, np.zeros(N))
    assert guard.pass_setpoint(near + 0.01 * rates, 0.0 * rates, 0.0 * rates, DT_S)
    assert "apart, allowed 4 mm" in guard.approach
    assert not guard.pass_setpoint(guard.u - 0.01 * rates, 0.0 * rates, 0.0 * rates, DT_S)
    assert guard.approach == ""


def test_the_bridge_holds_and_names_the_links() -> None:
    config = BridgeConfig(gravity_compensation="robot", start_guard_s=0.0, self_distance_m=LEAST_M, mpc_rate_hz=1)
    core, rates, t_ns = BridgeCore(HAND, config, lockstep=True), 0.5 * towards_each_other(), 1_000_000_000
    core.activate()
    core.step(t_ns, OPEN, np.zeros(N))
    times = np.array([0.0, 1.0])
    u, du = np.stack([OPEN, OPEN + rates]), np.stack([rates, rates])
    core.update_plan(CommandPlan(t_ns + MS - config.plan_delay_ns, times, u, du, np.zeros((2, N))))
    seen = []
    for _ in range(600):
        t_ns += MS
        core.step(t_ns, core.guard.u.copy(), core.guard.v.copy())
        seen.append((core.safety.mode, core.safety.cause, core.safety.detail))
    assert (BridgeMode.ACTIVE, Cause.NONE, "") in seen
    held = [detail for mode, cause, detail in seen if (mode, cause) == (BridgeMode.HOLD, Cause.SELF_DISTANCE)]
    assert held
    assert "mm apart, allowed 2 mm" in held[0]
    assert core.guard.counts_by_kind()["self_distance"] > 0
    assert least_gap(HAND, core.guard.u) >= LEAST_M - DISCRETE_M
