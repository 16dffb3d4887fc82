"""Rolling references: the object on its path, gaps kept, no slip, and a reason where the path ends early."""

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, prepare_step
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.rolling import RollingPath, roll_along
from contact_mpc.task.task import TaskConfig

GAP_TOLERANCE_M = 5e-5  # what one substep of 0.3 degrees on a disc of 0.25 m leaves, to second order
STEPS = 30


def rolled(task: TaskConfig, fraction: float = 1.0) -> tuple[RollingPath, np.ndarray, np.ndarray]:
    system = task.system
    poses = [task.goal_pose(fraction * s) for s in np.linspace(0.0, 1.0, STEPS + 1)]
    path = [system.q_from_object_pose(*pose, task.start_q) for pose in poses]
    force = task.planner["minimum_force_n"]
    grasp = compute_grasp(system, task.start_q, force, 0.65)
    return roll_along(system, task.start_q, np.array(path), grasp.pairs, force, 0.65), np.array(path), grasp.pairs


def contacts(system: System, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    model = build_model(system)
    ws = make_newton(model)
    prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
    return ws.con.phi, ws.con.p


def test_object_follows_the_path_with_the_fingers_at_their_gaps(each_task: TaskConfig) -> None:
    result, path, pairs = rolled(each_task)
    system = each_task.system
    assert result.is_complete, result.reason
    np.testing.assert_allclose(result.q[:, : system.n_q_u], path, atol=1e-9)
    start = contacts(system, each_task.start_q)[0][pairs]
    for q in result.q:
        np.testing.assert_allclose(contacts(system, q)[0][pairs], start, atol=GAP_TOLERANCE_M)
        assert np.all((q[system.n_q_u :] >= system.q_min) & (q[system.n_q_u :] <= system.q_max))


def test_surfaces_do_not_slip_on_each_other(each_task: TaskConfig) -> None:
    """The material points that touch at one instant move together to the next, up to second order in the step."""
    result, _, pairs = rolled(each_task)
    system = each_task.system
    slipped, travelled = np.zeros(len(pairs)), np.zeros(len(pairs))
    for q0, q1 in zip(result.q[:-1], result.q[1:], strict=True):
        middle = system.integrate(q0, 0.5 * system.difference(q0, q1))
        points = contacts(system, middle)[1]
        poses = [forward_kinematics(system.tree, q) for q in (q0, q1)]
        R_m, p_m = forward_kinematics(system.tree, middle)
        for i, c in enumerate(pairs):
            moves = []
            for g in (system.pairs[c].geometry_a, system.pairs[c].geometry_b):
                body = system.geometries[g].body
                local = R_m[body].T @ (points[c] - p_m[body])
                before, after = (R[body] @ local + p[body] for R, p in poses)
                moves.append(after - before)
            slipped[i] += np.linalg.norm(moves[0] - moves[1])
            travelled[i] += np.linalg.norm(moves[0])
    assert travelled.min() > 0.005
    assert np.all(slipped < 0.02 * travelled)


def test_path_beyond_the_fingers_ends_with_a_reason(each_task: TaskConfig) -> None:
    result, path, _ = rolled(each_task, fraction=8.0)
    assert not result.is_complete
    assert len(result.q) == len(result.u) < len(path)
    assert "instant" in result.reason
