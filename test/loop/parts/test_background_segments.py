"""Parts that another process searches: the same as here, taken when they may be, and a death that is told."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
import psutil
import pytest
from patience import HANG_S

from contact_mpc.control.controller import Patience
from contact_mpc.errors import ConfigError
from contact_mpc.loop.parts.background_segments import BackgroundSegments
from contact_mpc.planning.methods import make_segment_planner
from contact_mpc.planning.reorient.segments import make_goal_plan
from contact_mpc.task.segment import SEARCHING
from contact_mpc.task.task import TaskConfig, load_task

TASK = "planar_hand_ball_180"
SAME = 1e-9  # rad, m: roundings of two processes


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task(TASK)


@pytest.fixture(scope="module")
def patience() -> Patience:
    return Patience()


@pytest.fixture(scope="module")
def searched(task: TaskConfig, patience: Patience) -> Iterator[BackgroundSegments]:
    segments = BackgroundSegments(partial(make_segment_planner, TASK), patience)
    segments.begin(make_goal_plan(task))
    yield segments
    segments.close()


def test_another_process_finds_the_same_and_only_a_patient_step_waits(
    task: TaskConfig, patience: Patience, searched: BackgroundSegments
) -> None:
    patience.mode = "look"
    assert searched.next_segment(task.start_q, task.start_u) is SEARCHING  # begun a moment ago
    patience.mode = "wait"
    found = searched.next_segment(task.start_q, task.start_u)
    here = make_segment_planner(TASK)
    here.begin(make_goal_plan(task))
    expected = here.next_segment(task.start_q, task.start_u)
    assert found is not None and expected is not None and found.plan is not None and expected.plan is not None
    assert found.is_tracked == expected.is_tracked
    np.testing.assert_allclose(found.plan.u, expected.plan.u, atol=SAME)


def test_an_answer_is_left_where_the_recorded_step_left_it_and_asked_anew_under_another_command(
    task: TaskConfig, patience: Patience, searched: BackgroundSegments
) -> None:
    searched.begin(make_goal_plan(task))
    patience.mode = "leave"
    assert searched.next_segment(task.start_q, task.start_u) is SEARCHING
    assert searched._search is not None
    searched._search.result()
    assert searched.next_segment(task.start_q, task.start_u) is SEARCHING  # there, but left
    other = task.start_u + 0.001
    first = searched._search
    assert searched.next_segment(task.start_q, other) is SEARCHING
    assert searched._search is not first and np.array_equal(searched._asked_u, other)


def test_a_search_whose_process_is_killed_says_so(task: TaskConfig) -> None:
    before = set(psutil.Process().children(recursive=True))
    segments = BackgroundSegments(partial(make_segment_planner, TASK), Patience("wait"))
    segments.begin(make_goal_plan(task))
    new = [item for item in psutil.Process().children(recursive=True) if item not in before]
    for process in new:
        if "resource_tracker" not in " ".join(process.cmdline()):
            process.kill()
    found = segments.next_segment(task.start_q, task.start_u)
    assert found is not None and found.plan is None and "the process that searches parts died" in found.reason
    again = segments.next_segment(task.start_q, task.start_u)  # after a reset: another one begins with the reference
    assert again is not None and again.plan is not None
    segments.close()


def test_what_makes_no_planner_is_refused_where_it_is_asked_for_not_at_the_first_tick() -> None:
    with pytest.raises(ConfigError, match=r"planner\.method"):
        BackgroundSegments(partial(make_segment_planner, "planar_hand_ball"), Patience())


def test_no_process_is_left_where_the_one_that_asked_is_killed() -> None:
    """As a node may be by kill -9."""
    script = (
        "import time\n"
        "from contact_mpc.loop.apart import start_process\n"
        "import os\n"
        "print(start_process().submit(os.getpid).result(), flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        worker = psutil.Process(int(asking.stdout.readline()))
        asking.kill()
    worker.wait(HANG_S)
