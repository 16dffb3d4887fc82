"""Hits of a recorded push: what its plant felt, from the same run in one process.

No sensor of the stack sees contact forces, so the bag has none. In lockstep the loop in one process gives the very
commands that the bag has, so its contacts are those of the run; where a command differs they are not stated.
"""

from pathlib import Path

import numpy as np

from contact_mpc.bags.record import CommandSeries
from contact_mpc.evaluation.contact_events import ContactCheck
from contact_mpc.evaluation.push_trial import follow_push
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.config import load_loop_config
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.task.plan import load_plan
from contact_mpc.task.task import TaskConfig


def check_recorded_contacts(
    task: TaskConfig, options: RunOptions, folder: Path, plan_file: Path, sent: CommandSeries | None
) -> tuple[ContactCheck | None, str]:
    """Return planned and measured hits of a run, or None and why they are not known.

    Parameters
    ----------
    task, options, folder, plan_file
        What was run, see `contact_mpc.ros.stack.run_parameters.build_parameters`.
    sent : CommandSeries or None
        Commands in its bag.
    """
    if options.clock != "lockstep" or options.plant == "gazebo" or options.interface == "position":
        return None, "hits are measured in lockstep with drake or mujoco and the interface effort only"
    if sent is None:
        return None, "hits are not known: the bag has no commands"
    loop_config = load_loop_config(options.parameter_file, options.plant, options.settings)
    plant = build_parameters(task, options, folder, plan_file)["plant"]
    perturbation = PlantPerturbation(**{**plant.get("perturbation", {}), "seed": options.seed})
    plan = load_plan(plan_file, task.system)
    loop = ClosedLoop(task.system, task, plan, loop_config, perturbation, options.seed)
    result, _, contacts = follow_push(loop, plan)
    both = np.isin(sent.t_ns, result.t_ns)
    is_same = np.isin(result.t_ns, sent.t_ns).all() and np.array_equal(sent.values[both], result.commands)
    return (contacts, "") if is_same else (None, "hits are not known: the run in one process gave other commands")
