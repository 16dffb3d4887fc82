"""Plans satisfy the paper's equations to 1e-8, judged by pinocchio, and what cannot be planned is refused or named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_mpc.errors import InputError, ModelError
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.push.plan_file import PlanBuilder, tool_contact
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program import compiled
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.objects import build_object
from contact_mpc.planning.push.result import NOT_CONVERGED, ContactImplicitResult
from contact_mpc.planning.push.task import build_instance
from contact_mpc.task.task import TaskConfig

TOLERANCE = 1e-8  # of complementarity and dynamics after the polish
ROUND_OFF = 1e-9
WITHOUT_FEEDBACK_RAD = 0.01  # torques held for 19 ms, 0.4 s without any feedback


def test_plan_satisfies_dynamics_complementarity_and_limits(result: ContactImplicitResult) -> None:
    assert result.residuals is not None
    assert result.residuals.dynamics <= TOLERANCE
    assert result.residuals.complementarity <= TOLERANCE
    assert result.residuals.inequality == pytest.approx(0.0, abs=ROUND_OFF)
    assert result.residuals.goal <= TOLERANCE


def test_impulse_on_the_block_is_its_momentum_and_what_friction_took(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    model, u = planner.model, result.solution.u
    pushed, rubbed = model.dt_s * u[:, model.n_r].sum(), model.dt_s * u[:, model.n_r + 1].sum()
    assert pushed == pytest.approx(rubbed, rel=ROUND_OFF)  # it starts and ends at rest
    d = direction(model, instance.heading_rad)
    speed = result.solution.x[:, 2 * model.n_r + model.n_o :] @ d
    energy = 0.5 * model.thing.inertia[0] * speed.max() ** 2
    # friction works over 0.6 m; semi-implicit Euler counts half a step of it more
    assert energy == pytest.approx(model.thing.breakaway_n * 0.6, rel=0.06)


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


def test_tool_neither_slips_nor_brakes_through_a_hit(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    (k,) = np.flatnonzero(result.solution.modes.contact)
    through = result.solution.x[k : k + 3]  # the step of the hit and the one that follows
    ends = [planner.geometry.head(row[:5]) for row in through]
    d = np.append(direction(planner.model, instance.heading_rad)[:2], 0.0)
    moved = ends[1][0] - ends[0][0]
    np.testing.assert_allclose(moved - (moved @ d) * d, 0.0, atol=1e-7)
    speeds = [d @ J @ row[8:13] for (_, J), row in zip(ends, through, strict=True)]
    np.testing.assert_allclose(speeds[1:], speeds[0], atol=1e-7)


def test_tool_stays_clear_of_the_object_after_its_last_hit(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    last, settings = int(np.flatnonzero(result.solution.modes.contact)[-1]), planner.model.settings
    for row in result.solution.x[last + settings.clear_after_steps : -1]:
        gap, _ = planner.geometry.gap(row[:5], row[5:8], instance.heading_rad)
        assert gap >= settings.clear_m - ROUND_OFF


def test_direction_turns_block_and_start_alike(task: TaskConfig, planner: ContactImplicitPlanner) -> None:
    turned = build_instance(task, planner, 0.4, -60.0)
    assert turned.x_0[7] == pytest.approx(np.deg2rad(-60.0))
    gap, _ = planner.geometry.gap(turned.x_0[:5], turned.x_0[5:8], turned.heading_rad)
    straight = build_instance(task, planner, 0.4, None)
    expected, _ = planner.geometry.gap(straight.x_0[:5], straight.x_0[5:8], straight.heading_rad)
    assert gap == pytest.approx(expected, abs=1e-3)


def test_solver_that_stops_early_gives_a_status_with_residuals_and_no_plan(
    task: TaskConfig, instance: Instance
) -> None:
    hurried = ContactImplicitPlanner(
        task.system, ContactImplicitPlanner(task.system).model.settings.model_copy(update={"iterations": 2})
    )
    outcome = hurried.plan(instance)
    assert outcome.status == NOT_CONVERGED and outcome.solution is None
    assert outcome.residuals is not None and outcome.residuals.largest > TOLERANCE
    assert "no start converged" in outcome.message and f"at stage {outcome.residuals.stage}" in outcome.message
    assert 0 <= outcome.residuals.stage < hurried.program.steps


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": 100.0}, r"goes 3\.311 m at most"),
        ({"goal": -100.0}, "a push needs > 0"),
        ({"goal": np.nan}, "non-finite"),
    ],  # fmt: skip
)
def test_goals_out_of_reach_are_refused(
    planner: ContactImplicitPlanner, instance: Instance, change: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        planner.plan(replace(instance, **change))


def test_starts_that_cannot_be_are_refused(planner: ContactImplicitPlanner, instance: Instance) -> None:
    inside, outside, fast, low = (instance.x_0.copy() for _ in range(4))
    inside[5:7] = planner.geometry.head(inside[:5])[0][:2]
    outside[1] = 2.5
    fast[8] = 13.0
    low[1] += 0.2
    for x_0, message in (
        (inside, "inside the object or in front of its face"), (outside, r"joint sh_fle = 2\.5000 rad is outside"),
        (fast, r"sh_rot moves at 13\.000 rad/s"), (low, "the tool's head is .* m high"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            planner.plan(replace(instance, x_0=x_0))


def test_block_without_friction_is_refused() -> None:
    system = load_system("anypulator_block")
    smooth = tuple(replace(pair, mu=0.0) for pair in system.pairs)
    with pytest.raises(ModelError, match="friction of the block with the ground is 0"):
        build_object(replace(system, pairs=smooth), edge_m=0.03)


def test_without_a_compiler_the_functions_are_interpreted(
    planner: ContactImplicitPlanner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled, "find_compiler", lambda: None)
    library = compiled.load_library(planner.program)
    assert not library.is_compiled and not isinstance(library.problem, str)
    assert "no C compiler" in caplog.text


@pytest.mark.skipif(compiled.find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("damage", ["cut", "altered", "without its checksum"])
def test_a_damaged_library_is_compiled_again(
    planner: ContactImplicitPlanner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: str
) -> None:
    """Loading a library that was cut ended the process with SIGBUS."""
    monkeypatch.setattr(compiled, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(compiled, "_compile_source", lambda _compiler, _code, target: target.write_bytes(b"whole"))
    path = Path(str(compiled.load_library(planner.program).problem))
    if damage == "without its checksum":
        path.with_suffix(".sha256").unlink()
    else:
        path.write_bytes({"cut": b"who", "altered": b"whale"}[damage])
    assert compiled.load_library(planner.program).is_compiled
    assert path.read_bytes() == b"whole"
    monkeypatch.setattr(compiled, "_compile_source", lambda *_args: pytest.fail("it is whole"))
    compiled.load_library(planner.program)
