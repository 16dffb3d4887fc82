"""One stage: its torque and its step against rigid-body dynamics."""

import casadi as ca
import numpy as np
import pinocchio as pin

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import direction
from contact_mpc.planning.push.program.stage import SHARED
from contact_mpc.planning.push.result import ContactImplicitResult

ROUND_OFF = 1e-9


def test_torque_of_a_step_is_inverse_dynamics_less_the_push(
    planner: ContactImplicitPlanner, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    model, k = planner.model, int(np.flatnonzero(result.solution.modes.contact)[0])
    robot = pin.buildModelFromUrdf(str(model.system.urdfs["anypulator"].path))
    data, x, u = robot.createData(), result.solution.x[k], result.solution.u[k]
    q, v = x[:5], x[8:13]
    J = pin.computeFrameJacobian(robot, data, q, robot.getFrameId("tool"), pin.LOCAL_WORLD_ALIGNED)[:3]
    force = -u[5] * np.array([np.cos(x[7]), np.sin(x[7]), 0.0])  # on the tool, against the push
    expected = pin.rnea(robot, data, q, v, u[:5]) - J.T @ force
    np.testing.assert_allclose(result.solution.tau[k], expected, rtol=0.0, atol=1e-6)


def test_a_step_is_semi_implicit_euler_with_the_forces_of_the_block(planner: ContactImplicitPlanner) -> None:
    model, stage, rng = planner.model, planner.program.stage, np.random.default_rng(1)
    n, o, dt, heading = model.n_r, model.n_o, model.dt_s, 0.3
    x, u = rng.normal(0.0, 0.2, model.n_x), rng.uniform(0.5, 1.0, model.n_u)
    values = {
        "heading_rad": heading,
        "restitution": 0.0,
        "breakaway_n": 2.0,
        "dt_s": dt,
        "goal": 0.0,
        "goal_weight": 0.0,
    }
    x[n + 2] = heading  # the face that is pushed looks along the heading
    step = ca.Function("step", [stage.x, stage.u, stage.shared], [stage.next_x])
    found = np.array(step(x, u, [values[name] for name in SHARED])).ravel()
    v, w_dot = x[n + o : 2 * n + o] + dt * u[:n], x[2 * n + o :]
    np.testing.assert_allclose(found[n + o : 2 * n + o], v, atol=ROUND_OFF)
    np.testing.assert_allclose(found[:n], x[:n] + dt * v, atol=ROUND_OFF)
    force = (u[n] - u[n + 1]) * direction(model, heading) - model.thing.damping * w_dot
    moved = w_dot + dt * force / model.thing.inertia
    np.testing.assert_allclose(found[2 * n + o : -1], moved[:2], atol=ROUND_OFF)
    np.testing.assert_allclose(found[n : n + 2], x[n : n + 2] + dt * moved[:2], atol=ROUND_OFF)
