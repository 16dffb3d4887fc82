"""Events of an executor from a loop of one's own: all of them, in their order, and nobody waits for more."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("rclpy")

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from contact_mpc.ros.runtime.waiting_events import MOST_TIMES, WaitingEvents


class Queue:
    """What of an events executor matters here: one event for each spin, in their order, and a sleep where is none."""

    def __init__(self) -> None:
        self.events: deque[Callable[[], Any]] = deque()
        self.sleeps = 0

    def create_task(self, callback: Callable[[], Any]) -> None:
        self.events.append(callback)

    def spin_once(self, timeout_sec: float) -> None:
        if self.events:
            self.events.popleft()()
        else:
            self.sleeps += 1


@pytest.mark.parametrize("most", [1, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 8, 20])
def test_every_event_is_handled_once_in_its_order_without_a_sleep(most: int, count: int) -> None:
    queue, waiting, handled = Queue(), WaitingEvents(), []
    for number in range(count):
        queue.create_task(lambda number=number: handled.append(number))
    for turn in range((count + most) // most):  # the mark is one more
        before = len(handled)
        waiting.handle(queue, most)
        assert len(handled) - before <= min(2**turn, MOST_TIMES) * most
    assert handled == list(range(count))
    assert queue.sleeps == 0
    assert not queue.events


@pytest.mark.parametrize("most", [1, 8])
@pytest.mark.parametrize("count", [2, 10, 30])
def test_a_loop_that_is_slower_than_its_events_catches_up(most: int, count: int) -> None:
    """With /clock at 4 kHz an estimator answered a service after 41 s, and held 12 MB more after 30 s."""
    queue, waiting = Queue(), WaitingEvents()
    for turn in range(200):
        for _ in range(count):
            queue.create_task(lambda: None)
        waiting.handle(queue, most)
        assert len(queue.events) <= 10 * count, turn


def test_what_comes_meanwhile_waits_for_the_next_time() -> None:
    """An event that causes another would else keep the loop that asked."""
    queue, waiting, handled = Queue(), WaitingEvents(), []

    def again() -> None:
        handled.append(len(handled))
        queue.create_task(again)

    queue.create_task(again)
    for turn in range(1, 4):
        waiting.handle(queue, 8)
        assert len(handled) == turn


def test_the_executors_of_rclpy_hand_over_what_waits() -> None:
    context = Context()
    rclpy.init(context=context)
    try:
        executors: list[Any] = [SingleThreadedExecutor(context=context)]
        experimental = pytest.importorskip("rclpy.experimental")
        executors.append(experimental.EventsExecutor(context=context))
        for executor in executors:
            handled: list[int] = []
            for number in range(3):
                executor.create_task(handled.append, number)
            waiting = WaitingEvents()
            for _ in range(3):
                waiting.handle(executor, 2)
            assert sorted(handled) == [0, 1, 2], executor  # rclpy's own executor takes the newest task first
            executor.shutdown()
    finally:
        context.try_shutdown()
