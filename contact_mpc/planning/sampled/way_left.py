"""How far an object is from its goal, as random motions are judged: by the turn first where slides carry the hand.

Slides that carry the whole robot bring what it holds anywhere. There the object is turned first, and the slides go to
the goal with it then: what is left is sum_i w_i |turn_i| + w max(|shift in the hand| - free, 0) / L until the turn is
within a multiple of its tolerance, and else the distance in the global metric. Turns about horizontal axes, which
gravity undoes, weigh more than those about the vertical.
"""

import numpy as np

from contact_mpc.planning.sampled.random_motions import RandomMotions
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.problem import Problem, lost_object
from contact_mpc.planning.tree.segments import object_distance, tolerances
from contact_mpc.settings.arrays import FloatArray


class WayLeft:
    """What is left of the way to the goal of a problem.

    Parameters
    ----------
    problem : Problem
        Its goal, and weights (`sampled`).
    motions : RandomMotions
        Which joints are slides that carry the robot.
    goal : (n_q,) array, optional
        Where its object has to go; by default the problem's goal.
    """

    def __init__(self, problem: Problem, motions: RandomMotions, goal: FloatArray | None = None) -> None:
        self._problem, self._config, self._motions = problem, problem.file.sampled or SampledConfig(), motions
        self._goal = problem.configuration(problem.goal_u) if goal is None else goal
        self._weight = _turn_weight(problem, self._config.tilt_weight)
        self._start_m = self._in_hand_m(problem.configuration(problem.start_u))

    def has_to_turn(self, q: FloatArray) -> bool:
        """Whether slides may bring the object of q (n_q,) to its place later, because it has to turn first."""
        angle_deg, _ = self._problem.errors(q)
        most_deg, _ = tolerances(self._problem)
        return bool(len(self._motions.slides)) and angle_deg > self._config.turned * most_deg

    def rad(self, q: FloatArray, turns_first: bool) -> float:
        """Return what is left from q (n_q,), rad: of the turn, or of the whole way."""
        if not turns_first:
            return object_distance(self._problem, q, self._goal)
        system, config = self._problem.system, self._config
        e = system.difference(self._goal, q)[: system.n_v_u]
        shift_m = float(np.linalg.norm(self._in_hand_m(q) - self._start_m))
        beyond = max(shift_m - config.free_shift_m, 0.0) / self._problem.file.rrt.length_m
        return float(self._weight @ np.abs(e[self._problem.turns]) + config.shift_weight * beyond)

    def error(self, q: FloatArray, turns_first: bool) -> FloatArray:
        """Return what the object of q (n_q,) is off its goal by, (n_v_u,), rad, whose length motions bring to nothing.

        Where it has to turn first, the weighted turns; else what the global metric is the length of.
        """
        problem, weight = self._problem, self._problem.metric_weight
        if turns_first:
            weight = np.zeros(len(problem.turns))
            weight[problem.turns] = self._weight
        return weight * problem.system.difference(self._goal, q)[: problem.system.n_v_u]

    def order(self, q: FloatArray) -> tuple[bool, float]:
        """Return whether the object of q (n_q,) has to turn, and what is left then, rad: the less, the nearer.

        A lost one, or one that is nowhere, is furthest.
        """
        if not np.all(np.isfinite(q)) or lost_object(self._problem, q):
            return True, np.inf
        turns_first = self.has_to_turn(q)
        return turns_first, self.rad(q, turns_first)

    def object_way_m(self, q: FloatArray) -> FloatArray:
        """Return the way (3,) of the object from q (n_q,) to its goal, m."""
        system = self._problem.system
        return np.asarray(system.object_pose(self._goal)[1] - system.object_pose(q)[1])

    def _in_hand_m(self, q: FloatArray) -> FloatArray:
        """Return the position (3,) of the object of q (n_q,) less that of the slides, m."""
        system, motions = self._problem.system, self._motions
        position = system.object_pose(q)[1].copy()
        position[motions.axes] -= q[system.n_q_u + motions.slides]
        return position


def _turn_weight(problem: Problem, tilt_weight: float) -> FloatArray:
    """Return the weight of each turn of the objects: `tilt_weight` where it is of a free body, across gravity."""
    gravity = np.array(problem.system.config.gravity_m_s2)
    count = int(np.count_nonzero(problem.turns))
    strength = float(np.linalg.norm(gravity))
    if strength == 0.0 or count != len(gravity):
        return np.ones(count)
    return np.asarray(tilt_weight + (1.0 - tilt_weight) * np.abs(gravity) / strength)
