"""``contact-mpc bench derivatives``: A and B of all smooth formulations against differences, in random states.

Per system half of the states have a pair apart by 0.5 to 5 mm, half one that penetrates by 0.5 to 3 mm. Differences are
those of the step itself, central, of fourth order, extrapolated from the steps DIFFERENCE and twice that; steps of qp
and socp try the laws active at the state first (`ContactDynamics.steps_near`). The error of
a state is the largest deviation of an entry of [A B], relative to the largest entry of the differences.

Left out, and counted, are states where a step has no derivative that differences can show: near a change of mode of the
exact steps (qp, socp; laws that are not clearly active or inactive), and where the nearest feature of two shapes
changes within the differences, so that the gap has a kink or the normal jumps. Of the latter the differences speak
themselves, whatever A and B are: those of the two step lengths disagree by more than the error that is asked for.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.dynamics.batch import step_batch
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.dynamics.analysis.random_states import draw_states
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.task.task import load_task

GAPS_M = {"apart": (5e-4, 5e-3), "penetrating": (-3e-3, -5e-4)}
LARGEST_ERROR = 1e-6
PAIR_SPREAD = 0.05  # rad and m
NEWTON_TOLERANCE = 1e-24  # of the smoothed steps, down to round-off: 1e-18 leaves 2e-11 rad, 1e-4 of DIFFERENCE
DIFFERENCE = 1e-7  # rad and m; round-off is then about 1e-9 of the largest entry
MODE, UNSOLVED, FEATURE = "near_mode_change", "unsolved_nearby", "nearest_feature_changes"
MOST_LEFT_OUT = 20  # per state wanted
CLEAR_M = 2e-5  # laws of qp and socp must be that clearly active or inactive


@dataclass(frozen=True)
class Subject:
    """A system, the task whose start is the centre of its states (None: its default), and their spread, rad and m."""

    system: str
    task: str | None
    spread: float

    @property
    def name(self) -> str:
        """Return what tables call it: the system's name or its file's."""
        return Path(self.system).stem


@dataclass(frozen=True)
class Method:
    """A formulation, and the barrier weight of the smoothed one."""

    formulation: str
    kappa_per_j: float | None

    @property
    def name(self) -> str:
        """Return what tables call it."""
        return self.formulation if self.kappa_per_j is None else f"{self.formulation} {self.kappa_per_j:.0e}/J"


SUBJECTS = (
    Subject("planar_hand_ball", "planar_hand_ball", 0.01),
    Subject("allegro_ball", "allegro_ball", 0.01),
    Subject("allegro_cube", None, 0.05),
    Subject("anypulator_door", "anypulator_door", 0.1),
)
METHODS = (
    Method("log_barrier", 1e2),
    Method("log_barrier", 1e3),
    Method("log_barrier", 1e4),
    Method("log_barrier", 1e5),
    Method("qp", None),
    Method("socp", None),
)


def bench_derivatives(
    states: Annotated[int, typer.Option(min=2, help="States per system and formulation.")] = 200,
    system: Annotated[list[str] | None, typer.Option(help="One of the systems; may be repeated.")] = None,
    formulation: Annotated[list[str] | None, typer.Option(help="One of the formulations; may be repeated.")] = None,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Systems of two shapes each in place of the shipped ones: cylinders, meshes."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the states.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check A and B of log_barrier, qp and socp against central differences of the step in random states."""
    with TemporaryDirectory() as folder:
        subjects = pair_subjects(Path(folder)) if pairs else list(SUBJECTS)
        result = compare(subjects, system, formulation, states, seed)
    emit(result, as_json, make_table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def pair_subjects(folder: Path) -> list[Subject]:
    """Return systems of two shapes, whose files are written to the folder."""
    from contact_mpc.cli.bench.dynamics.pair_systems import write_pair_systems

    return [Subject(str(file), None, PAIR_SPREAD) for file in write_pair_systems(folder)]


def compare(
    known: list[Subject], system: list[str] | None, formulation: list[str] | None, states: int, seed: int
) -> dict[str, Any]:
    """Return the studies of the systems and formulations that are named, of all where none is."""
    subjects = [item for item in known if not system or item.name in system]
    methods = [item for item in METHODS if not formulation or item.formulation in formulation]
    if not subjects or not methods:
        raise InputError(
            f"system {system}, formulation {formulation}; systems: {', '.join(item.name for item in known)}; "
            "formulations: log_barrier, qp, socp"
        )
    rows = []
    with LineBar() as bar:
        for subject in subjects:
            for method in bar.track(methods, description=subject.name):
                rows.append(study(subject, method, states, seed))
    return {
        "seed": seed,
        "states": states,
        "largest_relative_error": max(row["largest_relative_error"] for row in rows),
        "studies": rows,
        "goal_met": all(row["largest_relative_error"] <= LARGEST_ERROR for row in rows),
    }


def study(subject: Subject, method: Method, states: int, seed: int) -> dict[str, Any]:
    """Return the errors of one formulation on one system; the same seed draws the same states on every machine."""
    system = load_system(subject.system)
    q_centre = load_task(subject.task).start_q if subject.task else system.q_default
    dynamics = ContactDynamics(system, method.formulation, kappa=method.kappa_per_j, tolerance=NEWTON_TOLERANCE)
    drawing = ContactDynamics(system)  # states that the smoothed step of the system itself can leave
    errors: list[float] = []
    left_out = dict.fromkeys((MODE, UNSOLVED, FEATURE), 0)
    for gap_m in GAPS_M.values():
        rng, wanted = np.random.default_rng(seed), len(errors) + states // 2
        while len(errors) < wanted:
            ((q, u),) = draw_states(drawing, q_centre, subject.spread, 1, gap_m, rng)
            error = derivative_error(dynamics, q, u)
            if isinstance(error, float):
                errors.append(error)
                continue
            left_out[error] += 1
            if sum(left_out.values()) > MOST_LEFT_OUT * states:
                raise InputError(f"{subject.name}, {method.name}: hardly a state to compare, left out {left_out}")
    return {
        "system": subject.name,
        "method": method.name,
        "states": len(errors),
        "left_out": left_out,
        "largest_relative_error": max(errors),
        "median_relative_error": float(np.median(errors)),
    }


def derivative_error(dynamics: ContactDynamics, q: FloatArray, u: FloatArray) -> float | str:
    """Return the relative error of [A B] at (q, u), or why the state is to be left out."""
    if dynamics.formulation != "log_barrier" and dynamics.margin(q, u) < CLEAR_M:
        return MODE
    linear, system = dynamics.linearize(q, u), dynamics.system
    units = np.vstack([scale * DIFFERENCE * np.eye(system.n_v + system.n_a) for scale in (1.0, -1.0, 2.0, -2.0)])
    ends = _steps(dynamics, q, u, units) if linear.is_differentiable else None
    if ends is None:
        return UNSOLVED
    y = np.array([system.difference(linear.step.q_next, end) for end in ends]).reshape(4, -1, system.n_v)
    near, far = (y[0] - y[1]).T / (2.0 * DIFFERENCE), (y[2] - y[3]).T / (4.0 * DIFFERENCE)
    J = (4.0 * near - far) / 3.0
    scale = np.abs(J).max()
    if np.abs(near - far).max() > LARGEST_ERROR * scale:
        return FEATURE
    return float(np.abs(np.hstack([linear.A, linear.B]) - J).max() / scale)


def _steps(dynamics: ContactDynamics, q: FloatArray, u: FloatArray, x: FloatArray) -> FloatArray | None:
    """Return the next configurations (N, n_q) from (q, u) moved by the rows of x (N, n_v + n_a)."""
    system: System = dynamics.system
    if dynamics.formulation != "log_barrier":
        q_next, is_converged = dynamics.steps_near(q, u, x)
        return q_next if np.all(is_converged) else None
    q_moved = np.array([system.integrate(q, row[: system.n_v]) for row in x])
    batch = step_batch(dynamics, q_moved, u + x[:, system.n_v :], linearise=False)
    return batch.q_next if np.all(batch.status == "converged") else None


def make_table(result: dict[str, Any]) -> Table:
    """Return what people see."""
    table = Table("system", "formulation", "states", "left out", "median error", "largest error", title="A and B")
    for row in result["studies"]:
        errors = (f"{row[key]:.1e}" for key in ("median_relative_error", "largest_relative_error"))
        left_out = " + ".join(str(count) for count in row["left_out"].values())
        table.add_row(row["system"], row["method"], str(row["states"]), left_out, *errors)
    table.caption = (
        f"errors relative to the largest entry; at most {LARGEST_ERROR:.0e} is asked. Left out: laws of qp and socp "
        f"that are not active or inactive by {1e6 * CLEAR_M:.0f} um + no solution nearby + nearest feature of two "
        "shapes changes within the differences"
    )
    return table
