"""Parts of a way by random motions in a physics engine: a way of many motions, followed, and found anew where it fails.

The model of trees finds where fingers could move an object; with many contacts that slide, roll and break at once
physics seldom follows. Here nothing is foretold by a model: random motions of fingers are rolled out in the engine
from states at rest (`motion_search`), and a tree of rests leads to the goal (`rests`). What was found is played part by
part. Each is rolled out again from where the object really is, and varied where it leaves more than it was to leave;
where that fails, too, motions are searched from there that lead nearer. A plan that was confirmed is such a way.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from contact_mpc.planning.sampled.motion_search import RolledPhysics
from contact_mpc.planning.sampled.rests import Rests, Step
from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.plan import PARTS_S
from contact_mpc.planning.tree.problem import Problem, lost_object, with_goal
from contact_mpc.planning.tree.segments import has_arrived
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import Segment


class SampledSegments:
    """A `SegmentPlanner` by random motions.

    Parameters
    ----------
    problem : Problem
        Goal, and how motions are drawn (`sampled`).
    physics : RolledPhysics
        The engine.
    is_tracked : bool
        Whether parts are tracked by feedback, or played.
    report : callable, optional
        Told how a search goes on.
    """

    def __init__(
        self,
        problem: Problem,
        physics: RolledPhysics,
        is_tracked: bool = True,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._problem, self._physics, self._is_tracked, self._report = problem, physics, is_tracked, report
        self._config = problem.file.sampled or SampledConfig()
        self._rests, self._way = Rests(problem, physics, np.random.default_rng(0)), list[Step]()
        self._to_goal, self._parts = True, 0  # whether a search has to end at the goal

    def begin(self, plan: Plan) -> None:
        """Follow a plan to the goal that it was made for."""
        objects = plan.provenance.get("parameters", {}).get("objects", {})
        self._problem = with_goal(self._problem, {name: item["goal"] for name, item in objects.items()})
        rng = np.random.default_rng(int(plan.provenance.get("seed", 0)))
        self._rests, self._parts = Rests(self._problem, self._physics, rng), 0
        self._way = self._steps(plan)
        self._to_goal = not self._way

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """Return the motion that is due from the state q (n_q,) under the command u (n_a,); None at the goal."""
        if has_arrived(self._problem, q):
            return None
        if reason := lost_object(self._problem, q):
            return Segment(None, reason=reason)
        has_to_turn, before = self._rests.left.order(q)
        if (step := self._due(q, u)) is None:
            expansions = self._config.expansions if self._to_goal else self._config.expansions_again
            self._way = self._rests.way(q, u, expansions, self._to_goal, self._report)
            self._to_goal = False
            if (step := self._due(q, u)) is None:
                rests = f"{self._rests.searched} rests" if self._rests.searched > 1 else "rest"
                return Segment(
                    None, reason=f"no random motion from {rests} leads nearer to the goal, {before:.2f} rad away"
                )
        self._parts += 1
        return Segment(
            step.plan, self._is_tracked, rest_s=self._problem.file.parts.rest_s, has_free_slides=self._rests.has_slides,
            note=f"part {self._parts}, {step.what}, {before:.3f} rad {'to turn' if has_to_turn else 'left'}, "
            f"foretold {step.order[1]:.3f}, {len(self._way)} parts left",
        )  # fmt: skip

    def _due(self, q: FloatArray, u: FloatArray) -> Step | None:
        """Return the next step of the way, as it is played from (q, u); where it fails, None, and there is no way."""
        if not self._way:
            return None
        step = self._rests.followed(self._way[0], q, u)
        self._way = [] if step is None else self._way[1:]
        return step

    def _steps(self, plan: Plan) -> list[Step]:
        """Return the parts of a plan that was confirmed; none of another."""
        begins = plan.provenance.get(PARTS_S, [])
        rows = [*np.searchsorted(plan.times_s, np.array(begins) - 1e-6).tolist(), len(plan.times_s) - 1]
        parts = [plan.rows(slice(i, j + 1)) for i, j in zip(rows[:-1], rows[1:], strict=True) if j > i]
        return [Step(replace(part, provenance={}), "as planned", self._rests.left.order(part.q[-1])) for part in parts]
