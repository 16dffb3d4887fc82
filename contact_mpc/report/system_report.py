"""A system or a task to look at: shapes at the start, the object's way to its goal, fingertips and link frames."""

from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.model.fingertips import fingertip_links
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.model.system import System
from contact_mpc.report.page import write_text
from contact_mpc.report.scene.animation import AXIS_COLOURS, rod, scene_of_configurations
from contact_mpc.report.shown_page import render_animation
from contact_mpc.settings.arrays import FloatArray

CAPTION = (
    "Drag to turn, scroll to zoom, double-click to reset. Sticks are axes (x red, y green, z blue): long ones of the "
    "object, short ones of the moving links; yellow knobs are the fingertips. "
)
FINGERTIP_COLOUR = (0.95, 0.75, 0.1, 0.8)
FRAME_LENGTH_M, KNOB_M = 0.015, 0.005


def write_system_report(
    heading: str, text: str, system: System, times_s: FloatArray, q: FloatArray, out_dir: str | Path
) -> Path:
    """Write `show.html`, a page with the configurations q (n, n_q) at times_s (n,), into a folder; return its path."""
    if system.config.objects:
        R, p = system.object_pose(q[-1])
        goal, places = (matrix_to_quaternion(np.ascontiguousarray(R)), p), np.array([system.object_pose(q[0])[1], p])
    else:
        middle = forward_kinematics(system.tree, q[0])[1].mean(axis=0)
        goal, places = (np.array([1.0, 0.0, 0.0, 0.0]), middle), middle[None, :]
    scene = scene_of_configurations(system, times_s, q, goal, places)
    scene["markers"] += _link_frames(system, q[0]) + _fingertips(system, q[0])
    return write_text(Path(out_dir) / "show.html", render_animation(heading, f"{CAPTION}{text}", scene))


def _link_frames(system: System, q: FloatArray) -> list[dict[str, Any]]:
    R, p = forward_kinematics(system.tree, q)
    first = {int(system.tree.dof_body[system.n_v_u + a]) for a in range(system.n_a)}
    found = []
    for body in sorted(first):
        pose = {"p": p[body].tolist(), "q": matrix_to_quaternion(np.ascontiguousarray(R[body])).tolist()}
        for axis, colour in enumerate(AXIS_COLOURS):
            shape = rod(axis, 0.05 * FRAME_LENGTH_M, FRAME_LENGTH_M)
            found.append({"body": None, **pose, "color": [*colour, 1.0], "shapes": [shape]})
    return found


def _fingertips(system: System, q: FloatArray) -> list[dict[str, Any]]:
    R, p = forward_kinematics(system.tree, q)
    found = []
    for owner, link in sorted(fingertip_links(system)):
        item = [g for g in system.geometries if (g.owner, g.link) == (owner, link)][-1:]
        for g in item:
            place = R[g.body] @ g.X_BG.p + p[g.body] if g.body >= 0 else g.X_BG.p
            knob = {"kind": "sphere", "size": [KNOB_M], "p": [0.0, 0.0, 0.0], "q": [1.0, 0.0, 0.0, 0.0]}
            pose = {"p": place.tolist(), "q": [1.0, 0.0, 0.0, 0.0]}
            found.append({"body": None, **pose, "color": list(FINGERTIP_COLOUR), "shapes": [knob]})
    return found
