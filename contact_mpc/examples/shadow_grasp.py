"""The Shadow hand takes an object of 0.2 kg with its palm down and holds it, by penalty forces (seeds/002, III-C).

Every joint keeps an impedance about a posture; that of the fingers closes by SQUEEZE beyond where they touch. Of the
paper's figures 7 and 8 this is the penalty's half: its gains and the failure of its constraint-based run at 5.8 s are
not given in numbers.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.examples.film import write_animation
from contact_mpc.examples.grasp.grippers import MASS_KG
from contact_mpc.examples.grasp.run import RAMP_S, STEP_S, Record
from contact_mpc.examples.grasp.shadow import PREFIX, ShadowGrasp, build_shadow_grasp
from contact_mpc.examples.plotting import COLOURS, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.model.kinematic_tree import IntArray
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DURATION_S, LONGEST_S, HELD_M, WEIGHT_TOLERANCE = 1.0, 60.0, 0.01, 0.02
SQUEEZE = 0.15  # closure beyond touch
SCALING_S_PER_M = 1e4
PARTS = ("palm", "ff", "mf", "rf", "lf", "th")
SAMPLE = 5
GRAVITY_M_S2 = 9.81


def shadow_grasp(settings: Settings) -> ExampleResult:
    """Grasp and hold with the Shadow hand."""
    check_allowed(settings, "shadow_grasp", (), STEP_S)
    if settings.gripper is not None:
        raise InputError("--gripper belongs to the example penalty_grasp; the hand of shadow_grasp is the Shadow hand")
    thing, duration_s = settings.thing or "sphere", settings.duration_s or DURATION_S
    if not 0.2 <= duration_s <= LONGEST_S:
        raise InputError(f"--duration {duration_s} s; expected 0.2 to {LONGEST_S:g} s")
    grasp = build_shadow_grasp(thing, PenaltyParameters(scaling_s_per_m=SCALING_S_PER_M))
    run, carried_n = simulate_shadow(grasp, duration_s)
    late = run.forces_n[-1] if run.forces_n else np.zeros(len(PARTS))
    is_held = bool(not run.error and run.slip_m < HELD_M)
    found: dict[str, Any] = {
        "object": thing, "duration_s": duration_s, "joints": grasp.system.n_a, "fingers": list(grasp.fingers),
        "is_held": is_held, "slip_mm": 1e3 * run.slip_m if run.times_s else None, "carried_n": carried_n,
        "force_n": dict(zip(PARTS, late.tolist(), strict=True)), "real_time_factor": run.real_time_factor,
        "error": run.error,
    }  # fmt: skip
    weight = MASS_KG * GRAVITY_M_S2
    slip = f", slip {1e3 * run.slip_m:.2f} mm" if run.times_s else f": {run.error}"
    rows = [
        Row("held", ("yes" if is_held else "no") + slip, f"slip below {1e3 * HELD_M:g} mm", is_held),
        Row(
            "carried at the end",
            f"{carried_n:.3f} N",
            f"{weight:.3f} N",
            bool(abs(carried_n / weight - 1.0) < WEIGHT_TOLERANCE),
        ),
        Row("normal forces", ", ".join(f"{part} {f:.1f}" for part, f in zip(PARTS, late, strict=True)) + " N"),
        Row("real-time factor", f"{run.real_time_factor:.3f}"),
    ]
    arrays = {key: np.array(getattr(run, key)) for key in ("times_s", "forces_n", "position_m")}
    name = f"shadow_grasp_{thing}"
    pages = {name: partial(write_animation, name, grasp.system, run.film)} if run.times_s else {}
    return ExampleResult(rows, found, arrays, {"shadow_grasp": partial(_draw, run, thing)}, pages)


def simulate_shadow(grasp: ShadowGrasp, duration_s: float) -> tuple[Record, float]:
    """Return what a grasp showed, and the weight that the hand carries at its end, N."""
    system, engine = grasp.system, grasp.engine
    n, start = system.n_q_u, grasp.q[system.n_q_u :].copy()
    closing, part = grasp.closing.sum(axis=0), _parts(grasp)
    engine.compile()
    engine.reset(grasp.q)
    record, began, drive = Record(), time.process_time(), np.zeros(engine.n_v)
    carried = 0.0
    try:
        for k in range(round(duration_s / STEP_S)):
            target = start + SQUEEZE * min(1.0, k * STEP_S / RAMP_S) * closing
            drive[6:] = engine.gravity_torques()[6:] + system.kp * (target - engine.q[n:]) - system.kd * engine.v[6:]
            engine.advance((k + 1) * STEP_S - engine.t_s, drive)
            if (k + 1) % SAMPLE == 0:
                wrenches = engine.settle_forces()
                forces = np.zeros(len(PARTS))
                np.add.at(forces, part, np.linalg.norm(wrenches[:, :3], axis=1))
                record.times_s.append(engine.t_s)
                record.forces_n.append(forces)
                record.position_m.append(engine.q[4:7].copy())
                record.slide_m.append(0.0)
                record.keep_contacts(engine)
                carried = -float((wrenches[:, 2] + wrenches[:, 5]) @ _signs(grasp))
    except InputError as error:
        record.error = str(error)
    record.real_time_factor = engine.t_s / max(time.process_time() - began, 1e-9)
    return record, carried


def _parts(grasp: ShadowGrasp) -> IntArray:
    """Return the index of a pair's finger in PARTS, for each pair; all that is no finger counts as palm."""
    names = [_hand_link(grasp, pair).removeprefix(PREFIX)[:2] for pair in grasp.engine.scene.pairs]
    return np.array([PARTS.index(name) if name in PARTS else 0 for name in names], dtype=np.int64)


def _hand_link(grasp: ShadowGrasp, pair: IntArray) -> str:
    links = [grasp.system.geometries[int(g)].link for g in pair[:2]]
    return next(link for link in links if link.startswith(PREFIX))


def _signs(grasp: ShadowGrasp) -> FloatArray:
    """Return 1 for pairs whose first body is the object, on which their forces act, and -1 for the others."""
    firsts = [grasp.system.geometries[int(pair[0])].link for pair in grasp.engine.scene.pairs]
    return np.array([-1.0 if link.startswith(PREFIX) else 1.0 for link in firsts])


def _draw(run: Record, thing: str) -> "Figure":
    figure, axes = new_figure(2, 1, f"Shadow hand, palm down: {thing}")
    forces, p = np.array(run.forces_n), np.array(run.position_m)
    for i, part in enumerate(PARTS):
        axes[0, 0].plot(run.times_s, forces[:, i], color=COLOURS[i % len(COLOURS)], label=part)
    axes[1, 0].plot(run.times_s, 1e3 * np.linalg.norm(p - p[0], axis=1), color=COLOURS[0])
    label(axes[0, 0], "Normal force of each finger and the palm", "time, s", "N")
    label(axes[1, 0], "The object, from where it was", "time, s", "mm")
    axes[0, 0].legend(loc="best")
    return figure
