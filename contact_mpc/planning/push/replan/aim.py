"""Where a push hits the face of a block, so that the next push, along the face's normal, leads to the goal.

The tool is frictionless: it pushes along the normal of the face, wherever it hits. A block that stands beside the line
to its goal is brought there by two pushes, the first of which turns it. An impulse J = m v_0 at b from the central line
turns it at omega_0 = -b J / I, and friction with the ground slows that down while it slides, v = v_0 - a t:

    I d(omega)/dt = -m a <x^2> omega / v,   omega = omega_0 (v / v_0)^p,   p = m <x^2> / I
    turn = -2 b m D / (I (1 + p)),   D = v_0^2 / (2 a)

with D the travel: for a given one neither friction nor speed matter. <x^2>, the mean square of how far before or behind
its centre the points are that carry it, holds for Coulomb friction under even loads: what slips across at omega x is
slowed against its own velocity. Loads are not even where feet hop, so p is a parameter. Wrong where omega |x| is not
small beside v.
"""

import numpy as np

from contact_mpc.planning.push.program.objects import Block
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.settings.arrays import FloatArray


def turn_per_aim(block: Block, spin_decay: float, travel: float) -> float:
    """Return by how much a hit turns a block that it moves by a travel, m, per offset of the hit, rad/m."""
    mass, inertia = float(block.inertia[0]), float(block.inertia[2])
    return -2.0 * mass * travel / (inertia * (1.0 + spin_decay))


def aim(block: Block, settings: ContactImplicitSettings, w: FloatArray, travel: float, goal_w: FloatArray) -> float:
    """Return where to hit a block at w (3,), m beside its central line, to face goal_w (3,) after a travel, m.

    0 where it is then too near to the goal, or does not move.
    """
    config = settings.replan
    n = np.array([np.cos(w[2]), np.sin(w[2])])
    left = goal_w[:2] - w[:2] - travel * n
    along, across = float(n @ left), float(n[0] * left[1] - n[1] * left[0])
    if along < config.least_left_m or travel <= 0.0:
        return 0.0
    largest_rad = np.deg2rad(config.largest_turn_deg)
    turn = float(np.clip(np.arctan2(across, along), -largest_rad, largest_rad))
    largest_m = config.largest_share * block.half_width_m
    return float(np.clip(turn / turn_per_aim(block, settings.spin_decay, travel), -largest_m, largest_m))
