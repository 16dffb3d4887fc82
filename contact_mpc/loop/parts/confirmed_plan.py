"""A plan that physics has confirmed: trees propose, MuJoCo says where each part leads, and planning goes on from there.

The plan of a tree is played part by part in MuJoCo (`contact_mpc.loop.parts.confirmation`). Each next part starts where
the nominal plant has come to rest; where the object is not where the plan has it, trees are grown anew from there
(`contact_mpc.planning.tree.segments`). What was played, one part after the other, is the plan: its configurations are
those of the engine, and playing its commands leads to the goal there. Each part is also played in other draws of
friction, mass and size from the same state; the share of them that end where the nominal one does tells how robust it
is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from contact_mpc.errors import PlanError
from contact_mpc.planning.parts import make_parts
from contact_mpc.planning.sampled.motion_search import RolledPhysics
from contact_mpc.planning.tree.plan import FREE_S, PARTS_S
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import object_distance
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

MOST_PARTS = 80
SETTLE_S = 3.0  # for which the last command of a part is held
REST_RAD = 0.005  # from where the object comes to rest, global metric, up to which a part of the plan waits for it
LEAST_PAUSE_S = 0.3
ROWS_S = 0.05  # between rows of the plan
CANDIDATES, CANDIDATE_SEED_STEP = 3, 104_729_000_000  # plans that are tried in physics, and between their seeds


@dataclass(frozen=True)
class ConfirmedPlan:
    """A plan and what physics says of it.

    Attributes
    ----------
    plan : Plan
        What was played; its provenance has `confirmed` and `robustness`.
    is_confirmed : bool
        Whether the nominal plant reaches the goal.
    robustness : tuple of float
        Per part, the share of draws that end where the nominal plant does.
    reason : str
        Why it is not confirmed; "" where it is.
    error_rad : float
        From the goal at the end, global metric.
    identified : tuple of float, optional
        Factors on friction and size by which roll-outs explain the motions best; None without roll-outs.
    """

    plan: Plan
    is_confirmed: bool
    robustness: tuple[float, ...]
    reason: str
    error_rad: float
    identified: tuple[float, float] | None = None


@dataclass(frozen=True)
class Ways:
    """Motions (draws, n, n_q) at instants (n,) from the start on, s, the nominal draw first."""

    times_s: FloatArray
    q: FloatArray


class World(Protocol):
    """Where a plan is played."""

    def ways(self, q: FloatArray, plan: Plan, settle_s: float = SETTLE_S, row_s: float = ROWS_S) -> Ways:
        """Return the motions from rest at q (n_q,), settle_s longer than the plan or until objects rest.

        A world that cannot go back is at q.
        """
        ...


class RollOuts(World, RolledPhysics, Protocol):
    """A world that can go back, in several draws: `contact_mpc.loop.parts.confirmation`."""

    def learn(self, problem: Problem, q: FloatArray, plan: Plan, seen: Ways) -> None:
        """Explain a motion of another world, from rest at q (n_q,), by friction and size in later roll-outs."""
        ...

    def learn_drives(self, q: FloatArray, plan: Plan, seen: Ways) -> None:
        """Explain a motion of free joints in another world, from rest at q (n_q,), by friction of the drives."""
        ...

    @property
    def identified(self) -> tuple[float, float]:
        """Factors on friction and size that explain best what was learned from."""
        ...


def confirm(
    problem: Problem,
    plan: Plan,
    physics: RollOuts | None,
    world: World | None = None,
    start_q: FloatArray | None = None,
    plans_again: bool = True,
    report: Callable[[str], None] | None = None,
) -> ConfirmedPlan:
    """Play a plan in physics, or in another world, plan again where it fails, and return what was played.

    Parameters
    ----------
    problem, plan
        A plan of the problem.
    physics : RollOuts, optional
        What parts are corrected in, and what learns from another world; None: parts are played as trees leave them.
    world : World, optional
        Where the plan is played; physics itself by default, one of the two is needed.
    start_q : (n_q,) array, optional
        Where the world starts; at the plan's start by default.
    plans_again : bool
        Whether what misses is mended and planned again, or the plan played to its end all the same.
    report : callable, optional
        Told of each part before it is played.
    """
    segments = make_parts(problem, physics, plans_again, report=report)
    segments.begin(plan)
    q, u = plan.q[0] if start_q is None else start_q, plan.u[0]
    world = physics if world is None else world
    assert world is not None
    times_s, rows_q, rows_u = [np.zeros(1)], [q[None]], [u[None]]
    free_s: list[tuple[float, float]] = []
    parts_s: list[float] = []
    robustness: list[float] = []
    reason = f"more than {MOST_PARTS} parts"
    for _ in range(MOST_PARTS):
        segment = segments.next_segment(q, u)
        if segment is None or segment.plan is None:
            reason = "" if segment is None else segment.reason
            break
        if report is not None:
            report(segment.note)
        ways = world.ways(q, segment.plan, row_s=ROWS_S)
        ends = ways.q[:, -1]
        if physics is not None and world is not physics:
            if segment.has_free_slides or not segment.is_tracked:
                physics.learn_drives(q, segment.plan, ways)
            if segment.is_tracked:
                physics.learn(problem, q, segment.plan, ways)
        robustness.append(
            float(np.mean([object_distance(problem, ends[0], end) <= problem.file.parts.off_rad for end in ends]))
        )
        begin_s = float(times_s[-1][-1])
        parts_s.append(begin_s)
        least = int(np.searchsorted(ways.times_s, segment.plan.times_s[-1] + LEAST_PAUSE_S))
        count = _rows_to_rest(problem, ways.q[0], least)
        rows_s = ways.times_s[:count]
        commands = [np.interp(rows_s, segment.plan.times_s, column) for column in segment.plan.u.T]
        times_s.append(begin_s + rows_s)
        rows_q.append(ways.q[0, :count])
        rows_u.append(np.stack(commands, axis=1))
        if not segment.is_tracked:
            free_s.append((begin_s, float(times_s[-1][-1])))
        q, u = ends[0], rows_u[-1][-1]
    told = {FREE_S: free_s, PARTS_S: parts_s, "confirmed": not reason, "robustness": robustness}
    all_u = np.vstack(rows_u)
    played = Plan(
        np.concatenate(times_s), np.vstack(rows_q), all_u, np.zeros_like(all_u),
        np.zeros((len(all_u), *plan.contact_impulses.shape[1:])), {**plan.provenance, **told},
    )  # fmt: skip
    error_rad = object_distance(problem, q, problem.configuration(problem.goal_u))
    identified = None if physics is None else physics.identified
    return ConfirmedPlan(played, not reason, tuple(robustness), reason, error_rad, identified)


def candidate_seed(seed: int, k: int) -> int:
    """Return the seed of the k-th plan that is tried."""
    return seed + k * CANDIDATE_SEED_STEP


def confirm_best(
    problem: Problem, plans: Iterable[Plan], physics: RollOuts, report: Callable[[str], None] | None = None
) -> ConfirmedPlan:
    """Return the first of the plans that is confirmed; where none is, the one that ends nearest to the goal.

    Raises
    ------
    PlanError
        There is no plan.
    """
    best: ConfirmedPlan | None = None
    for plan in plans:
        done = confirm(problem, plan, physics, report=report)
        if best is None or done.is_confirmed or done.error_rad < best.error_rad:
            best = done
        if done.is_confirmed:
            break
    if best is None:
        raise PlanError(f"{problem.path}: no plan to confirm")
    return best


def _rows_to_rest(problem: Problem, way: FloatArray, least: int) -> int:
    """Return how many rows of a motion (n, n_q) there are until the object rests, `least` at least."""
    moving = [k for k in range(least, len(way)) if object_distance(problem, way[k], way[-1]) > REST_RAD]
    return min(len(way), max([least, *(k + 1 for k in moving)]) + 1)
