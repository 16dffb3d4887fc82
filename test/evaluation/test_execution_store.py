"""Executions on disk: they come back as they were for the same key, and are made again for another or where damaged."""

from pathlib import Path

import numpy as np

from contact_mpc.evaluation.execution import Execution
from contact_mpc.evaluation.execution_store import execution_key, load_execution, save_execution
from contact_mpc.task.plan import Plan

PLAN = Plan(np.arange(2.0), np.zeros((2, 3)), np.ones((2, 2)), np.zeros((2, 2)), np.zeros((2, 0, 3)), {"seed": 1})


def test_execution_comes_back_for_its_key_alone(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    kept = Execution("played", False, True, np.nan, 3.5, 2.0, "lost", np.arange(4.0), np.ones((4, 3)))
    key = execution_key(PLAN, "played", 3)
    assert load_execution(file, key) is None
    save_execution(file, key, kept, 12.5)
    found = load_execution(file, key)
    assert found is not None and found[1] == 12.5
    for name, value in vars(kept).items():
        np.testing.assert_array_equal(getattr(found[0], name), value)
    assert load_execution(file, execution_key(PLAN, "played", 4)) is None


def test_another_plan_of_the_same_record_has_another_key() -> None:
    other = Plan(PLAN.times_s, PLAN.q, 2.0 * PLAN.u, PLAN.tau_ff, PLAN.contact_impulses, PLAN.provenance)
    assert execution_key(other, 1) != execution_key(PLAN, 1) == execution_key(PLAN, 1)


def test_damaged_file_is_no_execution(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    file.write_bytes(b"PK\x03\x04 cut off")
    assert load_execution(file, "key") is None
