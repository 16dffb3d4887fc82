"""One planner for all tests: its program is compiled once and kept in the cache directory."""

import numpy as np
import pytest

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.result import ContactImplicitResult
from contact_mpc.planning.push.task import build_instance, read_settings
from contact_mpc.task.task import TaskConfig, load_task


@pytest.fixture(scope="session")
def task() -> TaskConfig:
    return load_task("anypulator_block")


@pytest.fixture(scope="session")
def planner(task: TaskConfig) -> ContactImplicitPlanner:
    return ContactImplicitPlanner(task.system, read_settings(task))


@pytest.fixture(scope="session")
def instance(task: TaskConfig, planner: ContactImplicitPlanner) -> Instance:
    return build_instance(task, planner, 0.6, None)


@pytest.fixture(scope="session")
def result(planner: ContactImplicitPlanner, instance: Instance) -> ContactImplicitResult:
    found = planner.plan(instance)
    assert found.solution is not None, found.message
    assert np.all(np.isfinite(found.solution.z))
    return found
