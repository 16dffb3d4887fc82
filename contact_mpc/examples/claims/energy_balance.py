"""Power of every element of a squeezed ball that is pulled along: what the command brings, where it goes.

The parallel gripper of seeds/001, by LCP and QP: sticking stores the work of the command in springs, sliding turns it
into friction, 2 mu N v = 3.2 W, and rest ends both. Of the QP the opening gap takes the place of friction: its contacts
lose phi f_n, which is zero in the first step of sliding, and the same 3.2 W as soon as the gap stands.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.analysis.energy_balance import EnergyBalance, balance_energy
from contact_mpc.examples.parallel_gripper import (
    DURATION_S,
    FRICTION,
    FRICTION_N,
    PULL_M_S,
    SQUEEZE_M,
    command,
    start,
)
from contact_mpc.examples.plotting import COLOURS, GREY, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed, relative_row
from contact_mpc.examples.trajectory import make_dynamics, write_run
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("lcp", "qp", "socp")
H_S = 0.001
SLIDING_S = (0.1, 0.145)
NAMES = ("command", "stored", "contacts", "motion", "step", "weight")


def run_balance(formulation: str, h_s: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of steps (N,), s, and the energies of each (N, 6), J, in the order of NAMES; and the residual."""
    system = load_system("parallel_gripper")
    dynamics = make_dynamics(system, formulation, h_s, "quasistatic")
    q, u = start(system), start(system)[system.n_q_u :]
    rows: list[EnergyBalance] = []
    for k in range(round(DURATION_S / h_s)):
        before, u = u, command(system, (k + 1) * h_s)
        result = dynamics.step(q, u)
        rows.append(balance_energy(dynamics, q, u, before, result))
        q = result.q_next
    times_s = np.asarray(h_s * np.arange(1, len(rows) + 1), dtype=np.float64)
    return times_s, np.array([[*(getattr(row, name) for name in NAMES), row.residual] for row in rows])


def energy_balance(settings: Settings) -> ExampleResult:
    """Balance LCP and QP, or one formulation."""
    check_allowed(settings, "energy_balance", FORMULATIONS, 0.01)
    h_s, chosen = settings.h_s or H_S, (settings.formulation,) if settings.formulation else ("lcp", "qp")
    runs = {name: run_balance(name, h_s) for name in chosen}
    rows: list[Row] = []
    figures: dict[str, Any] = {"h_s": h_s}
    for name, (times_s, energies) in runs.items():
        rows += _rows(name, h_s, times_s, energies)
        figures[name] = {f"{key}_j": float(v) for key, v in zip(NAMES, energies[:, :-1].sum(axis=0), strict=True)}
        figures[name]["residual_j"] = float(np.abs(energies[:, -1]).max())
    arrays = {f"{name}_energy_j": energies for name, (_, energies) in runs.items()}
    plots = {"energy_balance": partial(_draw, runs, h_s)}
    return ExampleResult(rows, figures, arrays, plots, {"energy_balance": partial(_animate, chosen[-1], h_s)})


def _animate(formulation: str, h_s: float, folder: Path) -> Path:
    system = load_system("parallel_gripper")
    dynamics = make_dynamics(system, formulation, h_s, "quasistatic")
    return write_run("energy_balance", dynamics, start(system), partial(command, system), DURATION_S, folder)


def _rows(name: str, h_s: float, times_s: FloatArray, energies: FloatArray) -> list[Row]:
    total, head = dict(zip(NAMES, energies[:, :-1].sum(axis=0), strict=True)), name.upper()
    sliding = (times_s > SLIDING_S[0]) & (times_s <= SLIDING_S[1])
    friction = float(energies[sliding, 2].mean() / h_s)
    left = float(np.abs(energies[:, -1]).max())
    least = float(energies[:, 2:5].min())
    excess = 0.0 if name == "lcp" else h_s * FRICTION * PULL_M_S / SQUEEZE_M  # of N by the gap of sliding
    return [
        relative_row(
            f"{head}: contacts lose while sliding", friction, FRICTION_N * PULL_M_S * (1.0 + excess), 0.02, "W"
        ),
        Row(f"{head}: command brings", f"{1e3 * total['command']:.2f} mJ"),
        Row(f"{head}: springs keep", f"{1e3 * total['stored']:.2f} mJ"),
        Row(f"{head}: contacts lose", f"{1e3 * total['contacts']:.2f} mJ"),
        Row(f"{head}: implicit steps lose", f"{1e3 * total['step']:.2f} mJ"),
        Row(f"{head}: not accounted for in any step", f"{left:.1e} J", "1e-7 J", left < 1e-7),
        Row(f"{head}: least that anything loses (passive)", f"{least:.1e} J", "not below -1e-8 J", least > -1e-8),
    ]


def _draw(runs: dict[str, tuple[FloatArray, FloatArray]], h_s: float) -> "Figure":
    figure, axes = new_figure(
        2, len(runs), f"Energy of the parallel gripper, h = {h_s:g} s", 5.0 * len(runs) + 0.6, 2.5
    )
    for column, (name, (times_s, energies)) in zip(axes.T, runs.items(), strict=True):
        for i, (colour, text) in enumerate(zip(COLOURS, ("command", "springs", "contacts"), strict=False)):
            column[0].plot(times_s, energies[:, i] / h_s, color=colour, label=text)
            column[1].plot(times_s, 1e3 * np.cumsum(energies[:, i]), color=colour, label=text)
        lost = energies[:, 3] + energies[:, 4]
        column[0].plot(times_s, lost / h_s, color=COLOURS[3], label="steps and motion")
        column[1].plot(times_s, 1e3 * np.cumsum(lost), color=COLOURS[3], label="steps and motion")
        column[0].axhline(FRICTION_N * PULL_M_S, color=GREY, linestyle="--", linewidth=1, label="2 mu N v = 3.2 W")
        column[0].set_ylim(-0.5, 6.0)
        label(column[0], f"{name.upper()}: power", "", "W")
        label(column[1], "Energy so far", "time, s", "mJ")
        column[0].legend(loc="upper right")
    return figure
