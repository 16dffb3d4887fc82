"""An empty rclpy timer of 1 kHz in a process of its own: what rclpy alone makes of the same deadlines.

Prints the statistics of its lateness, ms, as JSON when its time is over.
"""

import json
import sys
import time

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from contact_mpc.ros.runtime.node_process import freeze_garbage
from contact_mpc.ros.runtime.parent_process import die_with_parent
from contact_mpc.ros.runtime.realtime import Distribution

PERIOD_NS = 1_000_000


class TimerPeer:
    """Counts how late the calls of a timer are against the grid of its first one."""

    def __init__(self) -> None:
        self.lateness = Distribution()
        self._next_ns: int | None = None

    def tick(self) -> None:
        """Take note of a call; ticks that were left out are late by as much as the one that came."""
        now_ns = time.monotonic_ns()
        if self._next_ns is None:
            self._next_ns = now_ns
        late_ns = max(now_ns - self._next_ns, 0)
        self.lateness.add(late_ns)
        self._next_ns += PERIOD_NS * (1 + late_ns // PERIOD_NS)


def main() -> None:
    """Run for as many seconds as the argument says."""
    die_with_parent()
    rclpy.init(args=sys.argv[2:])
    node, peer = Node("timer_peer"), TimerPeer()
    node.create_timer(PERIOD_NS * 1e-9, peer.tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    freeze_garbage()
    deadline = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    print(json.dumps(peer.lateness.summary(1e6)))
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
