"""Reachable sets of a disc: the limit of sub-level sets, larger with more contacts."""

from contact_mpc.examples.claims.reachable_sets import STATES, reachable_sets
from contact_mpc.examples.result import Settings


def test_sets_agree_and_grow_with_contacts() -> None:
    result = reachable_sets(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    assert 0.5 < result.figures[next(iter(STATES))]["steps_over_linear"] < 1.5
