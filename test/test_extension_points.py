"""What is added by a file and a line is held to one contract: every registered controller, plant and planner.

Robots and tasks are added by files of data alone.
"""

import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import contact_mpc
from contact_mpc.control.controller import ControllerSetup, PlainController
from contact_mpc.control.tracking.follower import MODEL_FAILED, NO_REFERENCE, Reference
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS, ContactDynamics
from contact_mpc.dynamics.smoothed.formulation import LogBarrier
from contact_mpc.errors import ConfigError, ContactMpcError, InputError
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.config import load_loop_config
from contact_mpc.loop.controllers import CONTROLLERS, make_controller
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.methods import PLANNERS, make_plan, planner_of
from contact_mpc.plants.common.actuation import Actuation
from contact_mpc.plants.common.plant import NO_CONTACTS, STEP_NS, STEP_S, T0_NS, PlantState
from contact_mpc.plants.registry import PLANTS, make_plant
from contact_mpc.report.pages import PAGES, write_result_page
from contact_mpc.report.plotting.figures import Figure
from contact_mpc.report.summary_page import write_page
from contact_mpc.settings.registry import Entry, Registry
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

ROOT = Path(__file__).resolve().parents[1]
OF_TASKS = [name for name in CONTROLLERS if name != "reorient_rollouts"]
REGISTRIES = (FORMULATIONS, CONTROLLERS, PLANTS, PLANNERS, PAGES)
TASK = "planar_hand_ball"
# A task for what does not take that of the others.
TASK_OF_CONTROLLER = {"reorient": "planar_hand_ball_180", "receding_horizon": "anypulator_block"}
TASK_OF_PLANNER = {"trajopt": TASK, "regrasp": "planar_hand_ball_180", "contact_implicit": "anypulator_block"}
TICKS = 3
START_TOLERANCE = 1e-3  # rad, m: plans of pushes begin where the arm rests, by their own model


@contextmanager
def registered(registry: Registry, name: str, target: type) -> Iterator[None]:
    registry.register(name, Entry(f"{target.__module__}:{target.__qualname__}", "a dummy"))
    sys.modules.setdefault(target.__module__, sys.modules[__name__])
    try:
        yield
    finally:
        registry.remove(name)


def available(registry: Registry, known: Collection[str] | None = None) -> list:
    names = [name for name in registry if known is None or name in known]
    return [pytest.param(name, marks=pytest.mark.skipif(not registry.is_available(name), reason="package missing"))
            for name in names]  # fmt: skip


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.what)
def test_every_entry_loads_and_says_what_it_is(registry: Registry) -> None:
    for name in registry:
        assert registry[name].summary and "\n" not in registry[name].summary
        if registry.is_available(name):
            assert callable(registry.load(name))


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.what)
def test_unknown_names_are_refused_with_those_that_are_known(registry: Registry) -> None:
    first = next(iter(registry))
    with pytest.raises(ContactMpcError, match=f"{registry.what} 'nothing' is unknown; allowed: {first}"):
        registry.load("nothing")
    with pytest.raises(ContactMpcError, match="no module 'no_such_module'; is it on PYTHONPATH"):
        registry.load("no_such_module:Thing")
    with pytest.raises(ContactMpcError, match="module 'json' has no 'Thing'"):
        registry.load("json:Thing")
    with pytest.raises(ContactMpcError, match="is there already"):
        registry.register(first, Entry("json:loads", "taken"))


def test_a_missing_package_is_named_with_the_extra_that_has_it() -> None:
    things = Registry("thing", {"far": Entry("json:loads", "needs what nobody has", "no_such_package", "far")})
    with pytest.raises(ConfigError, match=r"thing 'far' needs no_such_package; install with: pip install .*\[far\]"):
        things.load("far")


# Formulations.

# Of the residuals of a step with contact: balance N, friction N, penetration m, complementarity J. The smoothed step is
# off the laws by the barrier's forces, 1/kappa of energy per contact; lcp has another law where contacts slide.
BALANCE_N, FRICTION_N, PENETRATION_M, EXACT_J, SMOOTHED_J = 1e-5, 1e-6, 1e-8, 1e-7, 1e-3
DERIVATIVE_TOLERANCE = 2e-4  # central differences over 1e-6


class Same(LogBarrier):
    """A dummy: the log barrier by another name."""


def check_formulation(name: str, complementarity_j: float) -> None:
    system = load_system(TASK)
    task, dynamics = load_task(TASK), ContactDynamics(system, name)
    q, u = task.start_q, task.start_u
    result, again = dynamics.step(q, u), dynamics.step(q, u)
    assert result.status == "converged" and np.array_equal(result.q_next, again.q_next)
    assert result.q_next.shape == (system.n_q,) and result.impulses.shape == (len(result.gaps), 3)
    residuals = dynamics.residuals(q, u)
    assert residuals.is_within(BALANCE_N, FRICTION_N, PENETRATION_M, complementarity_j), residuals
    if not FORMULATIONS.load(name).is_differentiable:
        with pytest.raises(InputError, match=f"formulation '{name}' has no derivatives; take one of log_barrier"):
            dynamics.linearize(q, u)
        return
    linear = dynamics.linearize(q, u)
    assert linear.A.shape == (system.n_v, system.n_v) and linear.B.shape == (system.n_v, system.n_a)
    direction, size = np.ones(system.n_a), 1e-6
    ends = [dynamics.step(q, u + sign * size * direction).q_next for sign in (-1.0, 1.0)]
    difference = system.difference(ends[0], ends[1]) / (2.0 * size)
    if linear.is_differentiable:
        np.testing.assert_allclose(linear.B @ direction, difference, atol=DERIVATIVE_TOLERANCE)


@pytest.mark.parametrize("name", list(FORMULATIONS))
def test_formulation_keeps_the_contract(name: str) -> None:
    check_formulation(name, SMOOTHED_J if name in ("log_barrier", "lcp", "second_order") else EXACT_J)


def test_a_dummy_formulation_is_one_class_and_one_line() -> None:
    with registered(FORMULATIONS, "same", Same):
        check_formulation("same", SMOOTHED_J)
        task = load_task(TASK)
        steps = [
            ContactDynamics(task.system, name).step(task.start_q, task.start_u) for name in ("same", "log_barrier")
        ]
        assert np.array_equal(steps[0].q_next, steps[1].q_next)


# Controllers.


class Rest(PlainController):
    """A dummy: stays at the first command of the plan."""

    def begin(self, plan: Plan) -> None:
        self.u = plan.u[0]

    def compute(self, t_s: float, state: EstimatedState, times_s: np.ndarray) -> np.ndarray:
        return np.tile(self.u, (len(times_s), 1))


class Wrong(Rest):
    """A dummy whose commands are no numbers."""

    def compute(self, t_s: float, state: EstimatedState, times_s: np.ndarray) -> np.ndarray:
        return np.full((len(times_s), len(self.u)), np.nan)


def plan_at_start(task) -> Plan:
    """A plan that stays at a task's start; where the planner says how to go on, its own."""
    if "method" in task.planner:
        return make_plan(task)
    times_s = np.linspace(0.0, 2.0, 5)
    u, q = np.tile(task.start_u, (5, 1)), np.tile(task.start_q, (5, 1))
    return Plan(times_s, q, u, np.zeros_like(u), np.zeros((5, 0, 3)))


def check_controller(name: str) -> None:
    task = load_task(TASK_OF_CONTROLLER.get(name, TASK))
    config = load_loop_config(contact_mpc_parameters(task), controller=name).tracker
    config = config.model_copy(update={"task": str(task.path)})
    controller = make_controller(ControllerSetup(task.system, config))
    controller.warm_up()
    system, n_a = task.system, task.system.n_a
    rest = EstimatedState(
        T0_NS, task.start_q, np.zeros(system.n_v), np.zeros(n_a), 1e-6 * np.eye(system.n_v_u)
    )  # fmt: skip
    held = controller.step(rest)
    assert held.plan.is_hold and held.status == NO_REFERENCE
    assert controller.period_ns == 1_000_000_000 // config.mpc_rate_hz
    plan, runs = plan_at_start(task), []
    for _ in range(1 if name == "receding_horizon" else 2):  # it solves for a push each time
        controller.reset()
        controller.set_reference(Reference(T0_NS, plan))
        runs.append([controller.step(replace(rest, t_ns=T0_NS + k * controller.period_ns)) for k in range(TICKS)])
    for first, again in zip(runs[0], runs[-1], strict=True):
        commands = first.plan
        assert first.status and commands.stamp_ns >= T0_NS and not commands.is_hold
        assert commands.u.shape == (len(commands.times_s), n_a)
        assert commands.times_s[0] == 0.0 and np.all(np.diff(commands.times_s) > 0.0)
        assert all(np.all(np.isfinite(rows)) for rows in (commands.u, commands.du, commands.tau_ff))
        assert np.array_equal(commands.u, again.plan.u) and first.status == again.status


def contact_mpc_parameters(task) -> str:
    from contact_mpc.task.node_parameters import default_parameter_file

    return default_parameter_file(task)


# `reorient_rollouts` plans a problem of config/planning, not a task: `study execution` runs it.
@pytest.mark.parametrize("name", available(CONTROLLERS, OF_TASKS))
def test_controller_keeps_the_contract(name: str) -> None:
    check_controller(name)


@pytest.mark.drake
def test_a_dummy_controller_is_one_class_and_one_line() -> None:
    with registered(CONTROLLERS, "rest", Rest):
        check_controller("rest")
        task = load_task(TASK)
        loop = ClosedLoop(task.system, task, plan_at_start(task), load_loop_config(TASK, controller="rest"))
        for _ in range(60):
            loop.step()
        assert loop.log.result().plan_status[-1] == "ok"


def test_commands_that_are_no_numbers_end_in_a_hold() -> None:
    task = load_task(TASK)
    controller = Wrong(ControllerSetup(task.system, load_loop_config(TASK).tracker))
    controller.set_reference(Reference(T0_NS, plan_at_start(task)))
    system = task.system
    state = EstimatedState(T0_NS, task.start_q, np.zeros(system.n_v), np.zeros(system.n_a), np.eye(system.n_v_u))
    output = controller.step(state)
    assert output.plan.is_hold and output.status == MODEL_FAILED and "expected finite ones" in output.note


def test_the_nodes_are_given_the_controller_that_the_loop_runs() -> None:
    pytest.importorskip("rclpy")
    from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters

    task, settings = load_task(TASK), ("mpc_tracker.controller=open_loop", "comparison.sampling.samples=6")
    options = RunOptions("drake", "lockstep", 5, TASK, None, settings)
    tracker = build_parameters(task, options, Path("/nowhere"), Path("/nowhere/plan.npz"))["mpc_tracker"]
    loop = load_loop_config(TASK, "drake", settings)
    assert tracker["controller"] == loop.controller == "playback"
    assert tracker["comparison"]["sampling"]["samples"] == loop.comparison.sampling.samples == 6
    assert tracker["seed"] == 5


def test_the_mode_of_files_and_bags_of_version_0_1_is_the_controller() -> None:
    assert load_loop_config(TASK, settings=("mpc_tracker.controller=mpc",)).controller == "tracker"
    assert load_loop_config(TASK, settings=("mpc_tracker.controller=playback",)).controller == "playback"


@pytest.mark.drake
def test_the_tutorial_adds_a_controller_in_40_lines(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorials" / "your_controller.md").read_text(encoding="utf-8")
    module, script = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in module.splitlines() if line.strip()]) <= 40
    (tmp_path / "my_controller.py").write_text(module)
    (tmp_path / "run.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("my_controller:Nudge")]
    assert line.endswith("True"), done.stdout


# Plants.


@dataclass
class Springs:
    """A dummy: joints without inertia on the springs of the joint impedance; objects stay where they are."""

    system: contact_mpc.model.system.System
    interface: str
    perturbation: contact_mpc.PlantPerturbation
    gravity_compensation: bool

    def __post_init__(self) -> None:
        self._actuation = Actuation(self.system, self.interface, self.perturbation, self.gravity_compensation)
        self.reset(self.system.q_default)

    @property
    def time_ns(self) -> int:
        return self._t_ns

    def reset(self, q: np.ndarray, v: np.ndarray | None = None) -> None:
        self._t_ns, self._q = T0_NS, self.perturbation.displace_objects(self.system, q)
        self._tau = np.zeros(self.system.n_a)

    def step(self, command: np.ndarray) -> None:
        n_u, kp, kd = self.system.n_q_u, self.system.kp, np.maximum(self.system.kd, 1e-3)
        tau = command if self.interface == "effort" else kp * (command - self._q[n_u:])
        self._tau = np.clip(tau, -self.system.tau_max_nm, self.system.tau_max_nm)
        self._q = self._q.copy()
        self._q[n_u:] += STEP_S * self._tau / kd * 0.1
        self._t_ns += STEP_NS

    def state(self, *, with_contacts: bool = True) -> PlantState:
        zeros = np.zeros(self.system.n_a)
        return PlantState(self._t_ns, self._q, np.zeros(self.system.n_v), self._tau, zeros, NO_CONTACTS)


def check_plant(name: str, system_name: str) -> None:
    system = load_system(system_name)
    plant = make_plant(name, system, "position", gravity_compensation=True)
    states = []
    for _ in range(2):
        plant.reset(system.q_default)
        assert plant.time_ns == T0_NS
        for _ in range(5):
            plant.step(system.q_default[system.n_q_u :] + 10.0)  # rad: more than any drive can
        states.append(plant.state())
    first, again = states
    assert first.t_ns == T0_NS + 5 * STEP_NS == plant.time_ns
    assert first.q.shape == (system.n_q,) and first.v.shape == (system.n_v,) and first.contacts.shape[1] == 7
    assert np.all(np.abs(first.tau_applied) <= system.tau_max_nm * (1.0 + 1e-12)) and np.any(first.tau_applied != 0.0)
    assert np.any(first.q[system.n_q_u :] > system.q_default[system.n_q_u :])
    for key in ("q", "v", "tau_applied"):
        assert np.array_equal(getattr(first, key), getattr(again, key)), key


@pytest.mark.parametrize("name", available(PLANTS, {"drake": "", "mujoco": ""}))  # Gazebo has its own installation
def test_plant_keeps_the_contract(name: str) -> None:
    check_plant(name, TASK)


def test_a_dummy_plant_is_one_class_and_one_line() -> None:
    with registered(PLANTS, "springs", Springs):
        check_plant("springs", TASK)
        task = load_task(TASK)
        loop = ClosedLoop(task.system, task, plan_at_start(task), load_loop_config(TASK, "springs"))
        for _ in range(60):
            loop.step()
        assert loop.log.result().t_ns[-1] == T0_NS + 59 * STEP_NS


# Planners.


class Stay:
    """A dummy: the plan that stays at the start."""

    def __init__(self, must_hold: bool) -> None:
        self.must_hold = must_hold

    def plan(self, task) -> Plan:
        return plan_at_start(replace(task, planner={}))


def check_planner(task) -> None:
    plan = make_plan(task)
    system, n = task.system, len(plan.times_s)
    assert plan.times_s[0] == 0.0 and np.all(np.diff(plan.times_s) > 0.0) and plan.times_s[-1] <= task.duration_s + 1e-9
    assert plan.q.shape == (n, system.n_q) and plan.u.shape == plan.tau_ff.shape == (n, system.n_a)
    assert all(np.all(np.isfinite(rows)) for rows in (plan.q, plan.u, plan.tau_ff))
    assert np.abs(plan.q[0] - task.start_q).max() <= START_TOLERANCE


@pytest.mark.parametrize("name", available(PLANNERS, TASK_OF_PLANNER))
def test_planner_keeps_the_contract(name: str) -> None:
    task = load_task(TASK_OF_PLANNER[name])
    assert planner_of(task) == name
    check_planner(task)


def test_a_dummy_planner_is_one_class_and_one_line() -> None:
    with registered(PLANNERS, "stay", Stay):
        task = replace(load_task(TASK), planner={"method": "stay"})
        assert planner_of(task) == "stay"
        check_planner(task)


# Report pages.


class OneCurve:
    """A dummy: one line; a page is a function, or as here a class that is called as one."""

    def __new__(cls, result: dict, folder: Path) -> Path:
        figure = Figure("curve", "Curve", "One line.")
        figure.axes("value")
        figure.line(np.arange(len(result["values"]), dtype=float), np.array(result["values"]), "values", "#333333")
        return write_page(folder / "curve.html", "Curve", "a dummy", [figure], {})


def check_page(name: str, result: dict, folder: Path) -> None:
    path = write_result_page(name, result, folder)
    page = path.read_text(encoding="utf-8")
    assert path.parent == folder and page.startswith("<!DOCTYPE html>")
    data = page[: page.index("<script>")] + page[page.rindex('id="data"') :]  # without plotly's own source
    assert not re.findall(r'(?:src|href)="https?:', data), "a page loads nothing from anywhere"
    kinds = re.findall(r'"type":"([a-z]+)"', data[data.index('id="data"') :])
    assert set(kinds) <= {"scatter", "bar", "line", "rect", "data", "log", "category"}, "no other trace is drawn"


RATES = {"trials": 2, "success_rate": 0.5, "success_interval_95": [0.1, 0.9], "loose_success_rate": 1.0,
         "loose_success_interval_95": [0.3, 1.0], "drops": 0, "drop_interval_95": [0.0, 0.6]}  # fmt: skip


def test_the_page_of_an_evaluation_keeps_the_contract(tmp_path: Path) -> None:
    failures = [{"seed": 3, "axis": "+z", "reason": "dropped"}]
    outcomes = [{"seed": k, "axis": "+z", "goal_met": k == 1, "dropped": False, "angle_error_deg": 1.0,
                 "position_error_mm": 0.5, "reached_s": 2.0} for k in (1, 3)]  # fmt: skip
    result = {**RATES, "task": TASK, "plant": "drake", "controller": "tracker", "seed": 0, "failures": failures,
              "by_axis": {"+z": RATES}, "by_disturbance": {}, "outcomes": outcomes, "tolerance_deg": 3.0,
              "tolerance_mm": 2.0}  # fmt: skip
    check_page("evaluation", result, tmp_path)


def test_a_dummy_page_is_one_function_and_one_line(tmp_path: Path) -> None:
    with registered(PAGES, "curve", OneCurve):
        check_page("curve", {"values": np.array([1.0, 2.0, 3.0])}, tmp_path)


# Robots and tasks: no line of code.

ROBOT = """<?xml version="1.0"?>
<robot name="poker">
  <link name="rail"/>
  <joint name="slide" type="prismatic">
    <parent link="rail"/> <child link="stick"/> <origin xyz="0 0 0"/> <axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="50" velocity="2"/>
  </joint>
  <link name="stick">
    <inertial><mass value="0.3"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.03"/></geometry></collision>
  </link>
</robot>
"""
SYSTEM = """
name: poker_disc
gravity_m_s2: [0.0, 0.0, 0.0]
friction: {default: 0.5}
robots:
  - {name: poker, urdf: poker.urdf, joint_stiffness_nm_per_rad: 100.0, joint_damping_nms_per_rad: 5.0}
objects:
  - {name: disc, urdf: disc.urdf, mobility: jointed, position_m: [0.0, 0.0, 0.8]}
"""
DRIVER = """
command_interface: position
system: poker_disc.yaml
parameters: iiwa_hardware
driver: {joint_states: measured, joint_names: {slide: axis_0}}
"""
NEW_TASK = """
name: poke
system: poker_disc.yaml
start:
  joints_rad: {slide: 0.0}
  commands_rad: {slide: 0.0}
  object_position_m: [0.0, 0.0, 0.8]
goal: {rotation_axis: [1.0, 0.0, 0.0], rotation_deg: 0.0}
duration_s: 0.1
hold_s: 0.0
tolerance_deg: 2.0
tolerance_mm: 2.0
planner: {initialisation: constant}
"""


@pytest.fixture
def new_robot(tmp_path: Path) -> Path:
    """A folder with a robot of one's own: its URDF, a system with it, what drives it."""
    for name, text in (("poker.urdf", ROBOT), ("poker_disc.yaml", SYSTEM), ("poker.yaml", DRIVER)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_dummy_robot_is_a_urdf_and_a_system_file(new_robot: Path) -> None:
    system = load_system(new_robot / "poker_disc.yaml")
    assert system.joint_names == ("slide",) and system.n_a == 1
    q, u = system.q_default, system.q_default[system.n_q_u :] + 0.01
    assert ContactDynamics(system).step(q, u).q_next[-1] == pytest.approx(q[-1] + 0.01, abs=1e-6)
    for name in ("drake", "mujoco"):
        if PLANTS.is_available(name):
            check_plant(name, str(new_robot / "poker_disc.yaml"))


def test_a_dummy_robots_driver_is_one_file(new_robot: Path) -> None:
    pytest.importorskip("rclpy")
    from contact_mpc.ros.driver.robot_file import driver_of, load_robot

    robot = load_robot(new_robot / "poker.yaml")
    driver = driver_of(robot, load_system(robot.system))
    assert (driver["joint_names"], driver["joint_states_topics"]) == (["axis_0"], ["measured"])


@pytest.mark.drake
def test_a_dummy_task_is_one_file(new_robot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(new_robot / "cache"))  # where its derived parameters of nodes go
    (new_robot / "poke.yaml").write_text(NEW_TASK)
    task = load_task(new_robot / "poke.yaml")
    loop = ClosedLoop(task.system, task, make_plan(task), load_loop_config(contact_mpc_parameters(task)))
    for _ in range(60):
        loop.step()
    result = loop.log.result()
    assert set(result.plan_status) == {"ok"}
    np.testing.assert_allclose(result.q[-1], task.start_q, atol=1e-6)
