"""``contact-mpc run TASK --endless``: the stack runs until Ctrl-C and takes goals for the object."""

import os
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.task.task import TaskConfig

if TYPE_CHECKING:
    from contact_mpc.ros.stack.run_parameters import RunOptions


def endless_domain(domain: int | None) -> int:
    """Return the ROS domain of an endless run: the given one, else ROS_DOMAIN_ID, else 0, where others look for it."""
    return int(os.environ.get("ROS_DOMAIN_ID") or 0) if domain is None else domain


def run_endless(
    config: TaskConfig, options: "RunOptions", folder: Path, domain: int, beside: AbstractContextManager[None]
) -> tuple[dict[str, Any], str]:
    """Run the stack until Ctrl-C, its regular end; returns counts of the goals by their end, and the same in words.

    Nothing is recorded. `beside` is entered when all is compiled and the domain is the run's own.
    """
    from contact_mpc.ros.stack.endless_session import run_until_interrupted
    from contact_mpc.ros.stack.run_parameters import build_parameters

    options = replace(options, endless=True, recorded=False)
    parameters = build_parameters(config, options, folder.resolve(), folder / "plan.npz")
    compile_first(options.plant)
    newest: dict[str, str] = {}

    def report(message: str, values: dict[str, str]) -> None:
        state = values.get("state", config.name)
        if (state, values.get("goal_ns")) != (newest.get("state"), newest.get("goal_ns")):
            print(f"{state}: {message}", file=sys.stderr, flush=True)
        newest.update(values)

    namespace = "/" + config.system.config.robots[0].name
    run_until_interrupted(namespace, parameters, folder.resolve(), domain, report, beside)
    counts = {key: int(value) for key, value in newest.items() if value.isdigit() and key != "goal_ns"}
    summary = ", ".join(f"{value} {key}" for key, value in counts.items()) or "no goals"
    return {"task": config.name, "plant": options.plant, "clock": options.clock, **counts}, summary
