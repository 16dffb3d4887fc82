"""Hits of a tool on an object: when the plan says, when they happened, and what they gave the object.

Measured from the contact forces of a plant, as a force sensor at the tool would: force on the object at points above
the ground, events apart by more than `SPLIT_S`. A planned hit acts in the middle of the step whose impulse the plan
holds.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

ABOVE_GROUND_M = 0.02  # contacts below are those of the object with the ground
LEAST_FORCE_N = 0.5
SPLIT_S = 0.03
LARGEST_DELAY_S, LARGEST_IMPULSE_ERROR = 0.03, 0.2


@dataclass(frozen=True)
class Hit:
    """Start of a hit, s after the start of the motion, and its impulse, N s."""

    t_s: float
    impulse_ns: float


@dataclass(frozen=True)
class HitCheck:
    """A planned hit and the one that happened in its place; None where there is none."""

    planned: Hit | None
    measured: Hit | None

    @property
    def is_as_planned(self) -> bool:
        """Whether both are there, within 30 ms and 20 % of the impulse."""
        if self.planned is None or self.measured is None:
            return False
        late = abs(self.measured.t_s - self.planned.t_s) <= LARGEST_DELAY_S
        return late and abs(self.measured.impulse_ns / self.planned.impulse_ns - 1.0) <= LARGEST_IMPULSE_ERROR


@dataclass(frozen=True)
class ContactCheck:
    """All hits of a run, planned and measured, in their order."""

    hits: tuple[HitCheck, ...]

    @property
    def is_sequence_as_planned(self) -> bool:
        """Whether as many hits happened as were planned."""
        return all(hit.planned is not None and hit.measured is not None for hit in self.hits)

    @property
    def as_planned(self) -> int:
        """How many hits were within 30 ms and 20 % of the impulse."""
        return sum(hit.is_as_planned for hit in self.hits)

    def to_dict(self) -> dict[str, Any]:
        """Return what reports and ``--json`` state."""
        hits = [{**asdict(hit), "is_as_planned": hit.is_as_planned} for hit in self.hits]
        return {
            "hits": hits, "hits_as_planned": self.as_planned, "is_sequence_as_planned": self.is_sequence_as_planned
        }  # fmt: skip


def tool_force(contacts: FloatArray) -> FloatArray:
    """Return the force (3,) on the object, N, of contacts (k, 7) above the ground (see `PlantState`)."""
    return np.asarray(contacts[contacts[:, 2] > ABOVE_GROUND_M, 3:6].sum(axis=0))


def planned_hits(plan: Plan, replacements: Sequence[tuple[float, Plan]] = ()) -> list[Hit]:
    """Return the hits of a plan, each replaced by those of the last plan that took over before it.

    Parameters
    ----------
    plan : Plan
        What was given.
    replacements : sequence of (float, Plan)
        Plans and the instants from which they were followed, s, in their order.
    """
    hits = _hits(0.0, plan)
    for start_s, later in replacements:
        hits = [hit for hit in hits if hit.t_s < start_s] + _hits(start_s, later)
    return hits


def _hits(start_s: float, plan: Plan) -> list[Hit]:
    """Return the hits of one plan; impulses of steps that follow one another are one hit."""
    sizes = plan.impulse_sizes
    ends, step_s = np.flatnonzero(sizes > 0.0), float(plan.provenance["step_s"])
    if not len(ends):
        return []
    pieces = np.split(ends, np.flatnonzero(np.diff(plan.times_s[ends]) > 1.5 * step_s) + 1)
    return [Hit(start_s + float(plan.times_s[p[0]]) - 0.5 * step_s, float(sizes[p].sum())) for p in pieces]


def measured_hits(t_s: FloatArray, force: FloatArray) -> list[Hit]:
    """Return the hits in a series of forces (n, 3), N, at regular instants (n,), s."""
    size = np.linalg.norm(force, axis=1)
    touching = np.flatnonzero(size > LEAST_FORCE_N)
    if not len(touching):
        return []
    step = float(t_s[1] - t_s[0])
    pieces = np.split(touching, np.flatnonzero(np.diff(touching) * step > SPLIT_S) + 1)
    return [Hit(float(t_s[p[0]]), step * float(np.linalg.norm(force[p[0] : p[-1] + 1].sum(axis=0)))) for p in pieces]


def check_contacts(
    plan: Plan, replacements: Sequence[tuple[float, Plan]], t_s: FloatArray, force: FloatArray
) -> ContactCheck:
    """Return planned against measured hits; see `planned_hits` and `measured_hits` for the arguments.

    What is planned for later than the last force is left out: the run ended before.
    """
    planned = [hit for hit in planned_hits(plan, replacements) if hit.t_s <= t_s[-1]]
    return ContactCheck(tuple(check_hits(planned, measured_hits(t_s, force))))


def check_hits(planned: Sequence[Hit], measured: Sequence[Hit]) -> list[HitCheck]:
    """Return planned and measured hits side by side, in their order."""
    count = max(len(planned), len(measured))
    pad: list[Hit | None] = [None] * count
    return [HitCheck(a, b) for a, b in zip([*planned, *pad][:count], [*measured, *pad][:count], strict=True)]
