"""Grasps: forces recovered from the commands balance the object; cones, minimum and limits hold; reasons are given."""

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, prepare_step
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.planning.grasp.balance import Grasp, compute_grasp
from contact_mpc.task.task import TaskConfig, load_task

FORCE_TOLERANCE_N = 1e-4  # clarabel's 1e-8, seen through springs of 10 N m/rad and differences of the kinematics


def point_jacobian(task: TaskConfig, body: int, point: np.ndarray) -> np.ndarray:
    """Motion of a point of a body along every degree of freedom (3, n_v), by differences of the kinematics."""
    system, q, step = task.system, task.start_q, 1e-6
    R0, p0 = forward_kinematics(system.tree, q)
    local = R0[body].T @ (point - p0[body])
    columns = []
    for unit in np.eye(system.n_v):
        ends = [forward_kinematics(system.tree, system.integrate(q, s * step * unit)) for s in (1.0, -1.0)]
        above, below = (R[body] @ local + p[body] for R, p in ends)
        columns.append((above - below) / (2.0 * step))
    return np.array(columns).T


def contact_geometry(task: TaskConfig, grasp: Grasp) -> tuple[np.ndarray, np.ndarray]:
    """Return normals (n, 3) and the relative motion J (3 n, n_v) of object and finger at the grasp's contacts."""
    system, model = task.system, build_model(task.system)
    ws = make_newton(model)
    prepare_step(model, ws, task.start_q, task.start_u, np.zeros(len(model.mu)))
    rows = []
    for c in grasp.pairs:
        pair, point = system.pairs[c], ws.con.p[c]
        object_, finger = (system.geometries[g].body for g in (pair.geometry_a, pair.geometry_b))
        rows.append(point_jacobian(task, object_, point) - point_jacobian(task, finger, point))
    return ws.con.n[grasp.pairs], np.vstack(rows)


def test_forces_that_the_commands_exert_balance_the_object(each_task: TaskConfig) -> None:
    system = each_task.system
    grasp = compute_grasp(system, each_task.start_q)
    normals, J = contact_geometry(each_task, grasp)
    tau = system.kp * (grasp.u - each_task.start_q[system.n_q_u :])
    forces, _, rank, _ = np.linalg.lstsq(-J[:, system.n_v_u :].T, tau, rcond=1e-6)
    weight = np.zeros(system.n_v_u)
    if system.config.objects[0].mobility == "free":
        weight[3:6] = system.tree.mass[0] * np.array(system.config.gravity_m_s2)
        assert rank == len(forces)  # 16 joints see every component of the forces of four fingers
        np.testing.assert_allclose(J[:, : system.n_v_u].T @ forces + weight, 0.0, atol=FORCE_TOLERANCE_N)
        found = np.einsum("ci,ci->c", forces.reshape(-1, 3), normals)
        np.testing.assert_allclose(found, grasp.normal_forces, atol=FORCE_TOLERANCE_N)
    np.testing.assert_allclose(J[:, system.n_v_u :].T @ forces + tau, 0.0, atol=FORCE_TOLERANCE_N)


@pytest.mark.parametrize(("minimum_force_n", "friction"), [(1.0, 0.4), (2.0, 0.6)])
def test_cones_minimum_and_effort_limits_hold(minimum_force_n: float, friction: float, each_task: TaskConfig) -> None:
    system = each_task.system
    grasp = compute_grasp(system, each_task.start_q, minimum_force_n, friction)
    assert grasp.is_balanced, grasp.reason
    real = np.array([system.pairs[c].mu for c in grasp.pairs])
    assert np.all(grasp.normal_forces >= minimum_force_n - 1e-6)
    assert np.all((1.0 - grasp.cone_margins) * real <= friction + 1e-6)
    tau = system.kp * (grasp.u - each_task.start_q[system.n_q_u :])
    assert np.all(np.abs(tau) <= 0.8 * system.tau_max_nm + 1e-6)


def test_one_contact_per_finger_is_used(each_task: TaskConfig) -> None:
    system = each_task.system
    grasp = compute_grasp(system, each_task.start_q)
    assert len(grasp.pairs) == {"allegro_ball": 4, "planar_hand_ball": 2}[system.name]
    links = [system.geometries[system.pairs[c].geometry_b].link for c in grasp.pairs]
    assert len({link.split("_")[0] for link in links}) == len(links)


def test_object_out_of_reach_is_the_reason(each_task: TaskConfig) -> None:
    q = each_task.start_q.copy()
    q[each_task.system.n_q_u - 1 if each_task.system.name == "allegro_ball" else 1] += 0.5
    grasp = compute_grasp(each_task.system, q)
    assert not grasp.is_balanced and len(grasp.u) == 0
    assert "no robot link within 1.00 mm" in grasp.reason


def test_force_beyond_the_motors_is_the_reason(each_task: TaskConfig) -> None:
    grasp = compute_grasp(each_task.system, each_task.start_q, minimum_force_n=500.0)
    assert not grasp.is_balanced
    assert "no forces of at least 500.0 N" in grasp.reason and "effort limits" in grasp.reason


def test_disc_cannot_be_held_without_friction() -> None:
    task = load_task("planar_hand_ball")
    grasp = compute_grasp(task.system, task.start_q, friction=0.0)
    assert not grasp.is_balanced and "friction 0.0" in grasp.reason
