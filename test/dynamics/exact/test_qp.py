"""Polyhedral friction cones: the same as the second-order cone in the plane, and in the limit of many rays."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.model.system import System
from contact_mpc.task.task import load_task

GAPS_M = (-3e-3, 5e-3)


@pytest.mark.parametrize("regularization", ["quasidynamic", "quasistatic"])
def test_two_rays_are_the_whole_cone_in_the_plane(regularization: str, planar: System, random_states: Callable) -> None:
    qp, socp = (ContactDynamics(planar, formulation=name, regularization=regularization) for name in ("qp", "socp"))
    compared = 0
    for q, u in random_states(ContactDynamics(planar, formulation="qp"), 12, GAPS_M, seed=4):
        first, second = qp.step(q, u), socp.step(q, u)
        if not first.is_converged:  # quasi-static, and the fingers do not hold the disc
            assert first.status == second.status
            continue
        compared += 1
        np.testing.assert_allclose(first.q_next, second.q_next, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(first.impulses, second.impulses, rtol=0.0, atol=1e-9)
    assert compared >= 6


def test_polyhedral_cone_tends_to_the_round_one_with_order_two(allegro: System) -> None:
    task, counts = load_task("allegro_ball"), np.array([8, 16, 32, 64])
    u = task.start_u + np.random.default_rng(1).normal(0.0, 0.05, allegro.n_a)  # some contacts slide
    exact = ContactDynamics(allegro, formulation="socp").step(task.start_q, u).q_next
    steps = [ContactDynamics(allegro, formulation="qp", ray_count=int(k)).step(task.start_q, u) for k in counts]
    errors = np.array([np.abs(allegro.difference(exact, step.q_next)).max() for step in steps])
    print(f"errors {errors} rad or m")
    # The bound 1 - cos(pi / k) of the cone's error is of order two; the error itself may be less, near a ray.
    assert np.all(errors < 0.5 * (1.0 - np.cos(np.pi / counts)))


@pytest.mark.parametrize("h_s", [0.01, 0.005])
def test_sliding_gripper_compresses_its_springs_by_the_hydroplaning_gap(h_s: float, named_system: Callable) -> None:
    """N = K (0.01 m + h mu v_t), shortly before the pull at 0.2 m/s ends."""
    force = squeeze_and_pull(named_system("parallel_gripper"), "qp", h_s, 0.15)
    assert force[0] == pytest.approx(1000.0 * (0.01 + h_s * 0.8 * 0.2), rel=0.01)


def test_lcp_keeps_sliding_fingers_closed_where_the_qp_does_not(named_system: Callable) -> None:
    """Seeds/001: 10 N per finger and 16 N of friction, sticking at 0.08 s and sliding at 0.15 s."""
    system = named_system("parallel_gripper")
    for formulation in ("lcp", "qp"):
        np.testing.assert_allclose(squeeze_and_pull(system, formulation, 0.01, 0.08), [10.0, 16.0], rtol=1e-3)
    np.testing.assert_allclose(squeeze_and_pull(system, "lcp", 0.01, 0.15), [10.0, 16.0], rtol=1e-3)


def squeeze_and_pull(system: System, formulation: str, h_s: float, time_s: float) -> np.ndarray:
    """Return the normal force of the left finger and the friction of both, N, after a pull of 0.2 m/s."""
    dynamics = ContactDynamics(system, formulation=formulation, h_s=h_s, regularization="quasistatic")
    order = [("left_x", "right_x", "lift").index(name) for name in system.joint_names]
    q = np.concatenate([[0.0, 0.1], np.array([-0.1, 0.1, 0.0])[order]])
    for k in range(1, round(time_s / h_s) + 1):
        result = dynamics.step(q, np.array([-0.09, 0.09, -0.2 * h_s * k])[order])
        assert result.is_converged
        q = result.q_next
    links = [system.geometries[g].link for g in dynamics.model.pairs.geom_b]
    left, right = (result.impulses[links.index(f"{side}_finger")] / h_s for side in ("left", "right"))
    return np.array([left[0], -left[2] - right[2]])
