"""A node in a robot's namespace for what talks to its driver directly, where no stack runs."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from contact_mpc.ros.stack.discovery import loopback_environment
from contact_mpc.ros.stack.stack import Stack, StackSpec


@contextmanager
def node_of_robot(namespace: str, domain: int | None, mock: dict[str, Any] | None) -> Iterator[Node]:
    """Yield a node in a namespace, beside a mock driver that ends with the context.

    Parameters
    ----------
    namespace : str
        That of the driver.
    domain : int or None
        ROS domain; None: ROS_DOMAIN_ID, or a free one where a mock driver is started.
    mock : dict or None
        Parameters of the mock driver; None: the robot's own driver runs.

    Raises
    ------
    StackError
        The mock driver does not start.
    """
    if mock is not None:
        with (
            tempfile.TemporaryDirectory(prefix="contact_mpc_mock_") as folder,
            Stack(StackSpec(namespace, {"mock_driver": mock}, Path(folder), domain)) as stack,
        ):
            stack.start()
            stack.bring_up()
            yield stack.node
        return
    os.environ.update(loopback_environment())
    context = Context()
    rclpy.init(context=context, domain_id=int(os.environ.get("ROS_DOMAIN_ID") or 0) if domain is None else domain)
    node = Node("robot_monitor", namespace=namespace, context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        context.try_shutdown()
