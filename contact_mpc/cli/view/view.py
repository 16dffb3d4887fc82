"""``contact-mpc view TASK`` or ``BAG``: a running stack in a browser, simulated or real, or a recorded run."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import os
from typing import Annotated

import typer

from contact_mpc.cli.frame.output import emit
from contact_mpc.cli.view.view_bag import is_bag, view_bag
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.extras import require_packages
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.task import load_task
from contact_mpc.view.address import LOOPBACK


def view(
    task: Annotated[str, typer.Argument(help="Task or system of the stack, a name or the path of a YAML; or a bag.")],
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Port of the page.")] = 8080,
    host: Annotated[str, typer.Option(help="Address of the page; by default seen on this machine alone.")] = LOOPBACK,
    domain: Annotated[int | None, typer.Option(help="ROS domain of the stack; ROS_DOMAIN_ID where left out.")] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of the stack; the first robot's name where left out.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> None:
    """Show a running stack in a browser; the goal can be dragged there, and the bridge stopped. Ends with Ctrl-C.

    A bag is played, without ROS: a slider for its time, a switch, its speed.
    """
    if is_bag(task):
        view_bag(task, port, host, as_json)
        return
    require_packages("view", "rclpy", "viser")
    system = _system(task)
    if domain is not None:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
    from contact_mpc.ros.nodes.viewer import main
    from contact_mpc.ros.stack.discovery import loopback_environment
    from contact_mpc.ros.stack.viewing import viewer_arguments

    os.environ.update(loopback_environment())
    url = f"http://{host}:{port}"
    main(["--ros-args", *viewer_arguments(system, namespace or f"/{system.config.robots[0].name}", port, host)])
    emit({"system": system.name, "url": url, "goal_met": True}, as_json, f"the view at {url} has ended")


def _system(name: str) -> System:
    return (
        load_system(name)
        if name in resource_names("systems") and name not in resource_names("tasks")
        else (load_task(name).system)
    )
