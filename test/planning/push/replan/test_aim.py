"""Where to hit a block so that it turns towards its goal, against a block that slides on four feet."""

import numpy as np
import pytest

from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.push.program.objects import Block, build_object
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.replan.aim import aim, turn_per_aim

FEET_M = np.array([[0.08, 0.12], [0.08, -0.12], [-0.08, 0.12], [-0.08, -0.12]])  # as in anypulator_block.urdf
STEP_S = 1e-4
SMALL_SPIN = 0.03  # relative: omega |x| is 6 % of v at most, and the error is of second order at its end alone
SETTINGS = ContactImplicitSettings(spin_decay=2.0)
LIMITS = SETTINGS.replan
ALONG_X = np.array([0.5, 0.1, 0.0])


@pytest.fixture(scope="module")
def block() -> Block:
    thing = build_object(load_system("anypulator_block"), edge_m=0.03)
    assert isinstance(thing, Block)
    return thing


def slide_on_feet(block: Block, speed: float, offset_m: float) -> tuple[float, float]:
    """Return travel and turn after a hit beside the centre: Coulomb friction, a quarter of the load on each foot."""
    mass, inertia = float(block.inertia[0]), float(block.inertia[2])
    v, omega, travel, turn = np.array([speed, 0.0]), -offset_m * mass * speed / inertia, 0.0, 0.0
    while v[0] > 0.0:
        slip = v + omega * np.column_stack([-FEET_M[:, 1], FEET_M[:, 0]])
        force = -0.25 * block.breakaway_n * slip / np.linalg.norm(slip, axis=1)[:, None]
        v = v + STEP_S * force.sum(axis=0) / mass
        omega += STEP_S * float((FEET_M[:, 0] * force[:, 1] - FEET_M[:, 1] * force[:, 0]).sum()) / inertia
        travel, turn = travel + STEP_S * v[0], turn + STEP_S * omega
    return travel, turn


@pytest.mark.parametrize("speed", [0.8, 1.8])
def test_a_block_on_four_feet_turns_as_the_formula_says(block: Block, speed: float) -> None:
    offset_m = 0.002
    travel, turn = slide_on_feet(block, speed, offset_m)
    spin_decay = float(block.inertia[0] * np.mean(FEET_M[:, 0] ** 2) / block.inertia[2])
    assert turn == pytest.approx(offset_m * turn_per_aim(block, spin_decay, travel), rel=SMALL_SPIN)


@pytest.mark.parametrize("across_m", [-0.015, 0.004, 0.02])
def test_a_block_hit_there_faces_the_goal_where_it_stops(block: Block, across_m: float) -> None:
    travel, goal = 0.5, ALONG_X + [0.65, across_m, 0.0]
    turn = aim(block, SETTINGS, ALONG_X, travel, goal) * turn_per_aim(block, SETTINGS.spin_decay, travel)
    assert np.tan(turn) == pytest.approx(across_m / 0.15, abs=1e-12)


def test_turned_block_and_goal_give_the_same_aim(block: Block) -> None:
    goal, angle = ALONG_X + [0.65, 0.02, 0.0], 0.7
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turned = R @ ALONG_X + [0.0, 0.0, angle]
    assert aim(block, SETTINGS, turned, 0.5, R @ goal) == pytest.approx(
        aim(block, SETTINGS, ALONG_X, 0.5, goal), rel=1e-12
    )


def test_turns_are_limited_and_nothing_is_steered_near_the_goal(block: Block) -> None:
    far_aside, near = ALONG_X + [0.6, 0.2, 0.0], ALONG_X + [0.52, 0.02, 0.0]
    turn = aim(block, SETTINGS, ALONG_X, 0.5, far_aside) * turn_per_aim(block, SETTINGS.spin_decay, 0.5)
    assert turn == pytest.approx(np.deg2rad(LIMITS.largest_turn_deg))
    assert aim(block, SETTINGS, ALONG_X, 0.5, near) == aim(block, SETTINGS, ALONG_X, 0.0, far_aside) == 0.0
    assert (
        aim(block, SETTINGS, ALONG_X, 0.05, far_aside - [0.45, 0.0, 0.0]) == -LIMITS.largest_share * block.half_width_m
    )
