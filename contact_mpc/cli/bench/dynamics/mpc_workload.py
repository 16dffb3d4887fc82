"""What `bench mpc` measures: MPC iterations and MuJoCo linearisations, both in the contact state of a task's start."""

from collections.abc import Callable

import mujoco
import numpy as np

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.errors import StackError
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

SETTLE_STEPS = 300
STATES = 32  # the samples go through these in turn, so that a warm start is one from another state, as in the loop
OBJECT_STEP = (1e-3, 1e-4)  # rad, m: how the object differs from state to state, as estimates do
JOINT_STEP_RAD = 1e-3
FD_STEP = 1e-6


def settle(task: TaskConfig) -> MujocoPlant:
    """Return the plant after 0.3 s of holding the start commands by joint impedance: in contact, at rest."""
    plant = MujocoPlant(task.system, "position", PlantPerturbation(), gravity_compensation=True)
    plant.reset(task.start_q)
    for _ in range(SETTLE_STEPS):
        plant.step(task.start_u)
    if not len(plant.state().contacts):
        raise StackError(f"{task.path}: no contact after {SETTLE_STEPS} ms of holding; the benchmark needs one")
    return plant


def make_iteration(
    task: TaskConfig, plan: Plan, config: TrackerConfig, q: FloatArray, seed: int
) -> tuple[Callable[[int], None], Callable[[int], None], Mpc]:
    """Return functions that set one of `STATES` states near q (n_q,), and that do one MPC iteration, and its problem.

    Setting a state includes the matching of contact forces, which happens once per solve.

    The nominal is the plan's commands from its start, as after an undisturbed tick.
    """
    system = task.system
    mpc = Mpc(system, config.model_copy(update={"iterations": 1}))
    times = config.h_s * np.arange(config.horizon_steps + 1)
    q_ref = np.array([plan.sample_q(system, time_s) for time_s in times])
    u_ref = np.array([plan.sample_u(time_s) for time_s in times[1:]])
    states = states_near(task, q, seed)

    def prepare(sample: int) -> None:
        mpc.u[:] = u_ref
        mpc.set_problem(states[sample % STATES], q_ref, u_ref, task.start_u)

    def iterate(_sample: int) -> None:
        if not mpc.improve():
            raise StackError(f"MPC iteration with horizon {config.horizon_steps} failed in the start of {task.path}")

    return prepare, iterate, mpc


def make_transition_fd(plant: MujocoPlant, u: FloatArray) -> Callable[[int], None]:
    """Return a function that does one mjd_transitionFD of the plant with position actuators, in its present state."""
    model, data = plant.actuated_copy()
    data.ctrl[:] = u
    mujoco.mj_forward(model, data)
    size = 2 * model.nv + model.na
    A, B = np.zeros((size, size)), np.zeros((size, model.nu))

    def linearise(_sample: int) -> None:
        mujoco.mjd_transitionFD(model, data, FD_STEP, False, A, B, None, None)

    return linearise


def states_near(task: TaskConfig, q: FloatArray, seed: int) -> FloatArray:
    """Return `STATES` states (STATES, n_q) near q (n_q,)."""
    system, rng = task.system, np.random.default_rng(seed)
    scale = np.full(system.n_v, JOINT_STEP_RAD)
    scale[: system.n_v_u] = np.repeat(OBJECT_STEP, 3)[: system.n_v_u]
    return np.array([system.integrate(q, scale * rng.standard_normal(system.n_v)) for _ in range(STATES)])
