"""The published results: gripper, cube, ball, pusher, and small versions of the comparisons with Drake."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.examples.box_pushing import WEIGHT_N, box_pushing
from contact_mpc.examples.cube import figures_of as cube_figures
from contact_mpc.examples.cube import simulate_cube
from contact_mpc.examples.parallel_gripper import figures_of, fingers, fit_order, simulate_gripper
from contact_mpc.examples.pusher_1d import (
    GAP_M,
    H_S,
    MASS_KG,
    STIFFNESS_N_PER_M,
    exact_displacement,
    pusher_1d,
    smoothed_displacement,
)
from contact_mpc.examples.registry import EXAMPLES, run_example
from contact_mpc.examples.result import Row, Settings, relative_row
from contact_mpc.examples.sphere_no_rotation import figures_of as ball_figures
from contact_mpc.examples.sphere_no_rotation import simulate_ball
from contact_mpc.examples.step_size import step_size
from contact_mpc.model.system_builder import load_system

STEPS_H_S = (0.01, 0.005, 0.001)


@cache
def gripper(formulation: str, h_s: float) -> Any:
    return simulate_gripper(formulation, h_s)


@pytest.mark.parametrize("formulation", ["lcp", "qp", "socp"])
def test_gripper_sticks_with_10_n_and_16_n_of_friction_at_80_ms(formulation: str) -> None:
    found = figures_of(gripper(formulation, 0.001), 0.001)
    assert found["sticking_normal_n"] == pytest.approx(10.0, rel=0.005)
    assert found["sticking_friction_n"] == pytest.approx(16.0, rel=0.005)


@pytest.mark.parametrize("formulation", ["lcp", "qp", "socp"])
def test_friction_of_the_gripper_grows_with_the_stretch_of_its_spring(formulation: str) -> None:
    run = gripper(formulation, 0.001)
    pair = fingers(load_system("parallel_gripper"))
    sticking = run.times_s < 0.079
    friction = run.friction[sticking][:, pair, 2].sum(axis=1)  # of the fingers on the ball, which they pull down
    np.testing.assert_allclose(-friction, 1000.0 * 0.2 * run.times_s[sticking], atol=1e-3)


def test_lcp_keeps_coulombs_forces_while_sliding() -> None:
    run = gripper("lcp", 0.001)
    pair = fingers(load_system("parallel_gripper"))
    sliding = (run.times_s > 0.0815) & (run.times_s < 0.1495)
    np.testing.assert_allclose(run.normal_force[sliding][:, pair], 10.0, rtol=0.01)
    np.testing.assert_allclose(np.abs(run.friction[sliding][:, pair, 2].sum(axis=1)), 16.0, rtol=0.01)
    assert np.all(run.gap[:, pair] < 1e-9)


@pytest.mark.parametrize("h_s", STEPS_H_S)
def test_sliding_qp_presses_with_the_gap_of_its_step(h_s: float) -> None:
    found = figures_of(gripper("qp", h_s), h_s)
    assert found["hydroplaning_error"] < 0.01
    assert found["sliding_normal_settled_n"] == pytest.approx(1000.0 * (0.01 + h_s * 0.8 * 0.2), rel=0.01)


def test_excess_force_of_the_qp_is_first_order_in_h() -> None:
    found = [figures_of(gripper("qp", h), h)["sliding_normal_settled_n"] - 10.0 for h in STEPS_H_S]
    assert fit_order(np.array(STEPS_H_S), np.array(found)) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("formulation", ["lcp", "qp", "socp"])
def test_gripper_ends_14_mm_below_its_start(formulation: str) -> None:
    assert figures_of(gripper(formulation, 0.001), 0.001)["final_height_m"] == pytest.approx(-0.0140, abs=5e-5)


@pytest.mark.parametrize(("formulation", "end_s"), [("lcp", 0.151), ("qp", 0.16)])
def test_contact_of_the_gripper_sticks_slides_sticks(formulation: str, end_s: float) -> None:
    changes = gripper(formulation, 0.001).transitions(fingers(load_system("parallel_gripper"))[0])
    assert [mode for _, mode in changes] == ["sticking", "sliding", "sticking"]
    assert changes[1][0] == pytest.approx(0.081, abs=0.0015)
    assert changes[2][0] == pytest.approx(end_s, abs=0.01)


def test_slippery_cube_slides_upright() -> None:
    run = simulate_cube("qp", 0.002, 0.1, 0.4)
    found = cube_figures(run)
    assert found["status"] == "converged"
    assert abs(found["end_angle_deg"]) < 0.01
    assert -found["ground_friction_n"] == pytest.approx(0.1 * 9.81, rel=0.01)


@pytest.mark.parametrize("formulation", ["qp", "lcp"])
def test_tipped_cube_loses_its_force_balance_at_45_degrees(formulation: str) -> None:
    found = cube_figures(simulate_cube(formulation, 0.002, 0.8))
    assert found["status"] == "unbalanced"
    assert found["end_angle_deg"] == pytest.approx(45.0, abs=1.0)
    assert found["deepest_penetration_m"] < 1e-4


def test_cube_is_pushed_with_half_its_weight_over_the_height_of_the_push() -> None:
    """Torques about the edge: F 0.19 m = W 0.1 m where the cube is about to tip."""
    run = simulate_cube("lcp", 0.002, 0.8, 0.06)
    system = load_system("cube")
    owners = [system.geometries[system.pairs[item.pair].geometry_b].owner for item in system.contacts]
    pusher = [c for c, owner in enumerate(owners) if owner == "pusher"]
    assert run.normal_force[-1, pusher].sum() == pytest.approx(9.81 * 0.1 / 0.19, rel=0.03)


def test_wobble_of_the_ball_shrinks_with_h_and_the_lcp_has_none() -> None:
    coarse, fine = (ball_figures(simulate_ball("qp", h), h) for h in (0.02, 0.002))
    assert coarse["force_amplitude_n"] / fine["force_amplitude_n"] == pytest.approx(10.0, rel=0.05)
    assert coarse["settling_time_s"] > 5.0 * fine["settling_time_s"] > 0.0
    assert ball_figures(simulate_ball("lcp", 0.02), 0.02)["force_amplitude_n"] < 1e-6


def test_ball_lifts_by_h_mu_v() -> None:
    assert ball_figures(simulate_ball("qp", 0.01), 0.01)["gap_amplitude_m"] == pytest.approx(0.01 * 0.8 * 0.1, rel=1e-3)


def test_exact_and_smoothed_pusher_meet_their_closed_forms() -> None:
    result = pusher_1d(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    assert result.figures["exact_error_m"] < 1e-7
    assert result.figures["smoothed_error_m"] < 1e-9


def test_closed_form_of_the_pusher_balances_its_forces() -> None:
    """Spring K (s - dq_a), force 2 / (kappa d) and inertia m dq_u / h^2 are equal, with d the new gap."""
    s, kappa = np.array([-0.01, 0.02, 0.06]), 1e3
    dq_u = smoothed_displacement(s, GAP_M, H_S, kappa)
    force = MASS_KG / H_S**2 * dq_u
    d = GAP_M + dq_u - (s - force / STIFFNESS_N_PER_M)
    np.testing.assert_allclose(force, 2.0 / (kappa * d), rtol=1e-12)
    np.testing.assert_allclose(smoothed_displacement(s, GAP_M, H_S, 1e12), exact_displacement(s, GAP_M, H_S), atol=1e-5)


@pytest.mark.drake
def test_pushed_box_moves_as_in_drake() -> None:
    pytest.importorskip("pydrake")
    found = box_pushing(Settings(h_s=0.02), duration_s=1.6).figures
    assert found["status"] == "converged"
    assert found["position_difference_held_m"] < 0.005
    assert found["angle_difference_held_deg"] < 1.0
    assert found["ground_normal_at_rest_n"] == pytest.approx(WEIGHT_N, rel=0.01)
    modes = [mode for _, mode in found["ground_modes"]]
    assert modes[:3] == ["sticking", "sliding", "sticking"]


@pytest.mark.drake
def test_large_steps_keep_the_quasi_static_box_out_of_its_pusher_but_not_saps() -> None:
    pytest.importorskip("pydrake")
    found = step_size(Settings(h_s=0.1), duration_s=1.2).figures["runs"]
    runs = {item["method"]: item for item in found}
    assert runs["CQDC"]["penetration_m"] < 1e-6
    assert runs["SAP"]["penetration_m"] > 0.01
    assert runs["CQDC"]["error_end_m"] < 0.01 < runs["SAP"]["error_largest_m"]
    assert runs["CQDC"]["lift_m"] == pytest.approx(0.1 * 0.6 * 0.15, rel=0.05)  # h mu v_t


def test_unknown_example_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="'parallel_griper'; did you mean 'parallel_gripper'"):
        run_example("parallel_griper", Settings())


@pytest.mark.parametrize("name", EXAMPLES)
def test_wrong_formulation_and_step_are_refused_before_anything_runs(name: str) -> None:
    none = "has neither a formulation nor a time step"  # of an example that steps nothing
    with pytest.raises(InputError, match=f"formulation 'newton' in example|{none}"):
        run_example(name, Settings("newton"))
    with pytest.raises(InputError, match=f"h = -0.1 s in example .* expected a time step from|{none}"):
        run_example(name, Settings(None, -0.1))
    with pytest.raises(InputError, match=f"h = 100.0 s in example|{none}"):
        run_example(name, Settings(None, 100.0))


def test_lines_compare_within_their_tolerance() -> None:
    assert relative_row("N", 10.04, 10.0, 0.005, "N").is_met is True
    assert relative_row("N", 9.94, 10.0, 0.005, "N") == Row("N", "9.94 N", "10 N within 0.5 %", False)
