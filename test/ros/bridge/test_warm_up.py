"""What a node warms up before time runs leaves nothing to compile while it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from contact_mpc.planning.methods import make_plan
from contact_mpc.task.plan import save_plan
from contact_mpc.task.task import TaskConfig

LOOP = """
import json, sys
from numba.core.dispatcher import Dispatcher
from contact_mpc.task.plan import load_plan
from contact_mpc.task.task import load_task
from contact_mpc.ros.bridge.warm_up import warm_up
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.config import load_loop_config


def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("contact_mpc")]
    functions = [item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)]
    return {f"{item.py_func.__module__}.{item.py_func.__qualname__}": len(item.signatures) for item in functions}


task = load_task(sys.argv[1])
config = load_loop_config(sys.argv[1], "drake")
loop = ClosedLoop(task.system, task, load_plan(sys.argv[2], task.system), config)
warm_up(task.system, config.bridge)
before = compiled()
while loop.plant.time_ns < loop.log.start_ns + 500_000_000:
    loop.step()
after = compiled()
print(json.dumps([name for name in after if after[name] != before.get(name)]))
"""


def test_nothing_is_compiled_once_time_runs(each_task: TaskConfig, tmp_path: Path) -> None:
    pytest.importorskip("pydrake")
    save_plan(tmp_path / "plan.npz", make_plan(each_task))
    command = [sys.executable, "-c", LOOP, each_task.name, str(tmp_path / "plan.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []
