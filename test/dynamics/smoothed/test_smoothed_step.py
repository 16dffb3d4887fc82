"""The smoothed step against other solvers of the same problem and against mechanics."""

import copy
import dataclasses
from collections.abc import Callable

import clarabel
import numpy as np
import pytest
from held_tasks import held_task
from scipy.optimize import minimize
from scipy.sparse import csc_matrix
from scipy.spatial.transform import Rotation

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.dynamics.smoothed.newton import make_newton, prepare_step
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import build_system

SYSTEMS = ("allegro_ball", "planar_hand_ball", "dumbbell", "door")
APART = (5e-4, 5e-3)
FRAME_TOLERANCE = 1e-9  # relative; round-off of the Newton solve


@dataclasses.dataclass
class Problem:
    """min 1/2 x'Qx + b'x over the cones |mu (d - n n'd)| <= phi + n'd, d = J x, of the active contacts."""

    Q: np.ndarray
    b: np.ndarray
    J: np.ndarray
    n: np.ndarray
    phi: np.ndarray
    mu: np.ndarray

    @staticmethod
    def build(dynamics: ContactDynamics, q: np.ndarray, u: np.ndarray) -> "Problem":
        model, system = dynamics.model, dynamics.system
        ws = make_newton(model)
        prepare_step(model, ws, q, u, np.zeros(len(model.mu)))
        J = np.zeros((len(model.mu), 3, system.n_v))
        for c, count in enumerate(model.pairs.dof_count):
            J[c][:, model.pairs.dofs[c, :count]] = ws.con.J[c, :count].T
        active = ws.con.phi < model.activation
        return Problem(ws.Q.copy(), ws.b.copy(), J[active], ws.con.n[active], ws.con.phi[active], model.mu[active])

    def objective(self, x: np.ndarray, kappa: float) -> complex:
        """Value of the smoothed problem; analytic in x, so that complex steps differentiate it exactly."""
        d = np.einsum("cid,d->ci", self.J, x)
        nu = np.einsum("ci,ci->c", self.n, d)
        D = (self.phi + nu) ** 2 - self.mu**2 * (np.einsum("ci,ci->c", d, d) - nu**2)
        if np.any(np.real(D) <= 0.0) or np.any(np.real(self.phi + nu) <= 0.0):
            return complex(np.inf)
        return complex(0.5 * x @ self.Q @ x + self.b @ x - np.sum(np.log(D)) / kappa)

    def solve_cones(self) -> np.ndarray:
        rows, n_c = [], len(self.phi)
        for J, n, mu in zip(self.J, self.n, self.mu, strict=True):
            rows += [n @ J, mu * (np.eye(3) - np.outer(n, n)) @ J]
        right = np.zeros(4 * n_c)
        right[::4] = self.phi
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        cones = [clarabel.SecondOrderConeT(4)] * n_c
        solver = clarabel.DefaultSolver(
            csc_matrix(np.triu(self.Q)), self.b, csc_matrix(-np.vstack(rows)), right, cones, settings
        )
        solution = solver.solve()
        assert str(solution.status) in ("Solved", "AlmostSolved")
        return np.array(solution.x)


@pytest.mark.parametrize("name", SYSTEMS)
def test_step_tends_to_the_cone_program_with_order_one(
    name: str, named_system: Callable, random_states: Callable
) -> None:
    system = named_system(name)
    kappas, slopes = np.array([1e5, 1e6, 1e7]), []
    for q, u in random_states(ContactDynamics(system), 5, APART, seed=2):
        exact = Problem.build(ContactDynamics(system), q, u).solve_cones()
        errors = []
        for kappa in kappas:
            result = ContactDynamics(system, kappa=kappa).step(q, u)
            assert result.is_converged
            errors.append(np.abs(system.difference(q, result.q_next) - exact).max())
        assert errors[-1] < 1e-4
        slopes.append(np.polyfit(np.log(kappas), np.log(errors), 1)[0])
    print(f"{name}: slopes of log error over log kappa {np.round(slopes, 3)}")
    assert np.median(slopes) == pytest.approx(-1.0, abs=0.1)


@pytest.mark.parametrize("name", SYSTEMS)
def test_step_is_the_minimum_that_a_general_optimiser_finds(
    name: str, named_system: Callable, random_states: Callable
) -> None:
    dynamics = ContactDynamics(named_system(name), kappa=1e3)
    for q, u in random_states(dynamics, 2, APART, seed=3, deepest=-5e-4):
        problem, n_v = Problem.build(dynamics, q, u), dynamics.system.n_v
        scale = np.linalg.inv(np.linalg.cholesky(problem.Q)).T  # Q becomes the identity

        def value(y: np.ndarray, problem=problem, scale=scale) -> float:
            return problem.objective(scale @ y, 1e3).real

        def gradient(y: np.ndarray, problem=problem, scale=scale, n_v=n_v) -> np.ndarray:
            steps = 1e-20j * np.eye(n_v)
            return np.array([problem.objective(scale @ (y + step), 1e3).imag for step in steps]) / 1e-20

        found = minimize(value, np.zeros(n_v), jac=gradient, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
        dq = dynamics.system.difference(q, dynamics.step(q, u).q_next)
        assert np.linalg.norm(gradient(np.linalg.solve(scale, dq))) < 1e-7
        np.testing.assert_allclose(dq, scale @ found.x, atol=1e-6)


def masses_and_momenta(system: System, q: np.ndarray, q_next: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre of mass, displacement of it, of the one free body of a system."""
    R, p = forward_kinematics(system.tree, q)
    dq = system.difference(q, q_next)
    arm = R[0] @ system.tree.p_BC[0]
    return float(system.tree.mass[0]), p[0] + arm, dq[3:6] + np.cross(dq[:3], arm)


@pytest.mark.parametrize("name", ["allegro_ball", "dumbbell"])
def test_contact_forces_and_weight_move_the_free_body(
    name: str, named_system: Callable, random_states: Callable
) -> None:
    """Newton and Euler: sum of forces = m a, sum of moments about the centre of mass = I dw / h^2."""
    system = named_system(name)
    dynamics = ContactDynamics(system)
    h, gravity = system.config.h_s, np.array(system.config.gravity_m_s2)
    ws = make_newton(dynamics.model)
    for q, u in random_states(dynamics, 5, APART, seed=4):
        result = dynamics.step(q, u)
        prepare_step(dynamics.model, ws, q, u, np.zeros(len(dynamics.model.mu)))
        forces, points = result.impulses / h, ws.con.p
        mass, centre, moved = masses_and_momenta(system, q, result.q_next)
        np.testing.assert_allclose(forces.sum(axis=0) + mass * gravity, mass * moved / h**2, atol=1e-6)
        R = forward_kinematics(system.tree, q)[0][0]
        turned = R @ system.tree.inertia_BC[0] @ R.T @ system.difference(q, result.q_next)[:3]
        np.testing.assert_allclose(np.cross(points - centre, forces).sum(axis=0), turned / h**2, atol=1e-6)


def test_ball_at_rest_in_the_hand_is_carried_by_its_fingers() -> None:
    task = held_task("allegro_ball")
    dynamics, q = ContactDynamics(task.system), task.start_q
    for _ in range(600):  # the fingers roll the ball until the grasp has settled
        result = dynamics.step(q, task.start_u)
        moved, q = np.abs(task.system.difference(q, result.q_next)).max(), result.q_next
    assert moved < 1e-8
    total = result.impulses.sum(axis=0) / task.system.config.h_s
    np.testing.assert_allclose(total, [0.0, 0.0, 0.1 * 9.81], atol=1e-6)


@pytest.mark.parametrize("name", SYSTEMS)
def test_fingers_feel_what_the_object_feels_with_the_other_sign(
    name: str, named_system: Callable, random_states: Callable
) -> None:
    """Joint springs balance the reaction: Kp (u - q_next) + J_a' (-f) = 0, with J_a by differences of kinematics."""
    system = named_system(name)
    dynamics = ContactDynamics(system)
    ws, n_u, step = make_newton(dynamics.model), system.n_v_u, 1e-6
    for q, u in random_states(dynamics, 3, APART, seed=5):
        result = dynamics.step(q, u)
        prepare_step(dynamics.model, ws, q, u, np.zeros(len(dynamics.model.mu)))
        tau, points = system.kp * (u - result.q_next[system.n_q_u :]), ws.con.p
        R0, p0 = forward_kinematics(system.tree, q)
        for j in range(system.n_a):
            dq = step * np.eye(system.n_v)[n_u + j]
            ends = [forward_kinematics(system.tree, system.integrate(q, s * dq)) for s in (1.0, -1.0)]
            for c, pair in enumerate(system.pairs):
                body = system.geometries[pair.geometry_b].body
                if body >= 0:
                    local = R0[body].T @ (points[c] - p0[body])
                    above, below = (R[body] @ local + p[body] for R, p in ends)
                    tau[j] -= (above - below) @ result.impulses[c] / (2.0 * step * system.config.h_s)
        np.testing.assert_allclose(tau, 0.0, atol=1e-6)


def turned_system(system: System, R: Rotation, t: np.ndarray) -> System:
    """The same robots, objects and gravity, seen from a world frame that is turned and shifted."""

    def pose(position: tuple, rpy: tuple) -> tuple[tuple, tuple]:
        turned = R * Rotation.from_euler("xyz", rpy)
        return tuple(R.apply(position) + t), tuple(turned.as_euler("xyz"))

    robots, objects = [], []
    for item in system.config.robots:
        p, rpy = pose(item.base_position_m, item.base_rpy_rad)
        robots.append(item.model_copy(update={"base_position_m": p, "base_rpy_rad": rpy}))
    for item in system.config.objects:
        p, rpy = pose(item.position_m, item.rpy_rad)
        objects.append(item.model_copy(update={"position_m": p, "rpy_rad": rpy}))
    update = {"robots": tuple(robots), "objects": tuple(objects)}
    update["gravity_m_s2"] = tuple(R.apply(system.config.gravity_m_s2))
    return build_system(system.config.model_copy(update=update), system.path)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", [*SYSTEMS, "nunchaku"])
def test_results_do_not_depend_on_the_world_frame(
    name: str, formulation: str, named_system: Callable, random_states: Callable
) -> None:
    """Not even the rays of the polyhedral cone: they turn with the bodies."""
    system = named_system(name)
    # Penetrations may leave an lcp without a solution; quasi-static, it would need a grasp.
    gaps_m, deepest_m = ((0.0, 5e-3), 0.0) if FORMULATIONS.load(formulation).is_coulomb else ((-2e-3, 5e-3), 3e-3)
    R, t = Rotation.from_rotvec([0.7, -1.1, 0.4]), np.array([0.3, -0.2, 0.5])
    dynamics, other = (
        ContactDynamics(item, formulation=formulation, regularization="quasidynamic")
        for item in (system, turned_system(system, R, t))
    )
    T = np.eye(system.n_v)
    is_free = system.config.objects[0].mobility == "free"
    if is_free:
        T[:3, :3] = T[3:6, 3:6] = R.as_matrix()
    for q, u in random_states(dynamics, 3, gaps_m, seed=6, deepest=deepest_m):
        q_turned = copy.copy(q)
        if is_free:
            q_turned[:4] = np.roll((R * Rotation.from_quat(np.roll(q[:4], -1))).as_quat(), 1)
            q_turned[4:7] = R.apply(q[4:7]) + t
        here, there = dynamics.step(q, u), other.step(q_turned, u)
        compared = [
            (T @ system.difference(q, here.q_next), other.system.difference(q_turned, there.q_next)),
            (R.apply(here.impulses), there.impulses),
        ]
        if FORMULATIONS.load(formulation).is_differentiable:
            A_B, A_B_turned = dynamics.linearize(q, u), other.linearize(q_turned, u)
            compared += [(T @ A_B.A @ T.T, A_B_turned.A), (T @ A_B.B, A_B_turned.B)]
        for expected, found in compared:
            np.testing.assert_allclose(found, expected, atol=FRAME_TOLERANCE * max(1.0, np.abs(expected).max()))


def test_offset_of_the_gaps_acts_like_a_larger_gap(planar: System, random_states: Callable) -> None:
    dynamics = ContactDynamics(planar)
    q, u = random_states(dynamics, 1, (-3e-3, -1e-3), seed=7)[0]
    raised = np.maximum(1e-4 - dynamics.step(q, u).gaps, 0.0)
    pushed, calm = dynamics.step(q, u), dynamics.step(q, u, raised)
    assert np.linalg.norm(calm.impulses) < np.linalg.norm(pushed.impulses)
    np.testing.assert_array_equal(calm.gaps, pushed.gaps)


def test_pairs_beyond_the_activation_distance_do_not_push(named_system: Callable) -> None:
    dynamics = ContactDynamics(named_system("allegro_ball"))
    q = named_system("allegro_ball").q_default.copy()
    q[6] += 1.0
    result = dynamics.step(q, q[7:])
    np.testing.assert_array_equal(result.impulses, 0.0)
    np.testing.assert_allclose(result.q_next[4:7] - q[4:7], [0.0, 0.0, -9.81 * 0.1**2], atol=1e-9)


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_stays_flat_over_many_steps() -> None:
    task = held_task("allegro_ball")
    dynamics = ContactDynamics(task.system)
    sizes = []
    for count in (500, 8000):
        for _ in range(count):
            dynamics.linearize(task.start_q, task.start_u)
        sizes.append(resident_bytes())
    leaked_per_step = (sizes[1] - sizes[0]) / 8000
    assert leaked_per_step < 100  # bytes: the smallest array that a step could keep is larger
