"""Replay of a bag without ROS: the same core gets the recorded topics; do the same estimates and commands come out?"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from contact_mpc.bags.recompute_estimates import EstimateDifferences, compare_estimates, recompute_estimates
from contact_mpc.bags.recompute_plans import PlanDifferences, compare_plans, recompute_plans
from contact_mpc.bags.record import RunRecord
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.errors import BagError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.model.system import System

ESTIMATOR_TOPICS = ("joint_states", "object_pose", "estimated_joints", "estimated_odom")
TRACKER_TOPICS = ("estimated_joints", "estimated_odom", "references", "object_references", "plans")
UNORDERED = (
    "estimates are compared but not judged: the joint states do not name the object poses before them (realtime), so "
    "the order at the estimator is not known"
)
DEFAULT_TOLERANCE = 1e-9
DEFAULT_RATE_HZ = 200
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ReplaySettings:
    """What the nodes ran with.

    Attributes
    ----------
    estimator, tracker
        Their configs.
    estimate_rate_hz : int
        Rate of the estimates.
    tolerance : float
        Largest absolute difference that counts as the same, in the SI unit of each quantity.
    """

    estimator: EstimatorConfig
    tracker: TrackerConfig
    estimate_rate_hz: int = DEFAULT_RATE_HZ
    tolerance: float = DEFAULT_TOLERANCE


@dataclass(frozen=True)
class ReplayResult:
    """How far recomputed values are from the recorded ones.

    Attributes
    ----------
    estimates_max_abs_diff, mpc_commands_max_abs_diff : float or None
        Over all quantities; None where the bag lacks the topics for it (see `skipped`), infinite where one plan holds
        and the other does not.
    estimates_by_quantity, mpc_commands_by_quantity : dict
        The same by quantity.
    estimates, plans : int
        How many were compared.
    estimates_missing, plans_missing : int
        Recorded ones that could not be recomputed, since their inputs are not in the bag.
    hold_plans : int
        Compared plans that ask to hold.
    first_mismatch : str
        The first difference beyond the tolerance, or "".
    skipped : tuple of str
        What was not recomputed or is not judged, and why.
    is_reproduced : bool
        Of what is judged something was compared, nothing is beyond the tolerance, nothing is missing. Estimates are
        not judged beside plans where the bag does not tell the order of their inputs (realtime).
    """

    estimates_max_abs_diff: float | None
    mpc_commands_max_abs_diff: float | None
    estimates_by_quantity: dict[str, float]
    mpc_commands_by_quantity: dict[str, float]
    estimates: int
    plans: int
    estimates_missing: int
    plans_missing: int
    hold_plans: int
    first_mismatch: str
    skipped: tuple[str, ...]
    tolerance: float
    messages: int
    duration_s: float
    is_reproduced: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the values with the keys of ``--json``."""
        return asdict(self)


def replay_run(
    record: RunRecord, system: System, settings: ReplaySettings, progress: Progress | None = None
) -> ReplayResult:
    """Recompute estimates and MPC commands of a bag and compare them with the recorded ones.

    Parameters
    ----------
    record : RunRecord
        The bag; ground truth is not needed.
    system : System
        The system it was recorded with.
    settings : ReplaySettings
        Parameters of the nodes and the tolerance.
    progress : callable, optional
        Told (what, done, total) as the work goes on.

    Raises
    ------
    BagError
        The bag holds the topics of neither the estimator nor the tracker; names those that are missing.
    """
    tell = progress or _silent
    lacks = {what: _missing(record, names) for what, names in _NEEDS.items()}
    if all(lacks.values()):
        raise BagError("; ".join(lacks.values()))
    estimates, plans = None, None
    if not lacks["estimates"]:
        count = len(record.joint_states or ())
        states = recompute_estimates(
            record, system, settings.estimator, settings.estimate_rate_hz, lambda n: tell("estimates", n + 1, count)
        )
        estimates = compare_estimates(record, system, states, settings.tolerance)
    if not lacks["plans"]:
        total = len(record.plans)
        pairs = recompute_plans(record, system, settings.tracker, lambda n: tell("plans", n + 1, total))
        plans = compare_plans(pairs, system, settings.tolerance)
    judged: list[EstimateDifferences | PlanDifferences] = [part for part in (estimates, plans) if part is not None]
    notes = [why for why in lacks.values() if why]
    if estimates is not None and plans is not None and not _is_ordered(record):
        judged = [plans]
        notes.append(UNORDERED)
    mismatches = [part.first_mismatch for part in judged if part.first_mismatch]
    missing = sum(part.missing for part in judged)
    return ReplayResult(
        estimates_max_abs_diff=estimates.largest if estimates else None,
        mpc_commands_max_abs_diff=plans.largest if plans else None,
        estimates_by_quantity=estimates.max_abs if estimates else {},
        mpc_commands_by_quantity=plans.max_abs if plans else {},
        estimates=estimates.compared if estimates else 0,
        plans=plans.compared if plans else 0,
        estimates_missing=estimates.missing if estimates else 0,
        plans_missing=plans.missing if plans else 0,
        hold_plans=plans.holds if plans else 0,
        first_mismatch=mismatches[0] if mismatches else "",
        skipped=tuple(notes),
        tolerance=settings.tolerance,
        messages=record.messages,
        duration_s=record.duration_s,
        is_reproduced=not mismatches and not missing and any(part.compared for part in judged),
    )


_NEEDS = {"estimates": ESTIMATOR_TOPICS, "plans": TRACKER_TOPICS}


def _missing(record: RunRecord, names: tuple[str, ...]) -> str:
    """Return what the bag lacks among the series called `names`, or ""."""
    try:
        record.need(*names)
    except BagError as error:
        return str(error)
    return ""


def _is_ordered(record: RunRecord) -> bool:
    """Whether the joint states say which object poses came before them."""
    return record.joint_states is not None and bool((record.joint_states.pose_stamp_ns >= 0).any())


def _silent(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""
