"""Ends of robots press no harder than they may: the law against pinocchio, and forces that physics engines measure."""

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contact_mpc import load_system
from contact_mpc.control.bridge.bridge import BridgeCore, BridgeMode, Cause, SafetyStatus
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.contact_force import ContactForce
from contact_mpc.control.bridge.guard.guard import CommandGuard
from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.control.bridge.output import BridgeOutput
from contact_mpc.control.bridge.state_monitor import StateMonitor
from contact_mpc.control.bridge.target import BridgeTarget
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.drake.plant import DrakePlant
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.resources import resource
from contact_mpc.task.loop_records import CommandPlan
from contact_mpc.task.task import load_task

TASK = load_task("allegro_ball")
HAND = TASK.system
N = HAND.n_a
MOST_N = 2.0
MS = 1_000_000
FAR_FROM_SINGULAR_M = 0.02  # least lever arm of a posture in which the estimate is compared


class Oracle:
    """Jacobians of pinocchio at the centre of the tip of a robot's one link, in the world."""

    def __init__(self, system: System, link: str, point: np.ndarray) -> None:
        robot = system.config.robots[0]
        self._model = pinocchio.buildModelFromUrdf(str(resource("urdf", robot.urdf)))
        self._data, self._point = self._model.createData(), point
        self._frame = self._model.getFrameId(link)
        self._order = [self._model.joints[self._model.getJointId(name)].idx_q for name in system.joint_names]
        self._R_WR = pinocchio.rpy.rpyToMatrix(*robot.base_rpy_rad)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        q_pin = np.zeros(self._model.nq)
        q_pin[self._order] = q
        world = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pinocchio.computeFrameJacobian(self._model, self._data, q_pin, self._frame, world)[:, self._order]
        arm = self._data.oMf[self._frame].rotation @ self._point
        return self._R_WR @ (J[:3] + np.cross(J[3:].T, arm).T)


TIPS = {
    "allegro_ball": {name: np.zeros(3) for name in ("index_tip", "middle_tip", "ring_tip", "thumb_tip")},
    "ur5e_box": {"wrist_3_link": np.array([0.0, 0.0, -0.03])},
}


@pytest.mark.parametrize("name", TIPS)
def test_a_force_at_an_end_is_found_from_the_torques_that_bear_it(name: str) -> None:
    system, rng = load_system(name), np.random.default_rng(3)
    limit = ContactForce(system, MOST_N, system.kp)
    compared = 0
    for _ in range(50):
        q = rng.uniform(system.q_min, system.q_max)
        for e, link in enumerate(limit.ends):
            J = Oracle(system, link, TIPS[name][link]).jacobian(q)
            least = np.linalg.svd(J, compute_uv=False)[-1]
            if least < FAR_FROM_SINGULAR_M:
                continue
            F = rng.normal(size=3)
            error = np.linalg.norm(limit.forces(q, J.T @ F)[e] - F) / np.linalg.norm(F)
            assert error < 1.01 * (1e-3 / least) ** 2 + 1e-9  # what eps takes away
            compared += 1
    assert compared > 20


numbers = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(
    seed=numbers,
    most_n=st.floats(0.1, 100.0),
    reach=st.floats(0.0, 1.0),
    name=st.sampled_from(["allegro_door", "ur5e_box"]),
)
def test_no_end_presses_harder_whatever_is_asked_for(seed: int, most_n: float, reach: float, name: str) -> None:
    system, rng = load_system(name), np.random.default_rng(seed)
    limit = ContactForce(system, most_n, system.kp)
    q = rng.uniform(system.q_min, system.q_max)
    u, tau_ff = q + reach * rng.normal(size=system.n_a), 0.1 * rng.normal(size=system.n_a) * system.tau_max_nm
    asked = limit.forces(q, system.kp * (u - q) + tau_ff).copy()
    shares = limit.shares(q, u, tau_ff)
    forces = limit.forces(q, shares * (system.kp * (u - q) + tau_ff))
    assert np.all((shares > 0.0) & (shares <= 1.0))
    assert np.all(np.linalg.norm(forces, axis=1) <= most_n * (1.0 + 1e-9))
    is_soft = bool(np.all(np.linalg.norm(asked, axis=1) <= most_n))
    assert np.all(shares == 1.0) == is_soft


def test_fingers_give_way_each_on_its_own_and_an_arm_with_all_that_it_carries() -> None:
    q = HAND.q_default[HAND.n_q_u :]
    u = q.copy()
    u[:4] += 0.5  # the index finger alone presses
    shares = ContactForce(HAND, MOST_N, HAND.kp).shares(q, u, np.zeros(N))
    assert np.all(shares[:4] == shares[0]) and shares[0] < 1.0 and np.all(shares[4:] == 1.0)
    door = load_system("allegro_door")  # the same hand on joints that carry it
    q = door.q_default[door.n_q_u :]
    u = q.copy()
    u[-1] += 0.5
    shares = ContactForce(door, MOST_N, door.kp).shares(q, u, np.zeros(door.n_a))
    assert np.all(shares == shares[0]) and shares[0] < 1.0


def squeeze(plant: DrakePlant | MujocoPlant, interface: str, most_n: float) -> tuple[np.ndarray, BridgeCore]:
    """Close the hand around its ball thrice as far as its start does; returns the largest force of each later ms, N."""
    config = BridgeConfig(
        gravity_compensation="robot", command_interface=interface, start_guard_s=0.0, mpc_rate_hz=1,
        hold_policy="last_command", contact_force_n=most_n,
    )  # fmt: skip
    core, forces = BridgeCore(HAND, config, lockstep=True), []
    core.activate()
    plant.reset(TASK.start_q)
    q = TASK.start_q[HAND.n_q_u :]
    u = np.stack([q + 3.0 * (TASK.start_u - q)] * 2)
    rest = np.zeros_like(u)
    for k in range(800):
        t_ns, state = (1000 + k) * MS, plant.state()
        if k == 1:
            core.update_plan(CommandPlan(t_ns - config.plan_delay_ns, np.array([0.0, 1.0]), u, rest, rest))
        command = core.step(t_ns, state.q[HAND.n_q_u :], state.v[HAND.n_v_u :])
        assert command is not None
        plant.step(command.data.copy())
        if k >= 400:
            forces.append(np.linalg.norm(state.contacts[:, 3:6], axis=1).max())
    return np.array(forces), core


@pytest.mark.parametrize(
    ("engine", "interface"),
    [
        pytest.param(DrakePlant, "effort", marks=pytest.mark.drake),
        pytest.param(MujocoPlant, "position", marks=pytest.mark.mujoco),
    ],
)
def test_what_physics_measures_stays_below_the_limit(engine: type[DrakePlant | MujocoPlant], interface: str) -> None:
    free, core = squeeze(engine(HAND, interface, PlantPerturbation(), False), interface, 0.0)
    assert free.min() > 2.0 * MOST_N
    assert core.guard.counts_by_kind()["contact_force"] == 0
    bounded, core = squeeze(engine(HAND, interface, PlantPerturbation(), False), interface, MOST_N)
    assert 0.5 * MOST_N < bounded.max() <= MOST_N
    assert core.safety.cause is Cause.CONTACT_FORCE
    assert core.guard.counts_by_kind()["contact_force"] > 0


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_a_request_that_is_no_number_is_refused_as_before(value: float) -> None:
    config = BridgeConfig(gravity_compensation="robot", contact_force_n=MOST_N)
    guard, q = CommandGuard(GuardLimits.from_config(HAND, config), HAND.joint_names), TASK.start_q[HAND.n_q_u :]
    state, target = StateMonitor(HAND, config, lockstep=True), BridgeTarget(HAND, config, guard)
    output = BridgeOutput(HAND, config, guard, target, SafetyStatus(BridgeMode.ACTIVE), lockstep=True)
    guard.start_from(q, np.zeros(N))
    state.accept(MS, q, np.zeros(N), MS)
    target.move_hold(np.full(N, value), np.zeros(N))
    assert output.request(state, 0.001)
    assert np.all(guard.u == q) and np.all(np.isfinite(guard.tau))
