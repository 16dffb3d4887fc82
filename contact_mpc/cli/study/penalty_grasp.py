"""``contact-mpc study penalty_grasp``: grasps and parameters of seeds/002, beside Bullet and the paper.

Grasps: every gripper with every object, held for a time. Energy: a gripper (the three-fingered one) shakes an object
(the sphere) along x by a sine; the ratio is the object's kinetic energy over that of a body fixed to the gripper, 1
where nothing wobbles (figures 5 and 6), over stiffness g1, gain g_i and depth d_t. Everything runs in parallel through
joblib.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, page_values, require_writable
from contact_mpc.errors import InputError
from contact_mpc.evaluation.campaign import check_backend, run_parallel
from contact_mpc.examples.grasp.bullet import simulate_bullet
from contact_mpc.examples.grasp.run import simulate_penalty, touching_start
from contact_mpc.examples.grasp.grippers import GRIPPERS, OBJECTS, build_grasp
from contact_mpc.examples.penalty_grasp import figures_of
from contact_mpc.plants.penalty.engine import INTEGRATORS, PenaltyEngine
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.report.pages import write_result_page

AMPLITUDE_M, PERIOD_S, START_S = 0.01, 0.5, 0.2
STIFFNESSES, GAINS, DEPTHS_M = (0.1, 1.0, 10.0), (0.0, 250.0, 2500.0), (2e-4, 2e-3, 2e-2)
FREE_CAP = 100.0  # of delta_i in the sweeps: the usual cap of 1 hides what gains do
PAPER = {
    "grasps": "all held by penalty forces; Bullet fails for revolute grippers, two fingers and a ball at 7.7 s",
    "energy": "ratio 1 at the chosen g1, g_i, d_t; energy created at high g1 and g_i, and at small d_t",
}


def penalty_grasp(
    grippers: Annotated[list[str] | None, typer.Option("--gripper", help="2p, 2, 3 or 4; all by default.")] = None,
    objects: Annotated[list[str] | None, typer.Option("--object", help="sphere, box or bunny; all by default.")] = None,
    duration: Annotated[float, typer.Option(min=0.2, max=60.0, help="Simulated seconds of a grasp.")] = 10.0,
    sweep: Annotated[bool, typer.Option(help="Energy ratios over stiffness, gain and depth.")] = True,
    sweep_gripper: Annotated[str, typer.Option(help="What shakes in the sweep: 2p, 2, 3 or 4.")] = "3",
    sweep_object: Annotated[str, typer.Option(help="What is shaken: sphere, box or bunny.")] = "sphere",
    scaling: Annotated[float, typer.Option(min=1.0, help="gamma of the friction law in the grasps, s/m.")] = 1e4,
    integrator: Annotated[str, typer.Option(help="RK45 or Radau.")] = "Radau",
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 1,
    backend: Annotated[str, typer.Option(help="Who runs them, of joblib: loky, dask or ray.")] = "loky",
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with table and plots.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Hold objects with grippers by penalty forces and in Bullet; sweep the parameters of the penalty."""
    require_writable(report)
    check_backend(backend)
    if integrator not in INTEGRATORS:
        raise InputError(f"--integrator '{integrator}'; allowed: {', '.join(INTEGRATORS)}")
    grasps = [(g, thing, duration, scaling, integrator) for g in grippers or GRIPPERS for thing in objects or OBJECTS]
    build_grasp(sweep_gripper, sweep_object)  # refuses what there is not before anything runs
    shakes = [
        (sweep_gripper, sweep_object, *task, integrator) for task in (*_sweep_stiffness(), *_sweep_depth()) if sweep
    ]
    tasks = [("grasp", *task) for task in grasps] + [("shake", *task) for task in shakes]
    found: dict[int, dict[str, Any]] = {}
    with LineBar() as bar:
        row = bar.add_task("study penalty_grasp", total=len(tasks))
        for index, figures in run_parallel(run_one, tasks, jobs, backend):
            found[index] = figures
            bar.advance(row)
    items = [found[i] for i in range(len(tasks))]
    held, energy = items[: len(grasps)], items[len(grasps) :]
    result = {
        "duration_s": duration, "scaling_s_per_m": scaling, "integrator": integrator, "grasps": held,
        "energy": energy, "paper": PAPER,
        "goal_met": all(item["penalty"]["is_held"] for item in held),
    }  # fmt: skip
    if report is not None:
        result["report"] = write_result_page("penalty_grasp", page_values(result), report)
    emit(result, as_json, _table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def _sweep_stiffness() -> list[tuple[float, float, float]]:
    """Return (factor on g1, g_i, d_t) of figure 5."""
    return [(factor, gain, 2e-3) for factor in STIFFNESSES for gain in GAINS]


def _sweep_depth() -> list[tuple[float, float, float]]:
    """Return (factor on g1, g_i, d_t) of figure 6, without what figure 5 has and without a gain of 0."""
    return [(1.0, gain, depth) for depth in DEPTHS_M if depth != 2e-3 for gain in GAINS if gain > 0.0]


def run_one(kind: str, *task: Any) -> dict[str, Any]:
    """Run one grasp (gripper, object, duration, gamma) or one shake (gripper, object, factor on g1, g_i, d_t).

    Both end with the integrator.
    """
    return _grasp(*task) if kind == "grasp" else _shake(*task)


def _grasp(gripper: str, thing: str, duration_s: float, scaling: float, integrator: str) -> dict[str, Any]:
    parameters = PenaltyParameters(scaling_s_per_m=scaling)
    grasp = build_grasp(gripper, thing)
    start = touching_start(PenaltyEngine(grasp.system, meshes=grasp.meshes), grasp)
    return {
        "gripper": gripper,
        "object": thing,
        "penalty": figures_of(simulate_penalty(grasp, duration_s, parameters, integrator=integrator), duration_s),
        "bullet": figures_of(simulate_bullet(grasp, start, duration_s), duration_s),
    }


def _shake(
    gripper: str, thing: str, factor: float, gain_per_n: float, depth_m: float, integrator: str
) -> dict[str, Any]:
    default = PenaltyParameters()
    parameters = PenaltyParameters(
        stiffness_n_per_m3=factor * default.stiffness_n_per_m3, damping_ns_per_m3=default.damping_ns_per_m3,
        gain_per_n=gain_per_n, gain_depth_m=depth_m, gain_cap=FREE_CAP,
    )  # fmt: skip
    run = simulate_penalty(
        build_grasp(gripper, thing), START_S + PERIOD_S, parameters, AMPLITUDE_M, sample=1, integrator=integrator
    )
    ratio = run.energy_ratio if not run.error else None
    return {
        "gripper": gripper, "object": thing, "stiffness_factor": factor, "gain_per_n": gain_per_n,
        "depth_mm": 1e3 * depth_m, "energy_ratio": ratio, "error": run.error,
        "real_time_factor": run.real_time_factor,
    }  # fmt: skip


def _table(result: dict[str, Any]) -> Table:
    table = Table(title=f"held for {result['duration_s']:g} s; energy ratios", title_justify="left")
    for header in ("run", "penalty", "force, N", "slip, mm", "real time", "Bullet", "force, N", "slip, mm"):
        table.add_column(header)
    for item in result["grasps"]:
        cells = [f"{item['gripper']}, {item['object']}"]
        for name in ("penalty", "bullet"):
            figures = item[name]
            force = "-" if figures["force_n"] is None else " ".join(f"{f:.1f}" for f in figures["force_n"])
            slip = "-" if figures["slip_mm"] is None else f"{figures['slip_mm']:.2f}"
            cells += ["held" if figures["is_held"] else "not held", force, slip]
            cells += [f"{figures['real_time_factor']:.3f}"] if name == "penalty" else []
        table.add_row(*cells)
    for item in result["energy"]:
        shaken = f"{item['gripper']}, {item['object']}: "
        ratio = f"ratio {item['energy_ratio']:.4f}" if item["energy_ratio"] is not None else item["error"]
        name = shaken + f"{item['stiffness_factor']:g} g1, g_i {item['gain_per_n']:g} 1/N, d_t {item['depth_mm']:g} mm"
        table.add_row(name, ratio, "", "", f"{item['real_time_factor']:.3f}")
    table.caption = "; ".join(f"paper, {key}: {text}" for key, text in PAPER.items())
    return table
