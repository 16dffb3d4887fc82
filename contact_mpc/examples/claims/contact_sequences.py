"""One hit, a contact that lasts, two contacts: the experiments of seeds/004 from one program (figures 8 and 9).

Displacements of 0.7, 0.6 and 0.4 m of the block. The paper's solver ended with one push of 50 N, a contact over 8 steps
and two contacts, a small and a large one. Ours finds one hit for each (`contact-mpc plan anypulator_block`); here the
same equations (4) to (14) are solved with the paper's sequences given, without restitution as there. The lasting
contact has (8) and (10) at both ends of each step, rows that all but repeat each other: it is solved to 1e-4, the
others to 1e-8. Its cost (7) is higher than that of one hit: local minima, as the paper says.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.plotting import BLUE, COLOURS, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.size import PAPER, count_size
from contact_mpc.planning.push.result import ContactImplicitResult
from contact_mpc.planning.push.task import build_instance, read_settings
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import load_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASK = "anypulator_block"
LASTING_STEPS, LASTING_FROM, LASTING_TOLERANCE = 8, 12, 1e-4
SMALL, LARGE = (10, 1.0), (20, 3.0)  # step, and what its force is to the other's while it is looked for
PAPER_MS = 800.0  # "on average, it takes the solver around"
DISPLACEMENTS_M = {"one hit": 0.7, "lasting": 0.6, "small and large": 0.4}


def planner_of(tolerance: float) -> tuple[ContactImplicitPlanner, dict[str, Instance]]:
    """Return the planner without restitution, and the instances by name."""
    task = load_task(TASK)
    settings = read_settings(task, {"restitution": 0.0, "tolerance": tolerance})
    planner = ContactImplicitPlanner(task.system, settings)
    return planner, {name: build_instance(task, planner, s, None) for name, s in DISPLACEMENTS_M.items()}


def profile(name: str, steps: int) -> FloatArray:
    """Return the force profile (steps,) of a sequence."""
    forces = np.zeros(steps)
    if name == "lasting":
        forces[LASTING_FROM : LASTING_FROM + LASTING_STEPS] = 1.0
    else:
        for step, force in (SMALL, LARGE):
            forces[step] = force
    return forces


def solve_sequence(name: str) -> tuple[ContactImplicitResult, ContactImplicitPlanner, Instance]:
    """Solve one experiment."""
    planner, instances = planner_of(LASTING_TOLERANCE if name == "lasting" else 1e-8)
    instance = instances[name]
    if name == "one hit":
        return planner.plan(instance), planner, instance
    return planner.plan_sequence(instance, profile(name, planner.program.steps)), planner, instance


def forces_of(result: ContactImplicitResult, planner: ContactImplicitPlanner) -> FloatArray:
    """Return the normal force of each step (N - 1,), N; zero without a solution."""
    if result.solution is None:
        return np.zeros(planner.program.steps)
    return np.where(result.solution.modes.contact, result.solution.u[:, planner.model.n_r], 0.0)


def contact_sequences(settings: Settings) -> ExampleResult:
    """Solve the three experiments."""
    check_allowed(settings, "contact_sequences", (), 1.0)
    rows: list[Row] = []
    figures: dict[str, Any] = {}
    forces: dict[str, FloatArray] = {}
    expected = {"one hit": [1], "lasting": [LASTING_STEPS], "small and large": [1, 1]}
    for name, s in DISPLACEMENTS_M.items():
        result, planner, instance = solve_sequence(name)
        forces[name] = forces_of(result, planner)
        runs = run_lengths(forces[name])
        peaks = ", ".join(f"{force:.1f}" for force in forces[name][forces[name] > 0.0])
        rows += [
            Row(f"{s:g} m: contacts, steps", ", ".join(map(str, runs)) or result.message,
                ", ".join(map(str, expected[name])), runs == expected[name]),
            Row(f"{s:g} m: forces", f"{peaks} N"),
            Row(f"{s:g} m: largest residual, CPU", f"{_largest(result):.1e}, {1e3 * result.cpu_s:.0f} ms"),
        ]  # fmt: skip
        figures[name] = {
            "displacement_m": s, "forces_n": forces[name].tolist(), "largest_residual": _largest(result),
            "cost": min(result.costs, default=None), "cpu_ms": 1e3 * result.cpu_s,
        }  # fmt: skip
        sizes = count_size(planner.program, planner.search_bounds(instance, 1e-2, LASTING_FROM))
    small, large = forces["small and large"][[SMALL[0], LARGE[0]]] if runs == [1, 1] else (np.nan, np.nan)
    rows += [
        Row("0.4 m: large over small force", f"{large / small:.1f}", "above 1", bool(large > small)),
        Row("variables, equalities, inequalities", ", ".join(str(v) for v in vars(sizes).values()),
            "paper: " + ", ".join(str(v) for v in PAPER.values())),
        Row("CPU of the one hit, without a guess", f"{figures['one hit']['cpu_ms']:.0f} ms",
            f"paper: {PAPER_MS:g} ms on average"),
    ]  # fmt: skip
    dt_s = planner.model.dt_s
    arrays = {f"forces_{name.replace(' ', '_')}_n": force for name, force in forces.items()}
    return ExampleResult(rows, figures, arrays, {"contact_sequences": partial(_draw, forces, dt_s)})


def _largest(result: ContactImplicitResult) -> float:
    return float("inf") if result.residuals is None else result.residuals.largest


def run_lengths(force: FloatArray) -> list[int]:
    """Return for how many steps each contact lasts."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (force > 0.0).astype(int), [0]])))
    return [int(end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _draw(forces: dict[str, FloatArray], dt_s: float) -> "Figure":
    figure, axes = new_figure(
        1, 3, "Pushes of a block: normal forces as planned (figures 8, 9 of the paper)", 11.0, 2.8
    )
    for axis, colour, (name, force) in zip(axes[0], (BLUE, *COLOURS[1:]), forces.items(), strict=False):
        axis.stairs(force, dt_s * np.arange(len(force) + 1), color=colour, fill=True, alpha=0.6)
        label(axis, f"{DISPLACEMENTS_M[name]:g} m: {name}", "time, s", "N")
    axes[0, 0].axhline(50.0, color="#777777", linestyle="--", linewidth=1, label="paper: 50 N at 0.5 s")
    axes[0, 0].legend()
    return figure
