"""What can be pushed: gaps and faces against plane geometry, and what is refused."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.push.program.objects import Block, build_object


def test_block_without_friction_is_refused() -> None:
    system = load_system("anypulator_block")
    smooth = tuple(replace(pair, mu=0.0) for pair in system.pairs)
    with pytest.raises(ModelError, match="friction of the block with the ground is 0"):
        build_object(replace(system, pairs=smooth), edge_m=0.03)


def test_a_block_is_touched_on_the_plane_behind_its_centre() -> None:
    block = build_object(load_system("anypulator_block"), edge_m=0.03)
    assert isinstance(block, Block)
    w, turn, behind_m, beside_m, height_m = np.array([0.4, -0.2, 0.0]), 0.7, 0.25, 0.03, 0.1
    w[2] = turn
    n, t = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    p = np.append(w[:2] - behind_m * n + beside_m * t, height_m)
    gap = float(ca.evalf(block.gap(ca.SX(w), ca.SX(p), ca.SX(turn))))
    assert gap == pytest.approx(behind_m - block.half_depth_m)
    (aligned,) = block.aligned(ca.SX(w), ca.SX(p), ca.SX(turn))
    assert float(ca.evalf(aligned)) == pytest.approx(beside_m)
    top, side = (float(ca.evalf(item)) for item in block.face(ca.SX(w), ca.SX(p), ca.SX(turn)))
    assert top == pytest.approx(block.height_m - 0.03 - height_m)
    assert side == pytest.approx(block.half_width_m**2 - beside_m**2)


def test_a_touch_has_no_gap_and_is_on_the_central_line() -> None:
    block = build_object(load_system("anypulator_block"), edge_m=0.03)
    w, radius_m = np.array([0.3, 0.1, -0.4]), 0.02
    p = block.touch(w, w[2], np.array([0.0, 0.0, 0.1]), radius_m)
    gap = float(ca.evalf(block.gap(ca.SX(w), ca.SX(p), ca.SX(w[2]))))
    assert gap == pytest.approx(radius_m)
    assert float(ca.evalf(block.aligned(ca.SX(w), ca.SX(p), ca.SX(w[2]))[0])) == pytest.approx(0.0, abs=1e-12)
