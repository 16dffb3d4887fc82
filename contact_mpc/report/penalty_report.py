"""The page of ``contact-mpc study penalty_grasp``: energy ratios over stiffness and depth, and the grasps' tables."""

from pathlib import Path
from typing import Any

from contact_mpc.report.plotting.figures import ESTIMATED, REFERENCE, TRUE, Figure, log_axis
from contact_mpc.report.summary_page import write_page

COLOURS = (TRUE, ESTIMATED, REFERENCE)
SWEEPS = {  # axis: what it is, what stays at its chosen value, figure of the paper
    "stiffness_factor": ("stiffness g1, times the chosen one", "depth_mm", "5"),
    "depth_mm": ("depth d_t, mm", "stiffness_factor", "6"),
}
CHOSEN = {"stiffness_factor": 1.0, "depth_mm": 2.0}


def write_penalty_report(result: dict[str, Any], folder: Path) -> Path:
    """Write penalty_grasp.html into a folder from the command's JSON result, and return its path."""
    subtitle = f"{result['integrator']} · held for {result['duration_s']:g} s · gamma {result['scaling_s_per_m']:g} s/m"
    figures = [_sweep(result["energy"], key) for key in SWEEPS] if result["energy"] else []
    tables = {"Grasps": _grasp_rows(result["grasps"])}
    return write_page(
        folder.expanduser() / "penalty_grasp.html", "Contact by overlap", subtitle, figures, tables, result
    )


def _sweep(items: list[dict[str, Any]], key: str) -> Figure:
    """Return the energy ratio over one parameter, a line per gain; runs that failed are left out."""
    name, fixed, number = SWEEPS[key]
    figure = Figure(f"energy_{key}", f"Energy ratio over {name}", f"1: nothing wobbles; figure {number} of the paper.")
    kept = [item for item in items if abs(item[fixed] - CHOSEN[fixed]) < 1e-9 and item["energy_ratio"] is not None]
    gains = sorted({item["gain_per_n"] for item in kept})
    for colour, gain in zip(COLOURS, gains, strict=False):
        points = sorted((item[key], item["energy_ratio"]) for item in kept if item["gain_per_n"] == gain)
        line = {"type": "scatter", "mode": "lines+markers", "name": f"g_i = {gain:g} 1/N", "line": {"color": colour}}
        figure.traces.append({**line, "x": [x for x, _ in points], "y": [y for _, y in points]})
    figure.level(1.0, "a body fixed to the gripper")
    figure.layout.update(xaxis=log_axis(name), yaxis={"title": {"text": "energy ratio"}})
    return figure


def _grasp_rows(grasps: list[dict[str, Any]]) -> list[list[str]]:
    rows = [["gripper, object", "penalty", "forces, N", "slip, mm", "real time", "Bullet", "forces, N", "slip, mm"]]
    for item in grasps:
        row = [f"{item['gripper']}, {item['object']}"]
        for name in ("penalty", "bullet"):
            found = item[name]
            forces = "-" if found["force_n"] is None else " ".join(f"{force:.1f}" for force in found["force_n"])
            slip = "-" if found["slip_mm"] is None else f"{found['slip_mm']:.2f}"
            row += ["held" if found["is_held"] else "not held", forces, slip]
            row += [f"{found['real_time_factor']:.3f}"] if name == "penalty" else []
        rows.append(row)
    return rows
