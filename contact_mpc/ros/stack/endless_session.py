"""A stack without an end, which takes goals for the object until it is interrupted."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from contact_mpc.ros.messages.conversions import values_of
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.stack.stack import Stack, StackSpec

SLICE_S = 0.2


def run_until_interrupted(
    namespace: str,
    parameters: dict[str, dict[str, Any]],
    folder: Path,
    domain: int,
    report: Callable[[str, dict[str, str]], None],
    beside: AbstractContextManager[None] | None = None,
) -> None:
    """Run the nodes until KeyboardInterrupt, their regular end.

    `report(message, values)` is called with each `goal_status`, and once with no values when all nodes are active.
    `beside` is entered when the domain is this run's own, and left before its nodes are stopped: what else joins it.

    Raises
    ------
    StackError
        The domain is in use, or a node refused or died; names it.
    """

    def on_status(message: DiagnosticStatus) -> None:
        report(message.message, values_of(message))

    with Stack(StackSpec(namespace, parameters, folder, domain)) as stack:
        try:
            with beside or nullcontext():
                stack.start()
                stack.bring_up()
                profile = qos_profile(TOPICS["goal_status"].quality, "realtime")
                stack.node.create_subscription(DiagnosticStatus, "goal_status", on_status, profile)
                report(f"takes goals on {namespace}/goal_pose in ROS domain {stack.domain}; Ctrl-C ends it", {})
                while True:
                    stack.spin(SLICE_S)
        except KeyboardInterrupt:
            return
