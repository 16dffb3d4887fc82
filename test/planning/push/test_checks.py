"""Starts and goals that no plan can have are refused before anything is solved."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": 100.0}, r"goes 3\.311 m at most"),
        ({"goal": -100.0}, "a push needs > 0"),
        ({"goal": np.nan}, "non-finite"),
    ],  # fmt: skip
)
def test_goals_out_of_reach_are_refused(
    planner: ContactImplicitPlanner, instance: Instance, change: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        planner.plan(replace(instance, **change))


def test_starts_that_cannot_be_are_refused(planner: ContactImplicitPlanner, instance: Instance) -> None:
    inside, outside, fast, low = (instance.x_0.copy() for _ in range(4))
    inside[5:7] = planner.geometry.head(inside[:5])[0][:2]
    outside[1] = 2.5
    fast[8] = 13.0
    low[1] += 0.2
    for x_0, message in (
        (inside, "inside the object or in front of its face"), (outside, r"joint sh_fle = 2\.5000 rad is outside"),
        (fast, r"sh_rot moves at 13\.000 rad/s"), (low, "the tool's head is .* m high"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            planner.plan(replace(instance, x_0=x_0))
