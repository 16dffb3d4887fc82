"""``contact-mpc bench contact-implicit``: random pushes solved cold and warm, beside IPOPT alone.

Cold: every start, search and polish, ranked by cost. Warm: from states on the way to the first hit, with noise, as in
the receding horizon. The peer solves the exact program from the first of the same guesses, on some of the same
instances, in turns with ours; the ratio is of medians, peer over ours. Times are CPU times of one thread.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.bench.planning.contact_implicit_workload import IpoptAlone, draw_pushes, draw_states
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.task.task import load_task
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.replan.receding_horizon import ReplanStatus, start_receding_horizon
from contact_mpc.planning.push.program.size import PAPER, count_size
from contact_mpc.planning.push.task import read_settings
from contact_mpc.evaluation.statistics import statistics_of

TASK = "anypulator_block"
SHARE_SOLVED, LARGEST_RESIDUAL = 0.95, 1e-8
COLD_MEDIAN_MS, COLD_P90_MS, WARM_MEDIAN_MS = 450.0, 700.0, 80.0


def bench_contact_implicit(
    instances: Annotated[int, typer.Option(min=1, max=10_000, help="Random pushes.")] = 100,
    peer_instances: Annotated[int, typer.Option(min=0, max=10_000, help="How many of them IPOPT solves, too.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the pushes and of the noise.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Solve random pushes of a block cold and warm, and some of them with IPOPT alone."""
    task = load_task(TASK)
    planner = ContactImplicitPlanner(task.system, read_settings(task))
    peer = IpoptAlone(planner) if peer_instances else None
    rng, found = np.random.default_rng(seed + 1), _Figures()
    with LineBar() as bar:
        pushes = draw_pushes(task, planner, instances, seed)
        for index, push in enumerate(bar.track(pushes, total=instances, description="bench contact-implicit")):
            result = planner.plan(push.instance)
            found.add_cold(push, result)
            if result.solution is not None:
                horizon = start_receding_horizon(planner, push.instance, result)
                for t_s, q, v in draw_states(planner, push.instance, result.solution, rng):
                    found.add_warm(horizon.replan(t_s, q, v))
            if peer is not None and index < peer_instances:
                found.add_peer(*peer.solve(push.instance), 1e3 * result.cpu_s)
    sizes = count_size(planner.program, planner.search_bounds(push.instance, 1e-2, planner.contact_steps()[0]))
    result_object = found.summarise(seed, vars(sizes), planner.library.is_compiled)
    emit(result_object, as_json, make_table(result_object))
    raise typer.Exit(0 if result_object["goal_met"] else EXIT_GOAL_MISSED)


class _Figures:
    """Collects what the solves come to."""

    def __init__(self) -> None:
        self.cold_ms: list[float] = []
        self.warm_ms: list[float] = []
        self.peer_ms: list[float] = []
        self.beside_peer_ms: list[float] = []
        self.iterations: list[float] = []
        self.warm_iterations: list[float] = []
        self.residuals: list[float] = []
        self.failures: list[dict[str, Any]] = []
        self.warm_solved = self.peer_solved = 0

    def add_cold(self, push: Any, result: Any) -> None:
        self.cold_ms.append(1e3 * result.cpu_s)
        self.iterations.append(result.iterations)
        if result.is_solved:
            self.residuals.append(max(result.residuals.dynamics, result.residuals.complementarity))
        else:
            self.failures.append({
                "index": len(self.cold_ms) - 1, "displacement_m": push.displacement_m,
                "direction_deg": push.direction_deg, "residuals": result.residuals,
            })  # fmt: skip

    def add_warm(self, outcome: Any) -> None:
        self.warm_ms.append(1e3 * outcome.cpu_s)
        self.warm_solved += outcome.status is ReplanStatus.REPLANNED
        if outcome.result is not None:
            self.warm_iterations.append(outcome.result.iterations)

    def add_peer(self, is_solved: bool, cpu_s: float, ours_ms: float) -> None:
        self.peer_ms.append(1e3 * cpu_s)
        self.beside_peer_ms.append(ours_ms)
        self.peer_solved += is_solved

    def summarise(self, seed: int, sizes: dict[str, int], is_compiled: bool) -> dict[str, Any]:
        cold, warm = statistics_of(self.cold_ms), statistics_of(self.warm_ms)
        success, worst = 1.0 - len(self.failures) / len(self.cold_ms), max(self.residuals, default=None)
        ratio = np.median(self.peer_ms) / np.median(self.beside_peer_ms) if self.peer_ms else None
        met = (
            success >= SHARE_SOLVED and worst is not None and worst <= LARGEST_RESIDUAL and warm is not None
            and cold is not None and cold["median"] <= COLD_MEDIAN_MS and cold["p90"] <= COLD_P90_MS
            and warm["median"] <= WARM_MEDIAN_MS
        )  # fmt: skip
        return {
            "seed": seed, "instances": len(self.cold_ms), "success_rate": success, "cold_cpu_ms": cold,
            "warm_cpu_ms": warm, "warm_success_rate": self.warm_solved / len(self.warm_ms) if self.warm_ms else None,
            "iterations": statistics_of(self.iterations), "warm_iterations": statistics_of(self.warm_iterations),
            "max_residual": worst, "ratio_ipopt_cold": ratio, "ipopt_cpu_ms": statistics_of(self.peer_ms),
            "ipopt_success_rate": self.peer_solved / len(self.peer_ms) if self.peer_ms else None,
            **sizes, "paper": PAPER, "is_compiled": is_compiled, "failures": self.failures, "goal_met": met,
        }  # fmt: skip


def make_table(result: dict[str, Any]) -> Table:
    """Return what people see."""
    title = f"contact-implicit, {result['instances']} pushes"
    table = Table("", "median", "p90", "max", title=title, title_justify="left")
    rows = {"cold, ms CPU": "cold_cpu_ms", "warm, ms CPU": "warm_cpu_ms", "IPOPT alone, ms CPU": "ipopt_cpu_ms",
            "iterations, cold": "iterations", "iterations, warm": "warm_iterations"}  # fmt: skip
    for name, key in rows.items():
        if result[key] is not None:
            table.add_row(name, *(f"{result[key][item]:.0f}" for item in ("median", "p90", "max")))
    table.add_row("solved", f"{100.0 * result['success_rate']:.0f} %")
    if result["warm_success_rate"] is not None:
        table.add_row("solved, warm", f"{100.0 * result['warm_success_rate']:.0f} %")
    if result["max_residual"] is not None:
        table.add_row("largest residual", f"{result['max_residual']:.1e}")
    if result["ratio_ipopt_cold"] is not None:
        table.add_row("IPOPT alone / ours", f"{result['ratio_ipopt_cold']:.1f}")
    for name, paper in result["paper"].items():
        table.add_row(f"{name} (paper)", f"{result[name]} ({paper})")
    return table
