"""The process around a node: it spins, and on SIGINT or SIGTERM deactivates, cleans up and exits.

Exit codes: 0 after a signal or a regular end, 1 when the node failed or did not come to its end, 2 when it could not be
made.
"""

import faulthandler
import gc
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from contact_mpc.errors import ContactMpcError
from contact_mpc.ros.runtime.node import ContactNode
from contact_mpc.ros.runtime.parent_process import die_with_parent

SHUTDOWN_LIMIT_S = 60  # a recorder on a slow disk is no hang


def run_node(node_class: Callable[[], ContactNode], args: Sequence[str] | None = None) -> int:
    """Run one node in this process until SIGINT, SIGTERM or shutdown; returns the exit code.

    Parameters
    ----------
    node_class : callable
        A node class whose constructor takes no arguments.
    args : sequence of str, optional
        Command line with `--ros-args`; sys.argv by default.
    """
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: sys.exit(0))  # while there is no node yet to stop
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = node_class()
    except Exception as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    _stop_on_signals(node)
    executor = make_executor()
    executor.add_node(node)
    try:
        while not node.is_stopping and rclpy.ok():
            node.spin_some(executor)
    except ExternalShutdownException:
        node.get_logger().info("shut down from outside")
    except ContactMpcError as error:
        node.fail(str(error))
    except Exception:
        node.fail(traceback.format_exc())
    _shut_down(node, executor)
    return node.exit_code


def make_executor() -> Executor:
    """Return the fastest executor that this rclpy has (the events executor, driven by `spin_once`)."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def freeze_garbage() -> None:
    """Move everything allocated so far out of the garbage collector's sight, so that collections stay short."""
    gc.collect()
    gc.freeze()


def _stop_on_signals(node: ContactNode) -> None:
    """Stop the loop on SIGINT and SIGTERM, however often they come; a shutdown that hangs says where, and is cut.

    Libraries may hang after Python has ended, where nothing can be said any more: SIGALRM cuts that.
    """

    def stop(_number: int, _frame: object) -> None:
        if not node.is_stopping:
            faulthandler.dump_traceback_later(SHUTDOWN_LIMIT_S, exit=True)
            signal.alarm(SHUTDOWN_LIMIT_S + 1)
        node.is_stopping = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _shut_down(node: ContactNode, executor: Executor) -> None:
    node.is_stopping = True
    label = node.current_state_label()
    if label == "active":
        node.trigger_deactivate()
    if label in ("active", "inactive"):
        node.trigger_cleanup()
    executor.remove_node(node)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
