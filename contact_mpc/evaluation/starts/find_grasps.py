"""The grasps of a task that turns by several of them: searched about its start, and held in physics as starts are."""

from collections.abc import Callable

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.evaluation.starts.find_start import LEAST_HELD, draw_plants
from contact_mpc.evaluation.trials import disturbance_of
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.planning.methods import grips_anew
from contact_mpc.planning.reorient.more_grasps import GraspMap
from contact_mpc.settings.extras import require_packages
from contact_mpc.task.task import TaskConfig


def find_grasps(
    task: TaskConfig, count: int, samples: int, seed: int, progress: Callable[[int, float], None] | None = None
) -> list[GraspCandidate]:
    """Return the grasps of a task after at most so many variations, that at the start's orientation first.

    Parameters
    ----------
    task : TaskConfig
        A task that grips anew, with a start.
    count : int
        Grasps to find.
    samples, seed
        Variations to try, and what draws them.
    progress : callable, optional
        Told the variations and the least score after each.

    Raises
    ------
    ConfigError
        MuJoCo is not installed, or the task does not grip anew or has no start.
    PlanError
        See `GraspMap`; or at some orientation no grasp serves its turns and holds.
    """
    from contact_mpc.loop.start_holding import StartHolding

    require_packages("the search of grasps, which holds them in physics,", "mujoco")
    if not grips_anew(task) or not task.has_start:
        raise ConfigError(f"{task.path}: more grasps belong to a task with planner.method: regrasp and a start")
    grasps = GraspMap(task, count, seed, StartHolding(task.system, draw_plants(disturbance_of(task))).share)
    for k in range(samples):
        if all(item is not None and item.is_complete for item in grasps.found):
            break
        grasps.vary()
        if progress is not None:
            progress(k + 1, min(0.0 if item is None else item.score for item in grasps.found))
    found = [item for item in grasps.found if item is not None and item.held >= LEAST_HELD]
    if len(found) < count:
        raise PlanError(
            f"{task.path}: {len(found)} of {count} grasps found after {samples} variations; try more of them, another "
            f"start, or a smaller turn_deg"
        )
    return found
