"""Plans of pushes: references half a step behind, torques held, the hit's part when the tool arrives."""

import numpy as np
import pinocchio as pin

from contact_mpc.planning.push.plan_file import PlanBuilder, tool_contact
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.result import ContactImplicitResult

ROUND_OFF = 1e-9
WITHOUT_FEEDBACK_RAD = 0.01  # torques held for 19 ms, 0.4 s without any feedback


def test_plan_holds_torques_and_lags_the_positions_by_half_a_step(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    plan = PlanBuilder(planner.model).build(instance, result.solution)
    model, x = planner.model, result.solution.x
    assert plan.tau_ff_held and plan.du is not None
    np.testing.assert_allclose(plan.u[::2], x[:, :5] - 0.5 * model.dt_s * x[:, 8:13], atol=ROUND_OFF)
    np.testing.assert_array_equal(plan.du[::2], x[:, 8:13])
    impulse = plan.contact_impulses[:, tool_contact(model)].sum(axis=0)
    along = np.append(direction(model, instance.heading_rad)[:2], 0.0)
    np.testing.assert_allclose(impulse, along * model.dt_s * result.solution.u[:, 5].sum(), atol=ROUND_OFF)
    _, p = model.system.object_pose(plan.q[-1])
    np.testing.assert_allclose(p[:2] - instance.q_u[:2], 0.6 * along[:2], atol=1e-7)


def test_torque_against_the_hit_begins_when_the_tool_arrives_half_a_step_later(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    plan, model, solution = PlanBuilder(planner.model).build(instance, result.solution), planner.model, result.solution
    (k,) = np.flatnonzero(solution.modes.contact)
    robot = pin.buildModelFromUrdf(str(model.system.urdfs["anypulator"].path))
    data, x, u = robot.createData(), solution.x[k], solution.u[k]
    held = solution.tau[k] - pin.rnea(robot, data, x[:5], x[8:13], u[:5])
    assert plan.du is not None
    for half, contact in ((2 * k, 0.0), (2 * k + 1, held), (2 * k + 2, held), (2 * k + 3, 0.0)):
        a, s = solution.u[half // 2, :5], 0.25 * model.dt_s
        q, v = plan.u[half] + s * plan.du[half] + 0.5 * s**2 * a, plan.du[half] + s * a
        free = pin.rnea(robot, data, q, v, a) - pin.computeGeneralizedGravity(robot, data, q)
        np.testing.assert_allclose(plan.tau_ff[half], free + contact, atol=1e-9)


def test_an_arm_under_the_torques_alone_follows_its_reference_to_the_hit(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    plan, system = PlanBuilder(planner.model).build(instance, result.solution), planner.model.system
    robot = pin.buildModelFromUrdf(str(system.urdfs["anypulator"].path))
    robot.armature = np.array(system.reflected_inertia)
    data, step_s, hit_s = robot.createData(), 1e-4, plan.provenance["contact_times_s"][0]
    assert plan.du is not None
    q, v = plan.u[0].copy(), plan.du[0].copy()
    for i in range(round(hit_s / step_s)):
        half = int(np.searchsorted(plan.times_s, i * step_s + 1e-9, side="right")) - 1
        tau = plan.tau_ff[half] + pin.computeGeneralizedGravity(robot, data, q)
        v = v + step_s * pin.aba(robot, data, q, v, tau)
        q = q + step_s * v
    reference = [np.interp(hit_s, plan.times_s, column) for column in plan.u.T]
    np.testing.assert_allclose(q, reference, atol=WITHOUT_FEEDBACK_RAD)
