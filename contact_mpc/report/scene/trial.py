"""The animation of one trial of an evaluation, which is run again for it: the worst one says most."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from contact_mpc.errors import StackError
from contact_mpc.evaluation.trial_run import EvaluationSpec, run_loop
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.model.system import System
from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.report.scene.animation import FRAMES_PER_S, MAX_FRAMES, scene_of_configurations
from contact_mpc.settings.arrays import FloatArray

CAPTION = (
    "Of all trials the one furthest from its goal, run again; shapes as the controller's model has them. Drag to turn, "
    "scroll to zoom, double-click to reset. Translucent knobs: where the tips of the object's axes belong. "
)
Pose = tuple[FloatArray, FloatArray]


def animate_trial(spec: EvaluationSpec, trial: Mapping[str, Any], name: str = "") -> dict[str, Any] | None:
    """Return the animation of a trial for a page: title, caption, scene; None where its loop breaks off.

    Parameters
    ----------
    spec : EvaluationSpec
        What the trial was drawn from.
    trial : dict
        How it ended, see `contact_mpc.evaluation.summary.describe_worst`.
    name : str
        What it is a trial of, where there are several kinds.
    """
    seed = trial["seed"]
    case = spec.case(seed)
    try:
        result = run_loop(spec, seed, spec.draw(seed), case)
    except StackError:
        return None
    told = f"{name}, seed {seed}" if name else f"seed {seed}"
    title = f"Worst trial: {told}, goal {'met' if trial['goal_met'] else 'missed'}"
    errors = f"{trial['angle_error_deg']:.2f} deg, {trial['position_error_mm']:.2f} mm at the end"
    caption = CAPTION + "; ".join((errors, *trial["reasons"]))
    times_s = np.asarray((result.t_ns - T0_NS) * 1e-9, dtype=np.float64)
    scene = scene_of_run(case.task.system, times_s, result.q, case.task.goal_pose())
    return {"title": title, "caption": caption, "scene": scene}


def scene_of_run(system: System, times_s: FloatArray, q: FloatArray, goal: Pose) -> dict[str, Any]:
    """Return the scene of a run, configurations q (n, n_q) at times_s (n,), with the object's goal (R, p)."""
    count = int(np.clip(round((times_s[-1] - times_s[0]) * FRAMES_PER_S), 1, MAX_FRAMES)) + 1
    rows = np.unique(np.linspace(0, len(times_s) - 1, count).astype(np.int64))
    R, p = goal
    places = np.array([system.object_pose(q[0])[1], p])
    quaternion = matrix_to_quaternion(np.ascontiguousarray(R))
    return scene_of_configurations(system, times_s[rows], q[rows], (quaternion, p), places)
