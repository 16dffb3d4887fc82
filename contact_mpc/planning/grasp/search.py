"""Search for a start posture from which the fingers can roll an object to every goal that it shall reach.

Random object positions and finger postures, each finger closed until it touches (`touch`); fingers that cannot are left
open, as long as three touch (two where the object does not move freely). Kept when forces balance the object, then
scored by rolling along every path: how far it gets with the given friction, then with ever less (`friction_steps`),
then the room that is left to the joint limits and the conditioning of what the joints can do to the object. Those that
serve every path are played in a physics engine, where the caller has one (`GraspSearch.hold`): the share of the plants
that keep the object counts most. After the first `random_share` of the samples the best is varied instead.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contact_mpc.geometry.extent import times_usual
from contact_mpc.geometry.fingers import stacked_jacobian, touching_shapes
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.lengths import tangent_lengths
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.balance import Grasp, compute_grasp
from contact_mpc.planning.grasp.candidate import Course, Courses, GraspCandidate, Hold
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.rolling import roll_along
from contact_mpc.planning.grasp.scene import Scene, make_scene
from contact_mpc.planning.grasp.support import is_at_rest, lie_down
from contact_mpc.planning.grasp.touch import Finger, Touching, find_fingers
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
LEAVES = "it would not stay where it lies when the fingers let go"
LEAST_RANK = 1e-6  # of the contacts' Jacobian: directions with less of its norm count for nothing


class GraspSearch:
    """Samples postures of one system for paths of its object.

    Parameters
    ----------
    courses : callable
        Given a start q (n_q,) and the contacts that hold, the courses of which the grasp must serve one.
    spread_rad : float
        Half width of the box of rotation vectors by which the object is turned from q_centre, rad.
    hold : callable, optional
        Given configurations (n, n_q) and commands (n, n_a) of fingers that roll along each path, the share of plants
        that keep the object, 0 to 1.
    config : GraspSearchConfig, optional
        Shares, rooms and weights; its defaults where None.
    """

    def __init__(
        self,
        system: System,
        q_centre: FloatArray,
        courses: Courses,
        seed: int | tuple[int, ...],
        minimum_force_n: float = 1.0,
        friction: float = 0.5,
        spread_rad: float = 0.0,
        hold: Hold | None = None,
        config: GraspSearchConfig | None = None,
    ) -> None:
        self.system, self.q_centre, self.courses, self.hold = system, q_centre, courses, hold
        self.minimum_force_n, self.friction = minimum_force_n, friction
        self.spread_rad, self.config = spread_rad, config or GraspSearchConfig()
        self.rng = np.random.default_rng(seed)
        self._scene = make_scene(system)
        self._scale = times_usual(system, self.config.usual_half_m)
        self._shapes = touching_shapes(system)
        self.fingers = find_fingers(system, self._scene)
        self._touching = Touching(system, self.config, self.rng)
        self._least_fingers = min(len(self.fingers), 3 if np.any(system.tree.joint == FREE) else 2)
        self.drawn = 0
        self.best: GraspCandidate | None = None
        self.refusals: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        self._short: defaultdict[int, float] = defaultdict(float)  # by path, of all candidates

    @cached_property
    def _support(self) -> Scene:
        return self._scene.part(self._scene.supports)

    def sample(self) -> GraspCandidate | None:
        """Return one random candidate, None where it cannot hold the object."""
        self.drawn += 1
        q = self._draw_place()
        if q is None:
            return None
        chosen = self._choose_fingers(q)
        closed = [self._touching.close(q, finger) for finger in chosen]
        for finger, touches in zip(chosen, closed, strict=True):
            self.misses[finger.name] += not touches
        if sum(closed) < self._least_fingers:
            self._refuse("too few fingertips touch the object")
            return None
        return self.judge(q)

    def _choose_fingers(self, q: FloatArray) -> list[Finger]:
        """Return the fingers that shall close, all of them unless they are drawn; the others are opened in q."""
        if not self.config.draws_fingers:
            return self.fingers
        order = self.rng.permutation(len(self.fingers))
        count = int(self.rng.integers(self._least_fingers, len(order) + 1))
        for k in order[count:]:
            self._touching.open(q, self.fingers[k])
        return [self.fingers[k] for k in sorted(order[:count])]

    def vary(self, candidate: GraspCandidate) -> GraspCandidate | None:
        """Return a candidate nearby, None where it cannot hold the object."""
        self.drawn += 1
        scale, variation_rad = self.rng.uniform(0.1, 1.0), self.config.variation_rad
        turn = scale * min(variation_rad, self.spread_rad) * self.rng.standard_normal(3)
        offset = scale * self._scale * self.config.variation_m * self.rng.standard_normal(3)
        q = self._place_object(candidate.q, offset, turn)
        if not self.stays(q):
            self._refuse(LEAVES)
            return None
        first = self.system.n_q_u
        for finger in self.fingers:
            if not self._holds(candidate, finger):
                continue
            bend = self._touching.closing(q, finger) * self.rng.uniform(0.3, 1.0, len(finger.joints))
            moved = q[first + finger.joints] + scale * self.config.variation_rad * self.rng.standard_normal(
                len(finger.joints)
            )
            if not self._touching.close_near(q, finger, moved, bend):
                self.misses[finger.name] += 1
                return None
        return self.judge(q)

    def _place_object(self, q: FloatArray, offset: FloatArray, turn: FloatArray) -> FloatArray:
        R, p = self.system.object_pose(q)
        q = q.copy()
        q[: self.system.n_q_u] = self.system.q_from_object_pose(rotation_exp(turn) @ R, p + offset, q)
        return lie_down(self.system, self._support, q, self.config.lying_gap_m) if self.config.is_lying else q

    def _draw_place(self) -> FloatArray | None:
        """Return q (n_q,) with the object placed and turned at random, None where it stays at no such place."""
        spread_m = self._scale * self.config.spread_m
        for _ in range(self.config.tries_per_place):
            turn = self.rng.uniform(-self.spread_rad, self.spread_rad, 3)
            q = self._place_object(self.q_centre, self.rng.uniform(-spread_m, spread_m, 3), turn)
            if self.stays(q):
                return q
        self._refuse(LEAVES)
        return None

    def stays(self, q: FloatArray) -> bool:
        """Whether an object that is gripped where it lies stays there without fingers."""
        config, gap_m = self.config, self.config.lying_gap_m
        return not config.is_lying or is_at_rest(
            self.system, self._support, q, gap_m, config.lying_margin_m, config.most_unbalanced
        )

    def judge(self, q: FloatArray) -> GraspCandidate | None:
        """Return the candidate at q (n_q,), None where it cannot hold the object."""
        if self._scene.gaps(q).min() < 0.5 * self.config.contact_gap_m:
            self._refuse("a link is in the object, beside those that hold it")
            return None
        grasp = compute_grasp(self.system, q, self.minimum_force_n, self.friction, scene=self._scene)
        if not grasp.is_balanced:
            self._refuse(f"no forces of {self.minimum_force_n:g} N within friction {self.friction:g} hold it")
            return None
        if len(grasp.pairs) < self._least_fingers:
            self._refuse("too few fingertips touch the object")
            return None
        return self._score(q, grasp)

    def _holds(self, candidate: GraspCandidate, finger: Finger) -> bool:
        return bool(np.any(np.isin(candidate.grasp.pairs, finger.pairs)))

    def leaves_choice(self, candidate: GraspCandidate) -> bool:
        """Whether contacts that do not slip leave more than one motion to the object and the fingers that hold it.

        Of all their degrees of freedom the rank of the contacts' Jacobian is taken: three per contact, two in a plane.
        """
        self._scene.gaps(candidate.q)
        J = stacked_jacobian(self._scene.model.pairs, self._scene.newton.con, candidate.grasp.pairs, self.system.n_v)
        joints = [finger.joints for finger in self.fingers if self._holds(candidate, finger)]
        columns = np.concatenate([np.arange(self.system.n_v_u), *(self.system.n_v_u + item for item in joints)])
        return bool(len(columns) - np.linalg.matrix_rank(J[:, columns], tol=LEAST_RANK * np.linalg.norm(J)) > 1)

    def _refuse(self, reason: str) -> None:
        self.refusals[reason] += 1

    def why(self) -> list[str]:
        """Return why samples failed, most frequent first, and per finger how many it could not touch."""
        found = [f"{count} of {self.drawn}: {reason}" for reason, count in self.refusals.most_common()]
        return found + [
            f"fingertip {name} did not reach the object in {count} of {self.drawn}"
            for name, count in self.misses.most_common() if count
        ]  # fmt: skip

    def _score(self, q: FloatArray, grasp: Grasp) -> GraspCandidate | None:
        """Return the candidate with the course that it serves best, None where there is no course."""
        found = [self._score_course(q, grasp, course) for course in self.courses(q, grasp.pairs)]
        if not found:
            self._refuse("fingers that roll do not turn it far enough about any axis")
            return None
        return max(found, key=lambda candidate: candidate.score)

    def _score_course(self, q: FloatArray, grasp: Grasp, course: Course) -> GraspCandidate:
        """Return the candidate with its score, with too low a one as soon as it cannot become the best."""
        values = np.linalg.svd(object_response(self.system, q, grasp.pairs, self._scene), compute_uv=False)
        fingers = min(1.0, len(grasp.pairs) / max(1, len(self.fingers)))
        found = GraspCandidate(
            q, grasp, (0.0,), np.inf, float(values[-1] / values[0]), fingers, config=self.config, goal=course.goal
        )
        ways: dict[int, tuple[FloatArray, FloatArray]] = {}
        for k in range(len(self.config.friction_steps)):
            found = self._roll_paths(found, course, k, ways)
            if found.fractions[-1] < 1.0 or not self.could_win(found):
                break
        return self._try_to_hold(found, [way for _, way in sorted(ways.items())])

    def _roll_paths(
        self, found: GraspCandidate, course: Course, k: int, ways: dict[int, tuple[FloatArray, FloatArray]]
    ) -> GraspCandidate:
        """Return the candidate with its share of the paths at the k-th friction, a part of it where it cannot win.

        The paths that most candidates fell short of come first. Ways and room are those at the first friction.
        """
        before, shares, count = found.fractions[:k], 0.0, len(course.paths)
        friction = self.config.friction_steps[k] * self.friction
        for done, i in enumerate(sorted(range(count), key=lambda i: -self._short[i]), start=1):
            path, pairs = course.paths[i], found.grasp.pairs
            rolled = roll_along(self.system, found.q, path, pairs, self.minimum_force_n, friction, scene=self._scene)
            share = self._clear_instants(rolled.q, pairs) / len(path)
            shares += share
            self._short[i] += 1.0 - share
            if k == 0:
                ways[i] = rolled.q, rolled.u
                room = self._room(rolled.q) if len(rolled.q) else 0.0
                found = replace(found, limit_room_rad=min(found.limit_room_rad, room))
            found = replace(found, fractions=(*before, shares / count))
            if not self.could_win(replace(found, fractions=(*before, (shares + count - done) / count))):
                break
        return found

    def could_win(self, candidate: GraspCandidate) -> bool:
        """Whether a candidate could become the best if all that is not known of it is as good as can be."""
        if self.best is None:
            return True
        is_whole = candidate.fraction >= 1.0
        steps = len(self.config.friction_steps) - len(candidate.fractions) if candidate.fractions[-1] >= 1.0 else 0
        held = self.config.held_weight if is_whole and self.hold is not None else 0.0
        return candidate.score + steps + held > self.best.score

    def _try_to_hold(self, candidate: GraspCandidate, ways: list[tuple[FloatArray, FloatArray]]) -> GraspCandidate:
        """Return the candidate with its share of plants, where it serves every path and could become the best."""
        if self.hold is None or candidate.fraction < 1.0 or not self.could_win(candidate):
            return candidate
        held = self.hold(ways)
        if held < 1.0:
            self._refuse("in some plants the fingers lose the object")
        return replace(candidate, held=held)

    def _clear_instants(self, q: FloatArray, pairs: IntArray) -> int:
        """Return how many of the first rows of q (n, n_q) keep all contacts but `pairs` at `clearance_m`.

        Other shapes of the links that hold, and what the object lies on, may come as near as they like, as long as they
        do not touch.
        """
        links = {(self._shapes[c].owner, self._shapes[c].link) for c in pairs}
        holds = np.array([(shape.owner, shape.link) in links for shape in self._shapes])
        least = np.where(holds, 0.0, self.config.clearance_m)
        least[pairs] = -np.inf
        if self.config.is_lying:
            least[self._scene.supports] = 0.0
        for k, row in enumerate(q):
            if np.any(self._scene.gaps(row) < least):
                return k
        return len(q)

    def _room(self, q: FloatArray) -> float:
        q_a = q[:, self.system.n_q_u :]
        return float(min(np.min(q_a - self.system.q_min), np.min(self.system.q_max - q_a)))


def object_response(system: System, q: FloatArray, pairs: IntArray, scene: Scene | None = None) -> FloatArray:
    """Return (n_v_u, n_a): the objects' displacement, in m (see `tangent_lengths`), for a motion of the joints.

    B_u of sticking contacts, -(J_u' J_u)^-1 J_u' J_a: its least singular value is that of the direction in which the
    joints can do least.
    """
    scene = scene or make_scene(system)
    model, ws = scene.model, scene.newton
    scene.gaps(q)
    J = stacked_jacobian(model.pairs, ws.con, pairs, system.n_v)
    lengths = tangent_lengths(system)[: system.n_v_u]
    return np.asarray(lengths[:, None] * np.linalg.lstsq(J[:, : system.n_v_u], -J[:, system.n_v_u :], rcond=None)[0])


def search_grasp(
    search: GraspSearch, samples: int, progress: Callable[[int, float], None] | None = None
) -> GraspCandidate | None:
    """Return the best of at most so many samples; progress(count, best score) is called after each.

    `search.best` is the best so far, also where an exception ends this. A complete best ends it after `patience` more.
    """
    best, since = search.best, 0
    for count in range(samples):
        is_random = best is None or count < search.config.random_share * samples
        candidate = search.sample() if is_random or best is None else search.vary(best)
        if candidate is not None and (best is None or candidate.score > best.score):
            search.best, since = candidate, -1
            best = candidate
        since += 1
        if progress is not None:
            progress(count + 1, best.score if best else 0.0)
        if best is not None and best.is_complete and since >= search.config.patience:
            break
    return best
