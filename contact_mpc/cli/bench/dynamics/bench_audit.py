"""``contact-mpc bench audit``: random states of every system in every formulation, judged by the laws alone.

What is checked, how, and in which units: `contact_mpc.dynamics.analysis.audit`. The goal is that no step which says
"converged" is wrong. States are drawn in blocks with seeds of their own, so that figures do not depend on ``--jobs``.
An audit of all that ships begins with states in which steps were once wrong (`named_states`).
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from contact_mpc.cli.bench.dynamics.named_states import judge_named_states
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.dynamics.analysis.audit import Audit, audit_states, figures
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.errors import InputError
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.task import load_task

BLOCK = 50  # states
PALM_STARTS = 60
Task = tuple[str, str, int, int]


def bench_audit(
    systems: Annotated[
        list[str] | None, typer.Argument(help="Systems or their files; all that are shipped where none is named.")
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Systems of two shapes each in place of the shipped ones: cylinders, meshes."),
    ] = False,
    formulations: Annotated[str, typer.Option(help="Formulations, separated by commas.")] = ",".join(FORMULATIONS),
    states: Annotated[int, typer.Option(min=1, help="States per system and formulation.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the states.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge converged steps by balance, friction cones, complementarity, penetration, frame and derivatives."""
    methods = formulations.split(",")
    if unknown := [item for item in methods if item not in FORMULATIONS]:
        raise InputError(f"--formulations {', '.join(unknown)}; allowed: {', '.join(FORMULATIONS)}")
    if pairs and systems:
        raise InputError(f"--pairs stands in place of systems; leave out {', '.join(systems)}")
    if pairs:
        from contact_mpc.cli.bench.dynamics.pair_systems import write_pair_systems

        with TemporaryDirectory() as folder:
            result = audit([str(file) for file in write_pair_systems(Path(folder))], methods, states, seed, jobs)
    else:
        named = [] if systems else [case for case in named_cases(seed) if case["formulation"] in ("", *methods)]
        result = audit(systems or resource_names("systems"), methods, states, seed, jobs)
        result["named_states"] = named
        result["wrong_steps"] += sum(case["wrong_steps"] for case in named)
        result["goal_met"] = result["wrong_steps"] == 0
    emit(result, as_json, make_table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def named_cases(seed: int) -> list[dict[str, Any]]:
    """Return the figures of the states of `named_states`, with a word meanwhile."""
    with Console(stderr=True).status("bench audit: named states"):
        return judge_named_states(PALM_STARTS, seed)


def audit(names: Sequence[str], methods: list[str], states: int, seed: int, jobs: int) -> dict[str, Any]:
    """Return the figures of all systems (names or files) and formulations, with a bar meanwhile."""
    rows = [(name, method) for name in names for method in methods]
    sizes = [min(BLOCK, states - start) for start in range(0, states, BLOCK)]
    tasks: list[Task] = [(*row, size, seed + 1000003 * k) for row in rows for k, size in enumerate(sizes)]
    found = {row: Audit() for row in rows}
    with LineBar() as bar:
        shown = bar.add_task("bench audit", total=len(tasks))
        for index, part in run_parallel(audit_block, tasks, jobs):
            found[tasks[index][:2]].add(part)
            bar.update(shown, advance=1, description=f"{Path(tasks[index][0]).stem}, {tasks[index][1]}")
    audits = [
        {"system": Path(name).stem, "formulation": method, **figures(found[name, method])} for name, method in rows
    ]
    wrong = sum(item["wrong_steps"] for item in audits)
    return {
        "seed": seed,
        "states": sum(item["states"] for item in audits),
        "wrong_steps": wrong,
        "audits": audits,
        "goal_met": wrong == 0,
    }


def audit_block(name: str, formulation: str, states: int, seed: int) -> Audit:
    """Judge a block of states of one system in one formulation, about the start of the task of that name, if any."""
    system = load_system(name)
    q_centre = load_task(name).start_q if name in resource_names("tasks") else system.q_default
    return audit_states(system, formulation, q_centre, states, seed)


def make_table(result: dict[str, Any]) -> Table:
    """Return what people see."""
    heads = ("wrong", "balance N", "cone N", "penetration m", "complementarity", "frame", "A, B")
    table = Table("system", "formulation", "converged %", "with A, B %", *heads, title="Steps, judged by the laws")
    for row in result["audits"]:
        worst = [f"{value:.0e}" for key, value in row.items() if key.startswith("worst_")]
        shares = [f"{100.0 * row[key]:.1f}" for key in ("share_converged", "share_differentiable")]
        table.add_row(row["system"], row["formulation"], *shares, str(row["wrong_steps"]), *worst)
    table.caption = f"{result['states']} states, {result['wrong_steps']} wrong steps; worst of each"
    for case in result.get("named_states", ()):
        table.caption += f"\n{case['case']} {case['formulation']}: {case['wrong_steps']} of {case['steps']} steps wrong"
    return table
