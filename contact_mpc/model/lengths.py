"""Lengths that make the directions of tangent space comparable: of a rotation the way of a point at a distance."""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import System

ARM_M = 0.05  # of a hand's objects: the way per angle of a point at their surface


def tangent_lengths(system: System) -> NDArray[np.float64]:
    """Return (n_v,): `ARM_M` for rotations, m/rad, 1 for translations."""
    return np.where(system.tree.dof_kind == REVOLUTE, ARM_M, 1.0)
