"""Experiments 2 and 3 of the paper: a contact that lasts, and a small and a large one."""

import numpy as np
import pytest

pytest.importorskip("casadi")
from contact_mpc.examples.claims.contact_sequences import (  # noqa: E402
    LASTING_STEPS,
    forces_of,
    run_lengths,
    solve_sequence,
)


def test_a_small_and_a_large_contact_carry_the_block_to_its_goal() -> None:
    result, planner, _ = solve_sequence("small and large")
    assert result.residuals is not None and result.residuals.largest < 1e-8
    force = forces_of(result, planner)
    small, large = force[force > 0.0]
    assert run_lengths(force) == [1, 1] and large > 1.5 * small > 1.0


def test_a_contact_lasts_for_eight_steps() -> None:
    result, planner, _ = solve_sequence("lasting")
    assert result.residuals is not None and result.residuals.largest < 1e-4
    force = forces_of(result, planner)
    assert run_lengths(force) == [LASTING_STEPS]
    assert force[force > 0.0].min() > planner.model.thing.breakaway_n / 2.0


def test_lengths_of_contacts_are_counted() -> None:
    assert run_lengths(np.array([0.0, 1.0, 2.0, 0.0, 3.0])) == [2, 1]
    assert run_lengths(np.zeros(3)) == []
