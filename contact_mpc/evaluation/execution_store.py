"""Executions of plans on disk, one file each, so that a study of them may be made in pieces.

A file counts only for the key that it was written with, which holds all that an execution depends on: the sources of
the package, the plan, the problem, the way, the plant and its draws.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.errors import PlanError
from contact_mpc.evaluation.execution import Execution, to_row
from contact_mpc.evaluation.outcome_store import make_key
from contact_mpc.settings.array_files import read_arrays, write_arrays
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.task.plan import Plan

WHAT = "execution of a plan"
ARRAYS = ("times_s", "q")
UNKNOWN = ("angle_error_deg", "position_error_mm", "identified_friction", "identified_size")  # that may be NaN


def execution_key(plan: Plan, *parts: Any) -> str:
    """Return the key of an execution of a plan that depends on `parts` (JSON) as well."""
    motion = b"".join(np.ascontiguousarray(item).tobytes() for item in (plan.times_s, plan.q, plan.u))
    return make_key(hashlib.sha256(motion).hexdigest(), plan.provenance, *parts)


def load_execution(path: Path, key: str) -> tuple[Execution, float] | None:
    """Return a kept execution and its CPU time, s; None where there is none of this key."""
    if not path.is_file():
        return None
    try:
        row, arrays = read_arrays(path, WHAT, ARRAYS)
    except PlanError:  # damaged: it is made again
        return None
    if row.pop("key", None) != key:
        return None
    cpu_s = float(row.pop("cpu_s"))
    errors = {name: np.nan if row[name] is None else row[name] for name in UNKNOWN}
    return Execution(**{**row, **errors}, times_s=arrays["times_s"], q=arrays["q"]), cpu_s


def save_execution(path: Path, key: str, item: Execution, cpu_s: float) -> None:
    """Keep an execution; raises PlanError where its file cannot be written."""
    row = to_plain({**to_row(item), "key": key, "cpu_s": cpu_s})
    write_arrays(path, WHAT, row, {"times_s": item.times_s, "q": item.q})
