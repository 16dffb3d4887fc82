"""The action MoveObject, where its messages are built (`interfaces/`): goals of the desk with feedback and a result.

What becomes of a goal is read from the desk's books at every turn of the node; nothing here waits for anything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from rclpy.task import Future

from contact_mpc.ros.goals.goal import ENDED
from contact_mpc.ros.goals.ledger import Ledger
from contact_mpc.ros.goals.way import Way
from contact_mpc.settings.units import NS_PER_S

ACTION = "move_object"
TIMEOUT = "timeout"


@dataclass
class OpenGoal:
    """An action's goal: its handle, what is resolved with (state, message), and when it is given up, ns; 0: never."""

    handle: Any
    future: Any
    until_ns: int = 0


class ActionGoals:
    """Follows the goals of actions by their stamps.

    Parameters
    ----------
    cancel : callable
        Gives the desk's goal up.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._open: dict[int, OpenGoal] = {}

    def begin(self, stamp_ns: int, goal: OpenGoal) -> None:
        """Follow a goal that the desk was given under this stamp."""
        self._open[stamp_ns] = goal

    def look(self, ledger: Ledger, way: Way, now_ns: int, feedback: Callable[[Any, str, Way], None]) -> None:
        """Resolve what has ended, give up what is to be, tell the rest how it fares."""
        for stamp_ns, goal in list(self._open.items()):
            is_newest = ledger.goal_ns == stamp_ns
            if ledger.refused_ns == stamp_ns:
                self._end(stamp_ns, "refused", ledger.refusal)
            elif not is_newest:
                self._end(stamp_ns, "replaced", "another goal came")
            elif ledger.state in ENDED:
                self._end(stamp_ns, ledger.state, ledger.message)
            elif goal.handle.is_cancel_requested:
                self._cancel()
                self._end(stamp_ns, "cancelled", ledger.message)
            elif goal.until_ns and now_ns > goal.until_ns:
                self._cancel()
                self._end(stamp_ns, TIMEOUT, "it took longer than its timeout; the object is held")
            else:
                feedback(goal.handle, ledger.state, way)

    def _end(self, stamp_ns: int, state: str, message: str) -> None:
        self._open.pop(stamp_ns).future.set_result((state, message))


class MoveObjectServer:
    """Serves the action.

    Parameters
    ----------
    node : Node
        The goal server.
    action_type : type
        MoveObject.
    take : callable
        Gives the desk the goal of a request under a stamp, ns; what is none is refused in its books.
    cancel : callable
        Gives the desk's goal up.
    """

    def __init__(
        self, node: Node, action_type: Any, take: Callable[[int, Any], None], cancel: Callable[[], None]
    ) -> None:
        self._node, self._type, self._take = node, action_type, take
        self._goals, self._error = ActionGoals(cancel), (float("nan"), float("nan"))
        self._server = ActionServer(
            node, action_type, ACTION, self._execute, cancel_callback=lambda _handle: CancelResponse.ACCEPT
        )

    def look(self, ledger: Ledger, way: Way) -> None:
        """Tell clients how their goals fare; called at every turn."""
        self._error = (way.angle_deg, way.distance_mm)
        self._goals.look(ledger, way, self._now_ns(), self._tell)

    def destroy(self) -> None:
        """Take the action away."""
        self._server.destroy()

    async def _execute(self, handle: Any) -> Any:
        request, stamp_ns, future = handle.request, self._now_ns(), Future()
        timeout_ns = int(request.timeout.sec) * NS_PER_S + int(request.timeout.nanosec)
        self._take(stamp_ns, request)
        self._goals.begin(stamp_ns, OpenGoal(handle, future, stamp_ns + timeout_ns if timeout_ns else 0))
        state, message = await future
        if state == "reached":
            handle.succeed()
        elif state == "cancelled" and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        angle_deg, distance_mm = self._error
        return self._type.Result(state=state, message=message, angle_error_deg=angle_deg, position_error_mm=distance_mm)

    def _tell(self, handle: Any, state: str, way: Way) -> None:
        handle.publish_feedback(
            self._type.Feedback(
                state=state, progress=way.progress, angle_error_deg=way.angle_deg, position_error_mm=way.distance_mm
            )
        )

    def _now_ns(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)


def find_action_type() -> Any:
    """Return MoveObject, None where its package is not built."""
    try:
        return import_module("contact_mpc_interfaces.action").MoveObject
    except ImportError:
        return None
