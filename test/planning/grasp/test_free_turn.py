"""Turns that a grasp leaves: a ball between plates that slide, where they are known in closed form."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.model.system import System
from contact_mpc.planning.grasp.free_turn import FreeTurn, free_turns
from contact_mpc.planning.grasp.scene import make_scene

RADIUS_M, ROOM_M = 0.03, 0.02
LEVER_M = RADIUS_M / np.sqrt(2.0)  # of the contacts in the trough, below the ball's middle


@pytest.fixture(scope="module")
def plates(named_system: Callable[[str], System]) -> System:
    return named_system("plates")


def turns_by(plates: System, angle_rad: float, pairs: list[int]) -> list[FreeTurn]:
    return free_turns(plates, make_scene(plates), plates.q_default, np.array(pairs), angle_rad, 0.1)


def test_a_ball_rolls_between_plates_about_the_axis_across_them(plates: System) -> None:
    """Of all rolling, the motion is shortest whose ball moves by a third of what the plates do together."""
    ahead, back = turns_by(plates, 0.3, [0, 1, 2])
    for turn in (ahead, back):
        np.testing.assert_allclose(np.abs(turn.axis_W), [0.0, 1.0, 0.0], atol=1e-6)
        assert turn.angle_rad == pytest.approx(0.3, abs=1e-9)
        way_m = -turn.axis_W[1] * turn.angle_rad * (RADIUS_M - LEVER_M) / 3.0
        np.testing.assert_allclose(turn.way_m, [way_m, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(ahead.axis_W, -back.axis_W, atol=1e-9)


def test_a_turn_ends_where_a_plate_comes_to_the_end_of_its_slide(plates: System) -> None:
    lever_m = RADIUS_M - (RADIUS_M - LEVER_M) / 3.0  # of the upper plate, about the axis that the ball turns about
    for turn in turns_by(plates, 3.0, [0, 1, 2]):
        assert ROOM_M / lever_m - 0.04 <= turn.angle_rad <= ROOM_M / lever_m
