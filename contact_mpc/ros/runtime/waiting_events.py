"""The events that wait at an executor, handled from a loop of one's own without ever waiting for more.

An events executor that has nothing to hand over sleeps also where its timeout is 0: the system puts the thread aside
and wakes it again, 30 us with a core to itself and 0.2 ms beside others. So the end of its queue is marked by an event
of one's own, for 13 us: it is never empty while it is asked, and nobody asks further than that.

What is not handled stays in that queue, which has no end, and services and timers wait behind it. So a loop
that is slower than its events, as on a busy machine, takes twice as many each turn until it has caught up.
"""

from rclpy.executors import Executor

MOST_TIMES = 32  # as many events as asked for, where the queue grows


class WaitingEvents:
    """Hands over what waits at one executor; it does so one event at a time."""

    def __init__(self) -> None:
        self._is_end_marked = False
        self._times = 1

    def handle(self, executor: Executor, most: int) -> None:
        """Handle at most so many events, the mark among them, and none that comes meanwhile; more if they queue up."""
        has_queue = not isinstance(executor, Executor)  # the events executor is none by its class
        if has_queue and not self._is_end_marked:
            self._is_end_marked = True
            executor.create_task(self._reach_end)
        for _ in range(most * self._times):
            executor.spin_once(timeout_sec=0.0)
            if has_queue and not self._is_end_marked:
                self._times = max(self._times // 2, 1)
                return
        if has_queue:
            self._times = min(2 * self._times, MOST_TIMES)

    def _reach_end(self) -> None:
        self._is_end_marked = False
