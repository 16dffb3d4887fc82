"""The page of Python: load a task, find its start, plan it, run it in a plant, look at what happened.

    task = contact_mpc.load_task("allegro_ball")
    plan = task.plan()
    run = contact_mpc.simulate(task, plan, plant="drake")
    run.show()

Plans and runs are computed in two processes of their own (`contact_mpc.loop.apart`): whatever else this process
computes, the same arguments give the same bits, those of the command line and of the nodes in lockstep.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from contact_mpc.bags.metrics import RunMetrics, compute_metrics
from contact_mpc.bags.object_track import evaluate_object
from contact_mpc.bags.record import RunRecord
from contact_mpc.bags.sources import find_task
from contact_mpc.errors import PlanError
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.evaluation.cases import ALL, make_cases
from contact_mpc.evaluation.result import describe_evaluation
from contact_mpc.evaluation.starts.find_start import find_start
from contact_mpc.evaluation.trial_run import EvaluationSpec, TrialOutcome, run_trial
from contact_mpc.evaluation.trials import disturbance_of, trial_seeds
from contact_mpc.loop.apart import run_apart
from contact_mpc.loop.closed_loop import run_closed_loop
from contact_mpc.loop.compile_ahead import compile_ahead
from contact_mpc.loop.config import LoopConfig, load_loop_config
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.planning.methods import make_plan
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.report.evaluation_report import render_evaluation_report
from contact_mpc.report.loop_record import record_of_loop
from contact_mpc.report.origin import describe_call
from contact_mpc.report.pages import write_result_page
from contact_mpc.report.run_report import SCENE_CAPTION, SOURCES, write_report
from contact_mpc.report.scene.animation import build_scene
from contact_mpc.report.scene.trial import animate_trial
from contact_mpc.report.shown_page import ShownPage, render_animation
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig
from contact_mpc.task.task import load_task as load_config

__all__ = ["Evaluation", "Run", "Task", "evaluate", "load_task", "read_bag", "simulate"]


@dataclass(frozen=True)
class Task(TaskConfig):
    """A task that plans; everything else is that of `TaskConfig`. `dataclasses.replace` changes start, goal, times."""

    def find_start(self, samples: int = 300, seed: int = 0, spread_rad: float = 0.0) -> "Task":
        """Return the task from the best of so many random postures about its start, one that serves all its turns.

        Parameters
        ----------
        samples, seed
            Postures to try, and what draws them.
        spread_rad : float
            Half width of the start's random turns, rad.

        Raises
        ------
        PlanError
            No posture was held in physics and planned from.
        """
        best, refused, grip_n = run_apart("plan", _search_start, self, samples, seed, spread_rad)
        if best is None or refused:
            raise PlanError(
                f"{self.path}: the best of {samples} postures (seed {seed}) is not good enough: {refused}; try more "
                "samples or another seed"
            )
        grip = {} if grip_n is None else {"minimum_force_n": grip_n}
        planner = {**self.planner, **grip}
        return replace(self, start_q=best.q, start_u=best.grasp.u, has_start=True, planner=planner)

    def plan(self) -> Plan:
        """Return the plan of the task by the planner that its file names.

        Raises
        ------
        ConfigError, PlanError
            See `contact_mpc.planning.methods.make_plan`.
        """
        return run_apart("plan", make_plan, self)


def _search_start(
    task: TaskConfig, samples: int, seed: int, spread_rad: float
) -> tuple[GraspCandidate | None, str, float | None]:
    found = find_start(task, samples, seed, spread_rad)
    return found.best, found.refused, found.grip_n


def load_task(name: str | Path) -> Task:
    """Load a task by the name of a file in config/tasks or by the path of a YAML.

    Raises
    ------
    ConfigError
        No such task, an unknown key, a value out of range, or joints that are not those of the system.
    """
    return _task(load_config(name))


def _task(config: TaskConfig) -> Task:
    return Task(**{item.name: getattr(config, item.name) for item in fields(config)})


@dataclass(frozen=True)
class Run:
    """A run of a task, simulated here or read from a bag.

    Attributes
    ----------
    task : Task
        What was run.
    record : RunRecord
        States, commands, estimates, plans and reports as numpy arrays.
    metrics : RunMetrics
        Errors, times, violations, and why the goal was not met.
    call : str
        The line of Python that gives this run again, for its page.
    """

    task: Task
    record: RunRecord
    metrics: RunMetrics
    call: str = ""

    @property
    def goal_met(self) -> bool:
        """Whether the object was within the task's tolerances at the end of the hold, and never lost."""
        return self.metrics.goal_met

    def report(self, folder: str | Path) -> Path:
        """Write `report.html` with result, animation, plots and provenance into a folder and return its path."""
        return write_report(self.record, self.metrics, self.task.system, self.task, folder, self.call)

    def show(self) -> Path | None:
        """Play the run: inline in a notebook, elsewhere in a browser; see `ShownPage.show`."""
        return self._page().show()

    def __repr__(self) -> str:
        """Tell task, verdict and errors in one line."""
        return f"Run of {self._verdict()}; {self.record!r}"

    def _repr_html_(self) -> str:
        return self._page()._repr_html_()

    def _verdict(self) -> str:
        errors = f"{self.metrics.angle_error_deg:.2f} deg, {self.metrics.position_error_mm:.2f} mm at the end"
        return f"{self.task.name}: goal {'met' if self.goal_met else 'missed'}, {errors}"

    def _page(self) -> ShownPage:
        judged = evaluate_object(self.record, self.task)
        scene = build_scene(self.record, self.task.system, judged)
        return ShownPage(render_animation(self._verdict(), SCENE_CAPTION + SOURCES[judged.source], scene))


def simulate(
    task: Task,
    plan: Plan | None = None,
    *,
    plant: str = "drake",
    perturbation: PlantPerturbation | None = None,
    controller: str | None = None,
    settings: Sequence[str] = (),
    params: str | Path | None = None,
    seed: int = 0,
) -> Run:
    """Run a task to the end of its hold: plant, sensors, estimator, controller and bridge in lockstep.

    Parameters
    ----------
    task, plan
        What to run, and the reference to follow; by default the task is planned.
    plant : str
        Physics engine: "drake", "mujoco" or "gazebo". None of them is the model that the controller plans with.
    perturbation : PlantPerturbation, optional
        What differs between the plant and the model; nothing by default.
    controller : str, optional
        What follows the reference, of `contact_mpc.loop.controllers`; that of the parameter file by default.
    settings : sequence of str
        "node.key=value" on top of the parameter file, as ``--set`` takes them.
    params : str or Path, optional
        Parameter file of the nodes; by default that of the task in config/nodes.
    seed : int
        Of the sensor noise.

    Raises
    ------
    ConfigError
        An unknown plant, controller or parameter; the message says what is allowed.
    StackError
        The loop broke off without a command.
    """
    config = load_loop_config(params or default_parameter_file(task), plant, tuple(settings), controller)
    reference = task.plan() if plan is None else plan
    compile_ahead(plant)
    result = run_apart("loop", _run_loop, task, reference, config, perturbation, seed)
    metadata = {"seed": seed, "perturbation": perturbation or "none"}
    record = record_of_loop(result, task, reference, config, metadata)
    given: dict[str, tuple[Any, Any]] = {
        "plan": (plan, None),
        "plant": (plant, "drake"),
        "perturbation": (perturbation, None),
    }
    given |= {"controller": (controller, None), "settings": (tuple(settings), ()), "params": (params, None)}
    call = describe_call("simulate", task, **_unusual(given), seed=seed)
    return Run(task, record, compute_metrics(record, task.system, task), call)


def _unusual(given: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Return the arguments, of (value, default) by name, that are not their defaults."""
    return {name: value for name, (value, default) in given.items() if value is not default and value != default}


def _run_loop(
    task: TaskConfig, plan: Plan, config: LoopConfig, perturbation: PlantPerturbation | None, seed: int
) -> Any:
    return run_closed_loop(task.system, task, plan, config, perturbation=perturbation, seed=seed)


def read_bag(path: str | Path, task: str | Path | None = None, namespace: str | None = None) -> Run:
    """Read a bag of a run, whoever recorded it.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 bag, or its .mcap or .db3 file.
    task : str or Path, optional
        Name or path of the task; by default the bag says.
    namespace : str, optional
        That of the robot, e.g. "/iiwa_left", where a bag holds several, or a robot whose arms each have a driver.

    Raises
    ------
    BagError
        Nothing in the bag is readable, or the object's pose is not in it; names file and topic.
    """
    from contact_mpc.bags.bag import read_run  # rosbags, an extra

    record = read_run(path, namespace)
    found = _task(find_task(record, task))
    chosen = "" if namespace is None else f", namespace={namespace!r}"
    call = f"contact_mpc.read_bag({str(path)!r}{chosen})"
    return Run(found, record, compute_metrics(record, found.system, found), call)


@dataclass(frozen=True)
class Evaluation:
    """Many trials of a task, each with another plant, start and noise.

    Attributes
    ----------
    outcomes : tuple of TrialOutcome
        How each trial ended, in their order.
    result : dict
        Rates with their intervals, errors and failures, with the keys of ``evaluate --json``.
    spec : EvaluationSpec
        What the trials were drawn from.
    call : str
        The line of Python that gives this evaluation again, for its page.
    """

    outcomes: tuple[TrialOutcome, ...]
    result: dict[str, Any]
    spec: EvaluationSpec
    call: str = ""

    @property
    def success_rate(self) -> float:
        """Share of the trials that met the goal."""
        return float(self.result["success_rate"])

    def report(self, folder: str | Path) -> Path:
        """Write `evaluation.html` with plots, tables and the worst trial, which runs again, and return its path."""
        return write_result_page("evaluation", self._page_values, folder)

    def show(self) -> Path | None:
        """Show the page of the report: inline in a notebook, elsewhere in a browser; see `ShownPage.show`."""
        return self._page().show()

    def __repr__(self) -> str:
        """Tell task and rate in one line."""
        task, met = self.spec.cases[0].task, sum(item.goal_met for item in self.outcomes)
        return f"Evaluation of {task.name}: {met} of {len(self.outcomes)} trials met the goal"

    def _repr_html_(self) -> str:
        return self._page()._repr_html_()

    def _page(self) -> ShownPage:
        return ShownPage(render_evaluation_report(to_plain(self._page_values)), height_px=900)

    @cached_property
    def _page_values(self) -> dict[str, Any]:
        animation = run_apart("loop", animate_trial, self.spec, self.result["worst"])
        return {**self.result, "command_line": self.call, "animation": animation}


def evaluate(
    task: Task,
    *,
    trials: int = 20,
    seed: int = 0,
    axis: str = ALL,
    plant: str = "drake",
    controller: str | None = None,
    settings: Sequence[str] = (),
    params: str | Path | None = None,
    disturbance_scale: float = 1.0,
    noise_scale: float = 1.0,
    jobs: int = 1,
    progress: Callable[[int, TrialOutcome], None] | None = None,
) -> Evaluation:
    """Run a task many times with perturbed starts and plants; the figures are those of ``contact-mpc evaluate``.

    Parameters
    ----------
    task : Task
        What to run.
    trials, seed : int
        Number of trials, and what draws their seeds; a longer evaluation begins with the same trials.
    axis : str
        "+x" .. "-z", or "all": those of the task file.
    plant, controller, settings, params
        As in `simulate`.
    disturbance_scale, noise_scale : float
        Factors on the deviations of the plant and on the noise of the poses.
    jobs : int
        Trials at the same time.
    progress : callable, optional
        Called with index and outcome of each trial as it ends.

    Raises
    ------
    ConfigError, PlanError
        As `simulate` and `Task.plan`.
    """
    loop = load_loop_config(params or default_parameter_file(task), plant, tuple(settings), controller)
    cases = make_cases(task, axis)
    spec = EvaluationSpec(cases, loop, disturbance_of(task), disturbance_scale, noise_scale)
    compile_ahead(plant)
    outcomes: dict[int, TrialOutcome] = {}
    work = [(spec, item) for item in trial_seeds(seed, trials, len(cases))]
    for index, outcome in run_parallel(run_trial if jobs > 1 else _run_trial_apart, work, jobs):
        outcomes[index] = outcome
        if progress is not None:
            progress(index, outcome)
    ended = tuple(outcomes[index] for index in sorted(outcomes))
    given: dict[str, tuple[Any, Any]] = {
        "axis": (axis, ALL),
        "plant": (plant, "drake"),
        "controller": (controller, None),
    }
    given |= {"settings": (tuple(settings), ()), "params": (params, None)}
    given |= {"disturbance_scale": (disturbance_scale, 1.0), "noise_scale": (noise_scale, 1.0)}
    call = describe_call("evaluate", task, trials=trials, seed=seed, **_unusual(given))
    return Evaluation(ended, describe_evaluation(task, spec, ended, seed), spec, call)


def _run_trial_apart(spec: EvaluationSpec, seed: int) -> TrialOutcome:
    return run_apart("loop", run_trial, spec, seed)
