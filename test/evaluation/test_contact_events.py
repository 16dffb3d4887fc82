"""Hits as planned and as measured: instants, impulses, order, and what replaces what."""

import numpy as np
import pytest

from contact_mpc.evaluation.contact_events import (
    Hit,
    check_contacts,
    check_hits,
    measured_hits,
    planned_hits,
    tool_force,
)
from contact_mpc.task.plan import Plan

STEP_S = 0.04


def plan_with_hits(impulses: dict[int, float], count: int = 20) -> Plan:
    """Return a plan of 2 cm instants whose impulses, N s, end the step at the given rows."""
    rows = np.zeros((count, 2, 3))
    for row, size in impulses.items():
        rows[row, 1, 0] = size
    zeros = np.zeros((count, 1))
    return Plan(0.5 * STEP_S * np.arange(count), zeros, zeros, zeros, rows, {"step_s": STEP_S})


def test_a_planned_hit_is_in_the_middle_of_its_step_and_steps_in_a_row_are_one() -> None:
    (one,) = planned_hits(plan_with_hits({6: 2.0}))
    assert (one.t_s, one.impulse_ns) == pytest.approx((0.12 - 0.02, 2.0))
    first, second = planned_hits(plan_with_hits({6: 2.0, 8: 0.5, 14: 1.0}))
    assert (first.t_s, first.impulse_ns, second.t_s) == pytest.approx((0.10, 2.5, 0.26))
    assert planned_hits(plan_with_hits({})) == []


def test_a_plan_that_takes_over_replaces_later_hits_alone() -> None:
    hits = planned_hits(plan_with_hits({4: 1.0, 14: 3.0}), [(0.2, plan_with_hits({6: 2.0}))])
    assert [hit.impulse_ns for hit in hits] == [1.0, 2.0]
    assert hits[1].t_s == pytest.approx(0.3)


def test_measured_hits_are_apart_by_a_pause_and_integrate_the_force() -> None:
    t_s = 1e-3 * np.arange(400)
    force = np.zeros((400, 3))
    force[100:120, 1] = -50.0
    force[130:140, 1] = -10.0  # bounces within 30 ms belong to it
    force[300:310, 1] = -20.0
    first, second = measured_hits(t_s, force)
    assert (first.t_s, first.impulse_ns) == pytest.approx((0.1, 1.1))
    assert (second.t_s, second.impulse_ns) == pytest.approx((0.3, 0.2))
    assert measured_hits(t_s, np.zeros((400, 3))) == []


def test_ground_contacts_are_no_force_of_the_tool() -> None:
    contacts = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 9.81, 1e-4], [0.0, 0.0, 0.1, 3.0, 0.0, 0.0, 1e-4]])
    np.testing.assert_array_equal(tool_force(contacts), [3.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("measured", "expected"),
    [(Hit(0.52, 1.9), True), (Hit(0.54, 2.0), False), (Hit(0.5, 2.5), False), (None, False)],
)
def test_a_hit_is_as_planned_within_30_ms_and_20_percent(measured: Hit | None, expected: bool) -> None:
    (check,) = check_hits([Hit(0.5, 2.0)], [] if measured is None else [measured])
    assert check.is_as_planned is expected


def test_a_hit_planned_for_after_the_end_is_not_missed() -> None:
    t_s, force = 1e-3 * np.arange(200), np.zeros((200, 3))
    force[100:110, 0] = 200.0
    contacts = check_contacts(plan_with_hits({6: 2.0}), [(0.15, plan_with_hits({8: 1.0}))], t_s, force)
    assert contacts.is_sequence_as_planned and contacts.as_planned == len(contacts.hits) == 1
    assert contacts.to_dict()["hits"][0]["is_as_planned"] is True
    longer = np.vstack([force, np.zeros((200, 3))])
    missed = check_contacts(plan_with_hits({6: 2.0}), [(0.15, plan_with_hits({8: 1.0}))], 1e-3 * np.arange(400), longer)
    assert not missed.is_sequence_as_planned and missed.as_planned == 1
