"""Cone programs of a step: laws of contact at the solution, limits, weight, and what has no solution."""

from collections.abc import Callable

import numpy as np
import pytest
from held_tasks import held_task

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.dynamics.exact.socp import solve_socp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import build_system

SYSTEMS = ("allegro_ball", "planar_hand_ball", "dumbbell", "door")
GAPS_M = (-3e-3, 5e-3)
ROUND_OFF_N = 1e-9  # of forces of up to about 100 N, after the solution was polished
NEWTON_TOLERANCE = 1e-24  # the smoothed step, too, is solved to round-off
CONVEX = ("socp", "qp")
EXACT = ("socp", "qp", "lcp")
QUASISTATIC = [name for name in FORMULATIONS if not FORMULATIONS.load(name).has_velocity]  # else M dv/dt joins in


def split(problem: StepProblem, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal (k,) and tangential (k, 3) parts of vectors (k, 3) at the contacts."""
    normal = np.sum(problem.n * x, axis=1)
    return normal, x - normal[:, None] * problem.n


@pytest.mark.parametrize("name", SYSTEMS)
def test_forces_balance_within_friction_cones_and_do_no_work_across_gaps(
    name: str, named_system: Callable, random_states: Callable
) -> None:
    dynamics = ContactDynamics(named_system(name), formulation="socp")
    for q, u in random_states(dynamics, 8, GAPS_M, seed=2):
        problem = dynamics.assemble(q, u)
        solution = solve_socp(problem)
        f_n, f_t = split(problem, solution.force)
        nu, d_t = split(problem, problem.displacements(solution.dq))
        slack = problem.phi + nu - problem.mu * np.linalg.norm(d_t, axis=1)
        assert np.abs(problem.force_balance(solution.dq, solution.force)).max() < ROUND_OFF_N
        assert np.all(problem.mu * f_n - np.linalg.norm(f_t, axis=1) > -ROUND_OFF_N)
        assert np.all(slack > -1e-10)
        np.testing.assert_allclose((problem.phi + nu) * f_n + np.sum(d_t * f_t, axis=1), 0.0, atol=1e-10)


def test_solution_does_not_depend_on_the_tangents(random_states: Callable, allegro: System) -> None:
    dynamics, rng = ContactDynamics(allegro, formulation="socp"), np.random.default_rng(0)
    for q, u in random_states(dynamics, 4, GAPS_M, seed=3):
        problem = dynamics.assemble(q, u)
        fields = {key: value for key, value in vars(problem).items() if key != "tangents"}
        turned = StepProblem(**{**fields, "reference": rng.normal(size=problem.n.shape)})
        first, second = solve_socp(problem), solve_socp(turned)
        np.testing.assert_allclose(first.dq, second.dq, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(first.force, second.force, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["allegro_ball", "planar_hand_ball"])
def test_log_barrier_tends_to_socp_with_order_one(name: str) -> None:
    task, kappas = held_task(name), np.array([1e4, 1e5, 1e6])
    q_a = task.start_q[task.system.n_q_u :]
    u = q_a + 5.0 * (task.start_u - q_a)  # a firm grasp: the gap of a light one, 2 / (kappa f), is larger
    exact = ContactDynamics(task.system, formulation="socp").step(task.start_q, u)
    errors = []
    for kappa in kappas:
        smooth = ContactDynamics(task.system, kappa=kappa).step(task.start_q, u)
        moved = task.system.difference(exact.q_next, smooth.q_next)[: task.system.n_v_u]
        errors.append(np.linalg.norm(moved[3:] if name == "allegro_ball" else moved[:2]))
    slope = np.polyfit(np.log(kappas), np.log(errors), 1)[0]
    print(f"{name}: object displacement off by {np.array(errors) * 1e3} mm, slope {slope:.3f}")
    assert slope == pytest.approx(-1.0, abs=0.1)
    assert errors[0] < 1e-4 and errors[1] < 1e-5


@pytest.mark.parametrize("formulation", QUASISTATIC)
@pytest.mark.parametrize("name, n_contacts", [("sphere_no_rotation", 1), ("allegro_ball", 3), ("box_pushing", 4)])
def test_object_at_rest_is_carried_by_its_contacts(
    formulation: str, name: str, n_contacts: int, named_system: Callable
) -> None:
    system = named_system(name)
    dynamics = ContactDynamics(
        system, formulation=formulation, regularization="quasistatic", tolerance=NEWTON_TOLERANCE
    )
    if name == "allegro_ball":
        task = held_task(name)
        u = task.start_u
        touching = ContactDynamics(system, formulation="socp", regularization="quasistatic")
        q = touching.step(task.start_q, u).q_next  # pivoting of the lcp ends on a ray while gaps are open
    else:
        q = system.q_default.copy()
        q[system.n_q_u] += 1.0  # the pusher is away
        u = q[system.n_q_u :]
    for _ in range(3):
        result = dynamics.step(q, u)
        assert result.is_converged
        q = result.q_next
    weight = -system.tree.mass[: len(system.tree.mass) - system.n_a].sum() * np.array(system.config.gravity_m_s2)
    force = result.impulses / dynamics.h_s
    if not FORMULATIONS.load(formulation).is_coulomb:  # pivoting takes as few of redundant contacts as carry the weight
        assert np.sum(np.linalg.norm(force, axis=1) > 1e-3 * np.linalg.norm(weight)) >= n_contacts
    np.testing.assert_allclose(force.sum(axis=0), weight, atol=1e-6 * np.linalg.norm(weight))


@pytest.mark.parametrize("formulation", QUASISTATIC)
def test_gripper_feels_the_force_on_the_ball_with_the_other_sign(formulation: str, named_system: Callable) -> None:
    system = named_system("parallel_gripper")
    values = {"left_x": (-0.1, -0.09), "right_x": (0.1, 0.09), "lift": (0.0, -0.004)}
    q_a, u = (np.array([values[name][k] for name in system.joint_names]) for k in (0, 1))
    dynamics = ContactDynamics(system, formulation=formulation, tolerance=NEWTON_TOLERANCE)
    result = dynamics.step(np.concatenate([[0.0, 0.1], q_a]), u)
    on_robot = system.kp * (u - result.q_next[2:])  # springs are stretched by what the ball pushes back
    links = [system.geometries[g].link for g in dynamics.model.pairs.geom_b]
    force = {link: f for link, f in zip(links, result.impulses / dynamics.h_s, strict=True)}
    expected = {
        "left_x": force["left_finger"][0],
        "right_x": force["right_finger"][0],
        "lift": force["left_finger"][2] + force["right_finger"][2],
    }
    np.testing.assert_allclose(on_robot, [expected[name] for name in system.joint_names], atol=1e-9)


@pytest.mark.parametrize("formulation", EXACT)
def test_free_object_falls_quasidynamically_and_is_unbalanced_quasistatically(
    formulation: str, allegro: System
) -> None:
    q = allegro.q_default.copy()
    q[6] += 1.0
    u = q[allegro.n_q_u :]
    fall = ContactDynamics(allegro, formulation=formulation, regularization="quasidynamic").step(q, u)
    assert fall.is_converged
    assert fall.q_next[6] - q[6] == pytest.approx(-9.81 * 0.1**2)
    static = ContactDynamics(allegro, formulation=formulation, regularization="quasistatic").step(q, u)
    assert static.status == "unbalanced" and not static.is_converged


@pytest.mark.parametrize("formulation", ["log_barrier", *EXACT])
@pytest.mark.parametrize("factor, status", [(0.99, "converged"), (1.01, "unbalanced")])
def test_sliding_starts_where_the_slope_exceeds_friction(
    formulation: str, factor: float, status: str, named_system: Callable
) -> None:
    system = named_system("sphere_no_rotation")
    slope = np.arctan(0.8 * factor)
    gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    tilted = build_system(system.config.model_copy(update={"gravity_m_s2": gravity}), system.path)
    q = tilted.q_default.copy()
    q[tilted.n_q_u] += 1.0
    dynamics = ContactDynamics(tilted, formulation=formulation, regularization="quasistatic", kappa=1e7)
    assert dynamics.step(q, q[tilted.n_q_u :]).status == status


@pytest.mark.parametrize("formulation", CONVEX)
def test_object_between_walls_that_are_too_near_is_infeasible(formulation: str, narrow_slot: System) -> None:
    dynamics = ContactDynamics(narrow_slot, formulation=formulation)
    result = dynamics.step(narrow_slot.q_default, np.zeros(1))
    assert result.status == "infeasible"
    assert np.all(np.isnan(result.q_next)) and np.all(np.isnan(result.impulses[result.gaps < 0.0]))
    assert not dynamics.linearize(narrow_slot.q_default, np.zeros(1)).is_differentiable


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"formulation": "sap"}, "formulation 'sap' is unknown; allowed: log_barrier, socp, qp, lcp"),
        ({"regularization": "dynamic"}, "regularization 'dynamic' of formulation log_barrier; allowed: quasidynamic"),
        ({"epsilon": 0.0}, r"epsilon = 0.0; expected a fraction in \(0, 1\]"),
        ({"formulation": "qp", "ray_count": 3}, "ray_count = 3; expected an even number"),
        ({"formulation": "lcp", "friction": -0.1}, "friction"),
        ({"formulation": "socp", "h_s": 0.0}, "h_s = 0.0"),
    ],
)
def test_settings_of_formulations_out_of_range_are_refused(arguments: dict, words: str, planar: System) -> None:
    with pytest.raises(InputError, match=words):
        ContactDynamics(planar, **arguments)


@pytest.mark.parametrize("formulation", EXACT)
def test_every_formulation_refuses_what_the_smoothed_step_refuses(formulation: str, allegro: System) -> None:
    dynamics, q, u = ContactDynamics(allegro, formulation=formulation), allegro.q_default, np.zeros(allegro.n_a)
    with pytest.raises(InputError, match="u has non-finite values"):
        dynamics.step(q, np.full(allegro.n_a, np.nan))
    with pytest.raises(InputError, match="a unit quaternion"):
        dynamics.step(q * np.where(np.arange(allegro.n_q) < 4, 1.01, 1.0), u)
    with pytest.raises(InputError, match="q has shape"):
        dynamics.step(q[:-1], u)


@pytest.mark.parametrize("formulation", ["log_barrier", *EXACT])
def test_start_deeper_than_a_centimetre_is_reported(formulation: str, allegro: System) -> None:
    task = held_task("allegro_ball")
    q = task.start_q.copy()
    q[6] -= 0.02
    assert ContactDynamics(allegro, formulation=formulation).step(q, task.start_u).status == "deep_penetration"
