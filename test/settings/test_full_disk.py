"""A disk that is full from any write of a command on: every file is the old or the whole new one, nothing else is left.

Run as a program this file writes once with room and once for every write without: a real limit of the kernel, which
takes the first bytes of a file and refuses the rest.
"""

import errno
import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import typer
from patience import HANG_S

from contact_mpc.cli.frame.output import user_errors
from contact_mpc.cli.main import main
from contact_mpc.examples.plotting import new_figure, save
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.plan_task import write_plan_task
from contact_mpc.planning.tree.file import save_tree
from contact_mpc.planning.tree.plan import provenance
from contact_mpc.planning.tree.planner import GrownTree
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.report.system_report import write_system_report
from contact_mpc.task.node_defaults import write_node_parameters
from contact_mpc.task.plan import Plan, save_plan
from contact_mpc.task.task import load_task

ROOM = 16  # bytes that a file takes on the full disk
OLD, NEW = 1, 2  # what writers are told to write
MJCF = """<mujoco><compiler angle="radian"/><worldbody><body name="arm"><inertial pos="0 0 0" mass="{n}"
diaginertia="1e-3 1e-3 1e-3"/><joint name="j" type="hinge" axis="0 0 1" range="-1 {n}" actuatorfrcrange="-{n} {n}"/>
<geom name="g" type="ellipsoid" size="0.01 0.02 0.0{n}"/></body></worldbody></mujoco>"""


def standing_plan(n: int) -> tuple[Problem, Plan]:
    """Return a problem and a plan of two rows at its start, n seconds long."""
    problem = load_problem("planar_hand_ball")
    system, q = problem.system, problem.configuration(problem.start_u)
    u = np.clip(system.q_default[system.n_q_u :], system.q_min, system.q_max)
    zeros = np.zeros((2, system.n_a))
    times_s = np.array([0.0, float(n)])
    origin = provenance(problem, (), 7)
    return problem, Plan(times_s, np.stack([q, q]), np.stack([u, u]), zeros, np.zeros((2, 1, 3)), origin)


def write_plan(folder: Path, n: int) -> None:
    save_plan(folder / "plan.npz", standing_plan(n)[1])


def write_tree(folder: Path, n: int) -> None:
    """Growing one would compile for minutes: the file takes these arrays alone."""
    problem, plan = standing_plan(n)
    numbers = np.arange(2) - 1
    tree = SimpleNamespace(
        q=plan.q, u=plan.u, parent=numbers, kind=numbers, goal_distance=np.full(2, float(n)), counts=np.zeros(6)
    )
    save_tree(folder / "tree.npz", GrownTree(problem, n, cast(Any, tree), 0.0, 1, "nodes"))


def write_task_of_plan(folder: Path, n: int) -> None:
    write_plan_task(*standing_plan(n), folder / "task.yaml")


def write_report(folder: Path, n: int) -> None:
    system = load_system("planar_hand_ball")
    q = np.stack([system.q_default, system.q_default])
    write_system_report("system", f"number {n}", system, np.array([0.0, float(n)]), q, folder)


def write_figures(folder: Path, n: int) -> None:
    def draw() -> Any:
        figure, axes = new_figure(1, 1, f"number {n}")
        axes[0, 0].plot([0, n])
        return figure

    save(draw, folder, "figure")


def write_parameters(folder: Path, n: int) -> None:
    os.environ["XDG_CACHE_HOME"] = str(folder)
    write_node_parameters(replace(load_task("planar_hand_ball"), nodes={"mpc_tracker": {"iterations": n}}))


def new_task(folder: Path, n: int) -> None:
    words = ["--object", f"ball:0.0{2 + n}", "--mass-kg", f"0.{n}", "--as", "mine"]
    main(["new", "task", "--robot", "allegro_ball", *words, "--into", str(folder)])


def import_robot(folder: Path, n: int) -> None:
    path = folder.with_name("arm.xml")
    path.write_text(MJCF.format(n=n))
    main(["import", str(path), "--velocity-rad-s", str(n), "--into", str(folder)])


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "plan": write_plan, "tree": write_tree, "task of a plan": write_task_of_plan, "report": write_report,
    "figures": write_figures, "parameters of nodes": write_parameters,
    "new task": new_task, "import": import_robot,
}  # fmt: skip
NEEDED = {"import": "mujoco", "figures": "matplotlib"}


class FullDisk:
    """Leaves `ROOM` bytes to every file from the one on that is the `after`-th opened to be written below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.opened, self.after = str(folder), 0, sys.maxsize
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            path, _, flags = arguments
            if os.fspath(path).startswith(self.folder) and flags & (os.O_WRONLY | os.O_RDWR):
                self.opened += 1
                if self.opened > self.after:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, self.limits[1]))

    def have_room(self, after: int = sys.maxsize) -> None:
        """Count anew; there is room until `after` files were opened."""
        self.opened, self.after = 0, after
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def outcome(write: Callable[[Path, int], None], folder: Path, n: int) -> tuple[int, str]:
    """Return the exit code of a command that writes, and what it says on stderr."""
    with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
        try:
            with user_errors():
                write(folder, n)
            code = 0
        except typer.Exit as error:
            code = error.exit_code
        except SystemExit as error:
            code = int(error.code or 0)
    return code, said.getvalue()


def fail_each_write(kind: str, folder: Path) -> list[dict[str, Any]]:
    """Return, for every write of a command, what is there and what was said where the disk is full from it on."""
    write, disk = WRITERS[kind], FullDisk(folder)
    assert outcome(write, folder, NEW)[0] == 0
    new = contents(folder)
    disk.have_room()
    assert outcome(write, folder, OLD)[0] == 0
    old, rows = contents(folder), []
    changed = {name for name in new | old if old[name] != new[name]}
    assert changed
    for done in range(disk.opened):
        disk.have_room(done)
        code, said = outcome(write, folder, NEW)
        disk.have_room()
        found = contents(folder)
        rows.append({
            "code": code, "said": said, "strange": sorted(found.keys() ^ old.keys()),
            "new": sum(found[name] == new[name] for name in found.keys() & changed),
            "kept": [name for name in found if found[name] == old.get(name)],
            "lost": [name for name in found.keys() & old.keys() if found[name] not in (old[name], new[name])],
        })  # fmt: skip
        outcome(write, folder, OLD)
    return rows


@pytest.mark.parametrize("kind", WRITERS)
def test_a_disk_full_from_any_write_on_leaves_old_or_whole_new_files_and_one_line(kind: str, tmp_path: Path) -> None:
    if kind in NEEDED and find_spec(NEEDED[kind]) is None:
        pytest.skip(f"needs {NEEDED[kind]}")
    (tmp_path / "out").mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, __file__, kind, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert rows
    for k, row in enumerate(rows):
        assert (row["lost"], row["strange"]) == ([], []) and row["new"] <= k
        assert any(name in row["said"] for name in row["kept"]), "the file that could not be written is the old one"
        assert row["code"] == 2 and row["said"].startswith("error: ") and row["said"].count("\n") == 1, row["said"]
        assert os.strerror(errno.EFBIG) in row["said"]


if __name__ == "__main__":
    print(json.dumps(fail_each_write(sys.argv[1], Path(sys.argv[2]))))
