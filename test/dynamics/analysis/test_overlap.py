"""Overlaps of a model with a measured state are resolved by what has the least weight, and by no more than needed."""

import numpy as np
import pytest

from contact_mpc.dynamics.analysis.overlap import without_overlap
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.exact.step_problem import ProblemBuilder
from contact_mpc.model.system_builder import load_system

SYSTEM = load_system("planar_pushing")
MODEL = build_model(SYSTEM)
DEEPEST_M = 1e-4


def overlapping(depth_m: float) -> np.ndarray:
    """Return a pusher that overlaps the box, which stands at the origin, by a depth."""
    q = SYSTEM.q_default.copy()
    q[: SYSTEM.n_q_u] = 0.0
    q[SYSTEM.n_q_u :] = (-1.0, 0.0)
    gap = least_gap(q)
    q[SYSTEM.n_q_u] += gap + depth_m
    return q


def least_gap(q: np.ndarray) -> float:
    problem = ProblemBuilder(MODEL._replace(activation=10.0), q)
    return float(np.min(problem.build(q, q[SYSTEM.n_q_u :], np.zeros(len(MODEL.mu))).phi))


@pytest.mark.parametrize("object_weight", [1e4, 1e-4])
def test_what_is_lighter_gives_way_by_the_depth(object_weight: float) -> None:
    weight = np.where(np.arange(SYSTEM.n_v) < SYSTEM.n_v_u, object_weight, 1.0)
    q = overlapping(0.05)
    assert least_gap(q) == pytest.approx(-0.05, abs=1e-9)
    found = without_overlap(SYSTEM, MODEL, q, weight, DEEPEST_M)
    assert least_gap(found) >= -DEEPEST_M
    moved = np.abs(SYSTEM.difference(q, found))
    robot = np.linalg.norm(moved[SYSTEM.n_v_u :])
    box = np.linalg.norm(moved[: SYSTEM.n_v_u])
    light, heavy = (robot, box) if object_weight > 1.0 else (box, robot)
    assert light == pytest.approx(0.05, rel=0.01) and heavy < 1e-3


def test_what_does_not_overlap_stays() -> None:
    q = overlapping(-0.01)
    assert np.array_equal(without_overlap(SYSTEM, MODEL, q, np.ones(SYSTEM.n_v), DEEPEST_M), q)
