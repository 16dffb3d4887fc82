"""Where a plan leads in physics: its commands rolled out in MuJoCo, in several draws of friction, mass and size.

The planner's model proposes commands; each draw is a plant of `contact_mpc.plants.mujoco.plant` whose joints are held
by the joint impedance, with their effort limits, and which carries its robots' weight. A roll-out begins at rest in a
state of the plan, or in a measured one, and ends with the last command held for `SETTLE_S`. Where a bridge sends the
commands, its limits hold in the roll-outs, too: a finger that pushes with a tenth less of its effort gives way earlier.
Drake takes no part: it judges what was confirmed here.

Drives have friction, which holds a slide of 100 N/m back by 1 cm for every newton. It is identified from the motion of
free fingers (`contact_mpc.loop.parts.drives`), and then acts in every draw: a command that it holds back moves nothing.

A part begins where objects rest under the command in force. A draw in which they would not, because fingers do not
reach an object that is smaller there, is no plant that they are in: it takes no part in correcting.
"""

from copy import copy
from dataclasses import replace

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import NDArray

from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.loop.parts.confirmed_plan import ROWS_S, SETTLE_S, Ways
from contact_mpc.loop.parts.correction import SETTLED_RAD, CorrectionConfig, correct
from contact_mpc.loop.parts.drives import DriveIdentification
from contact_mpc.loop.parts.identification import PlantIdentification
from contact_mpc.model.system import System
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import Corrected, object_distance
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

STEP_S = 0.002  # of the roll-outs, s: a third of the contacts' time constant
# Friction and mass as factors on the system's, size as one on the objects' shapes: the nominal plant first.
DRAWS = ((1.0, 1.0, 1.0), (0.75, 1.1, 0.99), (0.65, 0.9, 1.01), (0.85, 1.0, 1.0))
HEAVY = 1.1  # factor on the mass in a draw that is slippery
ALL = slice(None)
FEW_DRAWS = 2  # of them, where many commands are rolled out
REST_S, RESTED_ROWS = 0.5, 5  # of a roll-out that asks whether objects stay, and rows over which they are seen to rest
LEAST_FRICTION = 0.5  # of draws about a friction that was identified
COMPENSATED = 0.5  # share of a part from which commands of free joints lead by all that drives hold back
SPEED_SHARE = 0.9  # of the joints' limits of speed: a bridge refuses a plan beyond them


class MujocoConfirmation:
    """Rolls plans out in MuJoCo.

    Parameters
    ----------
    system : System
        The nominal system.
    draws : sequence of (friction, mass, size)
        Factors of each draw.
    has_velocity_reference : bool
        Whether the joint impedance damps about the velocity of the command (a bridge that sends efforts), or about
        rest (a robot that takes positions).
    limits : GuardLimits, optional
        Of the bridge; by default commands go as they are to joints with the effort limits of the system.
    """

    def __init__(
        self,
        system: System,
        draws: tuple[tuple[float, float, float], ...] = DRAWS,
        has_velocity_reference: bool = True,
        limits: GuardLimits | None = None,
    ) -> None:
        self._system, self._limits = system, limits
        self._draws = draws
        self._plant = MujocoPlant(system, "position", PlantPerturbation(), gravity_compensation=True)
        self._known, self._drives = PlantIdentification(), DriveIdentification(system)
        self._models = [self._model(*draw) for draw in draws]
        self._candidates: list[mujoco.MjModel] = []
        self._kept: dict[tuple[object, ...], tuple[Ways, list[mujoco.MjModel]]] = {}
        self._data = [mujoco.MjData(self._models[0])]
        self._lead = system.kd / system.kp if has_velocity_reference else np.zeros(system.n_a)

    def ways(self, q: FloatArray, plan: Plan, settle_s: float = SETTLE_S, row_s: float = ROWS_S) -> Ways:
        """Return the motions in all draws; see `contact_mpc.loop.parts.confirmed_plan.World`.

        Those of the last call are kept: a part that needs no correction is played as it was rolled out.
        """
        key = (q.tobytes(), plan.times_s.tobytes(), plan.u.tobytes(), settle_s, row_s, *map(id, self._models))
        if key not in self._kept:
            self._kept.clear()
            ways = self._ways(self._models, q, plan.times_s, plan.u, settle_s, row_s)
            self._kept[key] = (ways, self._models)  # the models, too: an id is unique as long as its object lives
        return self._kept[key][0]

    @property
    def few(self) -> int:
        """See `contact_mpc.loop.parts.correction.Batch`."""
        return min(FEW_DRAWS, len(self._models))

    def learn(self, problem: Problem, q: FloatArray, plan: Plan, seen: Ways) -> None:
        """Take part in later roll-outs as the plant that explains a motion best; see `identification`.

        Parameters
        ----------
        problem : Problem
            Its metric tells how far objects are apart.
        q : (n_q,) array
            Where the plan was played from, at rest.
        plan, seen
            What was commanded, and the motion that followed.
        """
        if not self._candidates:
            self._candidates = [self._model(friction, 1.0, size) for friction, size in self._known.config.candidates]
        row_s, before = float(seen.times_s[0]), self._known.best
        settle_s = max(0.0, float(seen.times_s[-1] - plan.times_s[-1]))
        self._drives.follow(np.vstack([q, seen.q[0]])[:, self._system.n_q_u :])
        models = [self._candidates[k] for k in self._known.alive]
        ways = self._ways(models, q, plan.times_s, plan.u, settle_s, row_s).q
        count = min(ways.shape[1], len(seen.times_s))
        errors = [[object_distance(problem, way[k], seen.q[0, k]) for k in range(count)] for way in ways]
        self._known.learn(np.array(errors), object_distance(problem, seen.q[0, count - 1], q))
        self._learn_rest(problem, seen.q[0], plan.u[-1])
        if self._known.best != before:
            friction, size = self._known.best
            self._models = [self._model(max(friction * f, LEAST_FRICTION), m, size * s) for f, m, s in self._draws]

    def learn_drives(self, q: FloatArray, plan: Plan, seen: Ways) -> None:
        """Take part in later roll-outs with drives as they held free joints back; see `drives`.

        Parameters
        ----------
        q : (n_q,) array
            Where the plan was played from, at rest.
        plan, seen
            What was commanded, and the motion that followed.
        """
        n_q_u, row_s = self._system.n_q_u, float(seen.times_s[0])
        settle_s = max(0.0, float(seen.times_s[-1] - plan.times_s[-1]))
        ideal = copy(self)
        ideal._drives = DriveIdentification(self._system)
        ideal._brake(self._models[0], ideal._drives.friction)
        way = ideal._ways(self._models[:1], q, plan.times_s, plan.u, settle_s, row_s).q[0]
        count = min(len(way), len(seen.times_s))
        came, expected = (np.vstack([q, rows[:count]])[:, n_q_u:] for rows in (seen.q[0], way))
        self._drives.learn(came, expected, row_s, self._inertia(q))
        for model in [*self._models, *self._candidates]:
            self._brake(model, self._drives.friction)
        self._kept.clear()  # in these models motions are others now

    def _inertia(self, q: FloatArray) -> FloatArray:
        """Return what each joint moves by itself at q (n_q,): (n_a,), kg m^2 (kg of slides)."""
        model, data = self._models[0], self._data[0]
        self._plant.reset(q)
        data.qpos[:] = self._plant.qpos
        mujoco.mj_forward(model, data)
        impulse, inertia = np.empty(model.nv), []
        for dof in self._dofs(model):
            mujoco.mj_mulM(model, data, impulse, np.eye(model.nv)[dof])
            inertia.append(impulse[dof])
        return np.array(inertia)

    @staticmethod
    def _dofs(model: mujoco.MjModel) -> NDArray[np.int32]:
        """Return the degree of freedom of each joint that is driven (n_a,)."""
        return np.asarray(model.jnt_dofadr[model.actuator_trnid[:, 0]])

    def _brake(self, model: mujoco.MjModel, friction: FloatArray) -> None:
        """Give the drives of a model friction (n_a,), N m."""
        model.dof_frictionloss[self._dofs(model)] = friction

    def _learn_rest(self, problem: Problem, seen: FloatArray, u: FloatArray) -> None:
        """Learn from objects that rest at the end of a motion (n, n_q) under the command u (n_a,), if they do."""
        if object_distance(problem, seen[-min(RESTED_ROWS, len(seen))], seen[-1]) <= SETTLED_RAD:
            models = [self._candidates[k] for k in self._known.alive]
            self._known.learn_rest(self._ways_at_rest(problem, models, seen[-1], u))

    def _ways_at_rest(self, problem: Problem, models: list[mujoco.MjModel], q: FloatArray, u: FloatArray) -> FloatArray:
        """Return how far objects move (models,) in REST_S from q (n_q,) under a command u (n_a,), global metric."""
        ends = self._ways(models, q, np.array([0.0, REST_S]), np.tile(u, (2, 1)), 0.0, REST_S).q[:, -1]
        return np.array([object_distance(problem, end, q) for end in ends])

    @property
    def identified(self) -> tuple[float, float]:
        """Factors on friction and size by which the motions learned from are explained best."""
        return self._known.best

    def ends(
        self,
        q: FloatArray,
        times_s: FloatArray,
        u: FloatArray,
        settle_s: float,
        draws: slice = ALL,
        step_s: float | None = None,
    ) -> FloatArray:
        """Return where commands lead; see `contact_mpc.planning.sampled.motion_search.RolledPhysics`."""
        models = self._models[draws]
        if not models:
            return np.empty((len(u), 0, len(q)))
        if step_s is None:
            step_s = STEP_S
        else:
            models = [copy(model) for model in models]
            for model in models:
                model.opt.timestep = step_s
        steps = round((float(times_s[-1]) + settle_s) / step_s)
        controls = np.repeat([self._controls(times_s, rows, steps, step_s) for rows in u], len(models), axis=0)
        states = self._roll(q, models * len(u), controls)
        ends = self._plant.q_from_qpos(states[:, -1, 1 : 1 + self._models[0].nq])
        return np.asarray(ends).reshape(len(u), len(models), -1)

    def corrected(
        self, problem: Problem, q: FloatArray, plan: Plan, target: FloatArray, enough_rad: float
    ) -> Corrected:
        """See `contact_mpc.planning.tree.segments.Physics.corrected` and `contact_mpc.loop.parts.correction`."""
        slow = plan if self._limits is None else slowed(plan, SPEED_SHARE * self._limits.v_max)
        rests = self._ways_at_rest(problem, self._models, q, plan.u[0]) <= problem.file.parts.off_rad
        resting = copy(self)
        resting._models = [model for model, stays in zip(self._models, rests, strict=True) if stays] or self._models
        return correct(problem, resting, q, slow, target, CorrectionConfig(enough_rad=enough_rad))

    def arriving(self, plan: Plan) -> Plan:
        """See `contact_mpc.planning.tree.segments.Physics.arriving`."""
        behind = self._drives.behind(plan.u)
        if not np.any(behind):
            return plan
        share = np.minimum(1.0, plan.times_s / (COMPENSATED * plan.times_s[-1]))
        lower, upper = np.minimum(plan.u, self._system.q_min), np.maximum(plan.u, self._system.q_max)
        return replace(plan, u=np.clip(plan.u + share[:, None] * behind, lower, upper))

    def _model(self, friction: float, mass: float, size: float) -> mujoco.MjModel:
        perturbation = PlantPerturbation(friction_scale=friction, mass_scale=mass, size_scale=size)
        plant = MujocoPlant(self._system, "position", perturbation, gravity_compensation=True)
        model, _ = plant.actuated_copy(is_complete=True)
        model.opt.timestep = STEP_S
        if self._limits is not None:
            model.actuator_forcerange[:] = self._limits.tau_max[:, None] * [-1.0, 1.0]
        self._brake(model, self._drives.friction)
        return model

    def _ways(
        self,
        models: list[mujoco.MjModel],
        q: FloatArray,
        times_s: FloatArray,
        u: FloatArray,
        settle_s: float,
        row_s: float,
    ) -> Ways:
        """Return the motions of models from rest at q (n_q,) under commands u (n, n_a) at times_s (n,)."""
        stride = max(1, round(row_s / STEP_S))
        rows = int(np.ceil((float(times_s[-1]) + settle_s) / (stride * STEP_S)))
        controls = self._controls(times_s, u, rows * stride)
        states = self._roll(q, models, np.tile(controls, (len(models), 1, 1)))
        motions = self._plant.q_from_qpos(states[:, stride - 1 :: stride, 1 : 1 + models[0].nq])
        return Ways(STEP_S * stride * np.arange(1, rows + 1, dtype=np.float64), np.asarray(motions))

    def _controls(self, times_s: FloatArray, u: FloatArray, steps: int, step_s: float = STEP_S) -> FloatArray:
        """Return the inputs (steps, n_a) of the joint impedance for commands u (n, n_a) at times_s (n,)."""
        sampled = step_s * np.arange(1, steps + 1)
        controls = np.stack([np.interp(sampled, times_s, column) for column in u.T], axis=1)
        if self._limits is not None:
            controls = np.clip(controls, self._limits.q_min, self._limits.q_max)
        felt = self._drives.torque(u) / self._system.kp
        felt = np.stack([np.interp(sampled, times_s, column) for column in felt.T], axis=1)
        return controls + self._lead * np.gradient(controls, step_s, axis=0) + felt

    def _roll(self, q: FloatArray, models: list[mujoco.MjModel], controls: FloatArray) -> FloatArray:
        """Return the states (m, steps, n_state) that inputs (m, steps, n_a) lead to from rest at q (n_q,)."""
        model, data = self._models[0], self._data[0]
        self._plant.reset(q)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = self._plant.qpos
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        states, _ = rollout.rollout(
            models, self._data, initial_state=np.tile(state, (len(models), 1)), control=controls
        )
        return np.asarray(states)


def roll_outs(problem: Problem, limits: GuardLimits | None = None) -> MujocoConfirmation:
    """Return what a problem's parts are rolled out in: `DRAWS`, and that of `sampled.least_friction` where it has one.

    limits are those of `MujocoConfirmation`.
    """
    sampled = problem.file.sampled
    slippery = () if sampled is None or sampled.least_friction is None else ((sampled.least_friction, HEAVY, 1.0),)
    return MujocoConfirmation(problem.system, (*DRAWS, *slippery), limits=limits)


def slowed(plan: Plan, v_max: FloatArray) -> Plan:
    """Return a plan in as much more time as it needs for no command to change faster than v_max (n_a,), rad/s (m/s)."""
    speed = np.abs(np.diff(plan.u, axis=0)) / np.diff(plan.times_s)[:, None]
    factor = max(1.0, float(np.max(speed / v_max, initial=0.0)))
    du = None if plan.du is None else plan.du / factor
    return replace(plan, times_s=factor * plan.times_s, du=du) if factor > 1.0 else plan
