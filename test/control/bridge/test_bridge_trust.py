"""The bridge believes nobody: states that cannot be true, stamps faster than time; and it waits for a simulator."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.control.bridge.bridge import BridgeCommand, BridgeConfig, BridgeCore, BridgeMode, Cause
from contact_mpc.ros.faults.change_judge import ChangeJudge
from contact_mpc.task.loop_records import CommandPlan

MS = 1_000_000
T0 = 1_000_000_000
SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
Q = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
REST = np.zeros(N)
SLACK_S = 0.002  # two periods
ROUNDING = 1e-9


class Robot:
    """A bridge in realtime that follows a plan, and the two clocks of its states."""

    def __init__(self, lockstep: bool = False, **config: object) -> None:
        values = {"gravity_compensation": "robot", "start_guard_s": 0.0, "hold_policy": "last_command"} | config
        self.core = BridgeCore(SYSTEM, BridgeConfig(**values), lockstep)
        self.core.activate()
        self.t_ns = self.own_ns = T0
        for _ in range(40):
            if self.t_ns == T0 + 5 * MS:
                self.plan(Q)
            self.send()
        assert self.core.safety.mode is BridgeMode.ACTIVE

    def plan(self, u: np.ndarray) -> None:
        u = np.stack([u, u])
        self.core.update_plan(CommandPlan(self.t_ns - 15 * MS, np.array([0.0, 5.0]), u, 0.0 * u, 0.0 * u))

    def send(
        self, q: np.ndarray = Q, dq: np.ndarray = REST, stamp_ns: int = MS, own_ns: int = MS
    ) -> BridgeCommand | None:
        self.t_ns += stamp_ns
        self.own_ns += own_ns
        return self.core.step(self.t_ns, q, dq, self.own_ns)

    @property
    def cause(self) -> Cause:
        return self.core.safety.cause


@pytest.mark.parametrize("lockstep", [False, True])
@pytest.mark.parametrize("speed", [50.0, 1e3, 1e308])
def test_a_velocity_that_no_joint_has_never_becomes_torque(speed: float, lockstep: bool) -> None:
    robot = Robot(lockstep)
    largest = 0.0
    for _ in range(20):
        command = robot.send(dq=np.full(N, speed))
        assert command is not None
        largest = max(largest, float(np.abs(command.data).max()))
    assert robot.cause is Cause.STATE_VELOCITY
    assert largest < 1e-3 * SYSTEM.tau_max_nm.min()


def test_a_velocity_that_the_positions_deny_is_a_fault_before_much_torque() -> None:
    robot = Robot()
    dq, count = np.full(N, 14.0), 0  # within three times the limit of 5 rad/s
    while robot.core.safety.mode is not BridgeMode.FAULT:
        robot.send(dq=dq)
        count += 1
        assert count <= 10
    assert robot.cause is Cause.STATE_MISMATCH
    assert SYSTEM.joint_names[0] in robot.core.safety.detail


def test_a_small_lie_about_the_velocity_is_summed_up() -> None:
    robot = Robot()
    for _ in range(150):
        robot.send(dq=np.full(N, 2.0))
    assert robot.cause is Cause.STATE_MISMATCH


@pytest.mark.parametrize(
    ("dq", "cause"), [(0.0, Cause.STATE_MISMATCH), (190.0, Cause.STATE_VELOCITY)], ids=["denied", "told"]
)
def test_a_position_that_runs_away_is_a_fault_at_once_and_to_the_end(dq: float, cause: Cause) -> None:
    """190 rad/s to 95 rad, whatever the velocities say: a fault from the first message on, and no torque follows."""
    robot = Robot()
    for k in range(1, 501):
        robot.send(Q + 0.19 * k, np.full(N, dq))
        assert robot.cause is cause
    assert np.all(robot.core.guard.tau == 0.0)


def test_a_position_that_leaves_its_range_is_a_fault() -> None:
    robot, q = Robot(), Q.copy()
    for _ in range(1000):
        if robot.core.safety.mode is BridgeMode.FAULT:
            break
        q = q + 0.004
        robot.send(q, np.full(N, 4.0))
    assert robot.cause is Cause.STATE_RANGE
    assert np.all(q <= SYSTEM.q_max.max() + 0.2 + 0.004)


def test_a_robot_that_moves_as_it_says_is_believed() -> None:
    robot = Robot()
    for k in range(400):
        phase = 2.0 * np.pi * k / 100.0
        robot.send(Q + 0.07 * np.sin(phase), np.full(N, 0.07 * 2.0 * np.pi * 10.0 * np.cos(phase)))
        assert robot.core.safety.mode is not BridgeMode.FAULT, robot.core.safety.describe()


@pytest.mark.parametrize("interface", ["effort", "position"])
@pytest.mark.parametrize("stamp_ms", [2, 5, 20, 90])
def test_stamps_that_run_faster_than_the_clock_buy_no_speed_and_are_named(interface: str, stamp_ms: int) -> None:
    """Judged from outside: the change since any earlier command within limit times own time, and the slack."""
    robot = Robot(command_interface=interface, blend_rate_rad_s=20.0, acceleration_per_s=1000.0)
    limit = SYSTEM.v_max if interface == "position" else 100.0 * SYSTEM.tau_max_nm
    robot.plan(Q + 0.19)
    values, times_s = [], []
    for _ in range(60):
        command = robot.send(stamp_ns=stamp_ms * MS)
        assert command is not None
        values.append(command.data.copy())
        times_s.append(robot.own_ns * 1e-9)
    for first in range(len(values)):
        change = np.abs(np.array(values[first:]) - values[first])
        elapsed = np.array(times_s[first:]) - times_s[first]
        assert np.all(change <= np.outer(elapsed + SLACK_S, limit) + ROUNDING)
    if stamp_ms > 2:
        assert robot.cause is Cause.CLOCK_FORWARD


def test_states_that_come_late_and_early_cost_no_speed() -> None:
    """With the clock even in the mean, the jitter of receipt changes nothing: the slack evens it out."""
    even, uneven = (Robot(command_interface="position", blend_rate_rad_s=20.0) for _ in range(2))
    rng = np.random.default_rng(0)
    late_ns = [0, *(rng.uniform(0.0, 0.9, 59) * MS).astype(int)]
    for robot in (even, uneven):
        robot.plan(Q + 0.19)
    for k in range(1, 60):
        first = even.send()
        second = uneven.send(own_ns=MS + int(late_ns[k] - late_ns[k - 1]))
        assert first is not None and second is not None
        np.testing.assert_array_equal(first.data, second.data)


def test_a_robot_that_is_late_is_a_fault_and_a_simulator_is_waited_for() -> None:
    for simulated in (False, True):
        robot = Robot(simulated=simulated)
        before = robot.send()
        assert before is not None
        torque, t_ns = before.data.copy(), before.t_ns
        for _ in range(300):
            robot.own_ns += MS
            repeated = robot.core.check(robot.own_ns)
            if simulated and repeated is not None:
                np.testing.assert_array_equal(repeated.data, torque)
                assert repeated.t_ns == t_ns  # the simulator's time has stopped
        if not simulated:
            assert robot.cause is Cause.STATE_LOST
            continue
        assert (robot.core.safety.mode, robot.cause) == (BridgeMode.HOLD, Cause.STATE_LATE)
        assert robot.core.stalls == 1
        robot.send()
        assert (robot.core.safety.mode, robot.cause) == (BridgeMode.ACTIVE, Cause.SIMULATOR_SLOW)
        for _ in range(2200):  # until neither lag nor mean rate know of it
            robot.send()
            if robot.t_ns % (50 * MS) == 0:
                robot.plan(Q)
        assert (robot.core.safety.mode, robot.cause) == (BridgeMode.ACTIVE, Cause.NONE)


def test_patience_with_a_simulator_ends() -> None:
    robot = Robot(simulated=True, simulator_patience_s=0.5)
    for _ in range(501):
        robot.own_ns += MS
        robot.core.check(robot.own_ns)
    assert robot.cause is Cause.STATE_LOST


@pytest.mark.parametrize("stall_ms", [0.0, 0.3, 1.0, 6.0, 15.0])
def test_a_command_that_leaves_late_is_not_followed_by_one_that_makes_up_for_it(stall_ms: float) -> None:
    """On the wire, by the clock: a bridge that stands still between a state and its command, while the torque ramps."""
    robot = Robot()
    rate = robot.core.config.torque_rate_per_s * SYSTEM.tau_max_nm
    judge = ChangeJudge(rate, MS)
    goes_up = False
    for step in range(400):
        if step % 50 == 0:
            goes_up = not goes_up
            torque = np.full((2, N), 0.5 * float(SYSTEM.tau_max_nm.min()) * (1.0 if goes_up else -1.0))
            u = np.stack([Q, Q])
            plan = CommandPlan(robot.t_ns - 15 * MS, np.array([0.0, 5.0]), u, 0.0 * u, torque)
            assert robot.core.update_plan(plan) is None
        late_ns = round(stall_ms * MS) if step % 50 == 8 else 0
        skipped_ns = late_ns // MS * MS  # states that came meanwhile: the newest alone is answered
        command = robot.send()
        assert command is not None
        left_ns = robot.own_ns + 200_000 + late_ns
        assert judge.judge(robot.t_ns, left_ns, command.data.copy()) is None
        robot.core.note_left(left_ns)
        robot.t_ns += skipped_ns
        robot.own_ns += skipped_ns
    assert robot.core.safety.mode is BridgeMode.ACTIVE
