"""Turns of any size by one grasp after the other: lift and turn, put down, grip anew.

One grasp turns by `turn_deg` + `back_deg` at most. So a long way is cut: the fingers lift the object off its support
and turn it about the axis of what is left (trajectory optimisation from fingers that roll), put it down, let go, and
travel to a grasp of the task (`contact_mpc.planning.reorient.roadmap`), moved to where the object lies. A ball needs
one grasp: its fingers roll back by `back_deg` first, so that they turn by what they roll to both sides of the start's
posture. What is not round is gripped by the grasp that fits it, as far rolled as it lies off that grasp's posture. Each
segment is planned from the measured state, so what one missed the next makes good. An object that no grasp fits is
gripped by the nearest one, as far as it rolls. Nothing holds the object while it lies: the support must be level. In a
system without supports the object stays where it is let go.
"""

from dataclasses import dataclass, replace

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.model.rotations import rotation_exp, rotation_log
from contact_mpc.model.system import System
from contact_mpc.optimisation.trajectory import TrackingProblem, optimise_commands
from contact_mpc.planning.grasp.rolling import RollingPath, roll_along
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.support import nearest_support
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.roadmap import GraspRoadmap, RoadmapGrasp
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.interpolation import smooth_step
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import Segment
from contact_mpc.task.task import TaskConfig
from contact_mpc.version import __version__


@dataclass(frozen=True)
class Shifted:
    """A grasp with the object elsewhere: q (n_q,) that touches, commands u (n_a,) that hold.

    back_rad is how far its fingers have rolled back before the turn that is to come; `fits` says whether they roll all
    the way to where the object is.
    """

    of: RoadmapGrasp
    q: FloatArray
    u: FloatArray
    back_rad: float = 0.0
    fits: bool = True


class ReorientationPlanner:
    """Plans the segments of `contact_mpc.control.tracking.reorienter`.

    Parameters
    ----------
    system : System
        Hand, object and its support.
    starts : sequence of ((n_q,), (n_a,) array)
        Posture and commands of the grasps, the start's first.
    config : ReorientationConfig
        Parameters.
    """

    def __init__(
        self, system: System, starts: list[tuple[FloatArray, FloatArray]], config: ReorientationConfig
    ) -> None:
        self.system, self.config = system, config
        self._scene = scene = make_scene(system)
        self._turning_model = build_model(system, config.trajopt.h_s, config.trajopt.friction)
        self._roadmap = GraspRoadmap(system, scene, starts, config)
        self._start = self._last = self._roadmap.grasps[0]
        start_q = self._start.q
        self._p_held = system.object_pose(start_q)[1]
        self._p_lying, self._up = self._p_held, np.zeros(3)
        support = nearest_support(scene, start_q)
        if support is not None:
            gap_m, self._up = support
            self._p_lying = self._p_held - gap_m * self._up
        self._grasp: Shifted | None = None

    def begin(self, plan: Plan) -> None:
        """Take the reference's last pose as the goal, its place where `carry_m` allows; the fingers may be anywhere."""
        self._R_goal, self._p_goal = self.system.object_pose(plan.q[-1])
        self._grasp, self._is_first, self._last = None, True, self._start

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return the segment from the state q (n_q,) under the command u (n_a,); None where the goal is reached."""
        R, p = self.system.object_pose(q)
        left = rotation_log(np.ascontiguousarray(self._R_goal @ R.T))
        is_there = self.config.carry_m == 0.0 or np.linalg.norm(self._p_goal - p) <= self.config.arrived_m
        if np.linalg.norm(left) <= np.deg2rad(self.config.arrived_deg) and is_there:
            return None
        if self._is_first and self._is_at_start(q):
            self._grasp = self._fit(self._start, R, p)
        self._is_first = False
        if self._grasp is None:
            if float((p - self._p_lying) @ self._up) > 0.5 * self.config.lift_m:
                return self._put_down(q, u, left)
            return self._regrasp(q, u, left)
        return self._turn(self._grasp, q, u, left)

    def _is_at_start(self, q: FloatArray) -> bool:
        """Whether fingers and object are where the start has them, but for what other sizes and loads make."""
        off = np.abs(q - self._start.q)[self.system.n_q_u :].max()
        p = self.system.object_pose(q)[1]
        return bool(
            np.linalg.norm(p - self._p_held) < self.config.first_offset_m and off < self.config.first_joints_rad
        )

    # Turns.

    def _turn(self, grasp: Shifted, q_now: FloatArray, u: FloatArray, left: FloatArray) -> Segment:
        """Return the turn that one grasp makes of the rotation vector `left` (3,), in W, and use the grasp up.

        On an object of another size the fingers rest elsewhere than planned, with other forces. Commands that are
        moved as far as the joints are stretch the joints' springs as planned, so that the forces are those planned.
        """
        system, self._grasp, self._last = self.system, None, grasp.of
        q = self._turned_in(grasp, system.object_pose(q_now)[0])
        moved = (q_now - q)[system.n_q_u :]
        _, way, rolled = max(
            (
                self._roll_far(grasp.of, q, item, grasp.back_rad)
                for item in _ways_round(left, self.config.half_turn_rad)
            ),
            key=lambda item: item[0],
        )
        if not rolled.is_complete:
            if self._roadmap.has_choice:
                return self._regrasp(q_now, u, left, refused=grasp.of)
            return Segment(None, reason=f"no turn from this grasp: {rolled.reason}")
        return self._optimise(q, u, way, rolled, moved)

    def _turned_in(self, grasp: Shifted, R: FloatArray) -> FloatArray:
        """Return q (n_q,) of a grasp whose object came to lie at R when it was gripped; its fingers follow."""
        R_planned, p = self.system.object_pose(grasp.q)
        turn = self._roadmap.symmetry.turn_between(R_planned, R)
        if not np.any(turn):
            return self._place(grasp.q, R, p)
        shares = np.linspace(0.0, 1.0, self.config.shift_instants)
        rows = [self._place(grasp.q, rotation_exp(s * turn) @ R_planned, p) for s in shares]
        rolled = self._roll(grasp.of, grasp.q, np.array(rows))
        return self._place(rolled.q[-1] if len(rolled.q) else grasp.q, R, p)

    def _roll_far(
        self, grasp: RoadmapGrasp, q: FloatArray, left: FloatArray, back_rad: float
    ) -> tuple[float, FloatArray, RollingPath]:
        """Return how far, rad, fingers at q (n_q,) roll along a turn of `left` (3,), the object's way, and theirs."""
        whole = float(np.linalg.norm(left))
        angle = most = min(whole, np.deg2rad(self.config.turn_deg) + back_rad)
        while True:
            p_next = self._next_place(self.system.object_pose(q)[1], self.config.carry_m * angle / most)
            way = self._turning_way(q, left * (angle / whole), p_next, angle == whole)
            rolled = self._roll(grasp, q, way)
            shorter = angle * 0.9 * max(len(rolled.q), 1) / len(way)
            if rolled.is_complete or shorter < min(self.config.least_turn_rad, whole):
                return angle if rolled.is_complete else 0.0, way, rolled
            angle = shorter

    def _next_place(self, p: FloatArray, carry_m: float) -> FloatArray:
        """Return where an object that is at p (3,), m, goes next: as high as at the start, by carry_m to the goal.

        Where nothing is carried, it is brought back to where the start holds it.
        """
        if self.config.carry_m == 0.0:
            return self._p_held
        ahead = self._p_goal - p
        ahead -= (ahead @ self._up) * self._up
        distance_m = float(np.linalg.norm(ahead))
        p = p + (ahead if distance_m <= carry_m else carry_m / distance_m * ahead)
        return p + ((self._p_held - p) @ self._up) * self._up

    def _put_place(self, p_next: FloatArray) -> FloatArray:
        """Return where to put down what would be held at p_next (3,), m."""
        return p_next + self._p_lying - self._p_held - self.config.press_m * self._up

    def _turning_way(self, q: FloatArray, turn: FloatArray, p_next: FloatArray, is_last: bool) -> FloatArray:
        """Return rows (T + 1, n_q) of an object that is lifted, turned and put down, at last as high as it was held."""
        R, p = self.system.object_pose(q)
        p_end = p_next if is_last else self._put_place(p_next)
        longer = max(1.0, float(np.linalg.norm(turn)) / np.deg2rad(self.config.turn_deg))
        T = max(2, round(self.config.turn_s * longer / self.config.trajopt.h_s))
        rows, share = [], self.config.lift_share
        for s in np.arange(T + 1) / T:
            height = _smooth(s / share) * _smooth((1.0 - s) / share)
            position = p + _smooth(s) * (p_end - p) + self.config.lift_m * height * self._up
            rows.append(self._place(q, rotation_exp(_smooth(s) * turn) @ R, position))
        return np.array(rows)

    def _optimise(
        self, q: FloatArray, u: FloatArray, way: FloatArray, rolled: RollingPath, moved: FloatArray
    ) -> Segment:
        """Return the plan of a turn from q (n_q,), u (n_a,) along `way`; its commands are moved by `moved` (n_a,)."""
        config, system = self.config.trajopt, self.system
        problem = TrackingProblem(q, u, way, rolled.u[1:])
        found = optimise_commands(system, self._turning_model, problem, config)
        if not found.is_feasible:
            return Segment(None, reason="the model has no next state along the turn")
        hz = found.horizon
        share = np.minimum(np.arange(1, len(way)) * config.h_s / self.config.press_s, 1.0)[:, None]
        commands = np.clip(hz.u + share * moved, system.q_min, system.q_max)
        times_s = config.h_s * np.arange(len(way), dtype=np.float64)
        return self._segment(times_s, hz.q.copy(), np.vstack([u, commands]))

    def _put_down(self, q: FloatArray, u: FloatArray, left: FloatArray) -> Segment:
        """Return the way down to the support, the fingers rolling from where they are."""
        R, p = self.system.object_pose(q)
        down = self._put_place(self._next_place(p, 0.0)) - p
        rows = [self._place(q, R, p + _smooth(s) * down) for s in np.linspace(0.0, 1.0, self.config.shift_instants)]
        rolled = self._roll(self._last, q, np.array(rows))
        if not rolled.is_complete:
            return self._regrasp(q, u, left)
        times_s = np.linspace(0.0, self.config.put_down_s, self.config.shift_instants)
        return self._segment(times_s, rolled.q, np.vstack([u, rolled.u[1:]]))

    def _roll(self, grasp: RoadmapGrasp, q: FloatArray, way: FloatArray) -> RollingPath:
        least_n, friction = self.config.minimum_force_n, self.config.grasp_friction
        path = way[:, : self.system.n_q_u]
        return roll_along(self.system, q, path, grasp.grips, least_n, friction, scene=self._scene)

    # New grasps.

    def _regrasp(self, q: FloatArray, u: FloatArray, left: FloatArray, refused: RoadmapGrasp | None = None) -> Segment:
        """Return the fingers' way from where they are to the grasp that turns what lies there by `left` (3,).

        It is another one than `refused`, which gripped and found no turn.
        """
        config, first = self.config, self.system.n_q_u
        R, p = self.system.object_pose(q)
        self._grasp = self._choose(R, p, left, refused)
        touch_m = self._last.fingers.touch_gaps(q)
        planned = self._place(self._grasp.q, R, p)
        touching = self._grasp.of.fingers.fit(planned, touch_m)
        loose, clear = (self._last.fingers.leave(q, gap_m, touch_m) for gap_m in (config.loose_m, config.clearance_m))
        before = self._last.fingers.leave(touching, config.clearance_m, touch_m)
        shares = np.linspace(0.0, 1.0, config.travel_instants)[1:]
        travel = [
            self._last.fingers.leave(clear + share * (before - clear), config.clearance_m, touch_m) for share in shares
        ]
        stops = [u, *(item[first:] for item in (q, loose, clear, *travel, touching))]
        stops.append(self._grasp.u + (touching - planned)[first:])
        travel_s = [config.travel_s / len(travel)] * len(travel)
        times_s = np.cumsum([
            0.0, config.release_s, config.loosen_s, config.retreat_s, *travel_s, config.approach_s, config.grip_s,
        ])  # fmt: skip
        commands = np.clip(stops, self.system.q_min, self.system.q_max)
        rows = np.array([np.concatenate([q[:first], stop]) for stop in commands])
        return self._segment(times_s, rows, commands, is_tracked=False)

    def _choose(self, R: FloatArray, p: FloatArray, left: FloatArray, refused: RoadmapGrasp | None) -> Shifted:
        """Return the grasp that turns furthest by `left` (3,) what lies at (R, p), rolled back before that turn.

        Fingers of several grasps may not fit it there, or come to a joint's limit on the way: the way tells.
        """
        ready = [self._rolled_back(self._fit(grasp, R, p), left) for grasp in self._roadmap.order(R, left, refused)]
        if len(ready) == 1:
            return ready[0]
        return max(ready, key=lambda item: self._reach(item, R, left))

    def _reach(self, grasp: Shifted, R: FloatArray, left: FloatArray) -> float:
        """Return how far, rad, a grasp turns its object at R by `left` (3,); 0 where its fingers do not fit it."""
        if not grasp.fits:
            return 0.0
        q = self._place(grasp.q, R, self.system.object_pose(grasp.q)[1])
        return self._roll_far(grasp.of, q, left, grasp.back_rad)[0]

    def _fit(self, grasp: RoadmapGrasp, R: FloatArray, p: FloatArray) -> Shifted:
        """Return a grasp with the object at (R, p): the fingers roll there with it, as far as they can."""
        R_start, p_start = self.system.object_pose(grasp.q)
        turn = self._roadmap.turn_from(grasp, R)
        p = p + max(0.0, float((self._p_lying - p) @ self._up)) * self._up
        rows = [
            self._place(grasp.q, rotation_exp(s * turn) @ R_start, p_start + s * (p - p_start))
            for s in np.linspace(0.0, 1.0, self.config.shift_instants)
        ]
        rolled = self._roll(grasp, grasp.q, np.array(rows))
        if not len(rolled.q):
            return Shifted(grasp, grasp.q, grasp.u, fits=False)
        return Shifted(grasp, rolled.q[-1], rolled.u[-1], fits=rolled.is_complete)

    def _rolled_back(self, grasp: Shifted, left: FloatArray) -> Shifted:
        """Return the grasp of fingers that have rolled back before a turn of `left` (3,), as far as they can.

        Where the object looks the same on the way, fingers hold it wherever they roll to; elsewhere they are as far
        back as the object lies before the grasp's own orientation.
        """
        whole, most, back = float(np.linalg.norm(left)), *np.deg2rad([self.config.turn_deg, self.config.back_deg])
        angle = min(whole, most + back) * back / (most + back)
        R, p = self.system.object_pose(grasp.q)
        if not self._roadmap.symmetry.is_round_about(left, R):
            off = self._roadmap.turn_from(grasp.of, R)
            return replace(grasp, back_rad=-float(off @ left) / whole)
        if whole <= most or angle == 0.0:
            return grasp
        shares = np.linspace(0.0, 1.0, self.config.back_instants)
        rows = [self._place(grasp.q, rotation_exp(-s * angle / whole * left) @ R, p) for s in shares]
        rolled = self._roll(grasp.of, grasp.q, np.array(rows))
        if not len(rolled.q):
            return grasp
        return Shifted(
            grasp.of, self._place(rolled.q[-1], R, p), rolled.u[-1], float(angle * shares[len(rolled.q) - 1])
        )

    # Small parts.

    def _place(self, q: FloatArray, R: FloatArray, p: FloatArray) -> FloatArray:
        """Return q (n_q,) with the object at (R, p)."""
        q = q.copy()
        q[: self.system.n_q_u] = self.system.q_from_object_pose(np.ascontiguousarray(R), p, q)
        return q

    def _segment(self, times_s: FloatArray, q: FloatArray, u: FloatArray, *, is_tracked: bool = True) -> Segment:
        plan = Plan(times_s, q, u, np.zeros_like(u), np.zeros((len(u), 0, 3)), {"planner": "reorientation"})
        return Segment(plan, is_tracked, rest_s=self.config.rest_s, settle_s=self.config.settle_s)


def _ways_round(left: FloatArray, half_turn_rad: float) -> list[FloatArray]:
    """Return a rotation vector (3,), and near half a turn, where noise decides which, that of the other way round."""
    angle = float(np.linalg.norm(left))
    return [left] if angle < np.pi - half_turn_rad else [left, left * (1.0 - 2.0 * np.pi / angle)]


def _smooth(s: float) -> float:
    """Return 3 s^2 - 2 s^3 of s, which is kept within 0 .. 1."""
    return smooth_step(min(max(s, 0.0), 1.0))


def make_goal_plan(task: TaskConfig) -> Plan:
    """Return the reference of a reorientation: the start, and the goal at the task's duration."""
    q = np.array([task.start_q, task.start_q])
    q[1, : task.system.n_q_u] = task.system.q_from_object_pose(*task.goal_pose(), task.start_q)
    u = np.array([task.start_u, task.start_u])
    provenance = {**task.system.provenance(), "version": __version__, "task": task.name, "planner": "reorientation"}
    times_s = np.array([0.0, task.duration_s])
    return Plan(times_s, q, u, np.zeros_like(u), np.zeros((2, 0, 3)), provenance)


def build_planner(task: TaskConfig) -> ReorientationPlanner:
    """Return the planner of a task's segments.

    Raises
    ------
    ConfigError
        A parameter of the section `planner` is unknown or out of range.
    """
    config = validate(ReorientationConfig, task.planner, f"{task.path}: planner")
    return ReorientationPlanner(task.system, [(task.start_q, task.start_u), *task.grasps], config)
