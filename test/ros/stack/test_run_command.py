"""`contact-mpc run` from the outside: whole tasks, and everything that a user or the machine can do to a run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("pydrake")

from contact_mpc.bags.bag import read_run
from contact_mpc.planning.tree.plan import provenance
from contact_mpc.planning.tree.problem import load_problem, with_goal
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.settings.resources import resource
from contact_mpc.task.plan import Plan, save_plan

pytestmark = [pytest.mark.dds, pytest.mark.end_to_end, pytest.mark.drake]

NODES = ("state_estimator", "mpc_tracker", "trajectory_server", "command_bridge", "plant", "recorder")
KEYS = {
    "command", "version", "seed", "machine", "goal_met", "angle_error_deg", "position_error_mm", "real_time_factor",
    "mpc_solve_ms", "bridge_lateness_ms", "missed_ticks", "limit_violations", "bag", "report",
}  # fmt: skip


class Run:
    """A `contact-mpc run` process that writes below a folder of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "contact_mpc", "run", *arguments, "--record", str(folder / "runs")]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        )

    def finish(self) -> "Run":
        self.stdout, self.stderr = self.process.communicate(timeout=HANG_S)
        self.code = self.process.returncode
        return self

    def node_pids(self) -> dict[str, int]:
        """Processes of nodes whose parameter file lies below this run's folder."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            modules = [word.rpartition(".")[2] for word in words if word.startswith("contact_mpc.ros.nodes.")]
            if modules and any(word.startswith(str(self.folder)) for word in words):
                found[modules[0]] = int(entry.name)
        return found

    @property
    def bag(self) -> Path:
        return next((self.folder / "runs").iterdir()) / "bag"

    def wait_until_moving(self) -> "Run":
        """Wait until the bag has grown by some chunks: simulated time runs."""

        def grown() -> bool:
            files = list(self.folder.glob("runs/*/bag/bag.mcap"))
            return bool(files) and files[0].stat().st_size > 1_000_000

        return self._wait_until(grown)

    def wait_until_tracking(self) -> "Run":
        """Wait until the part of the bag that is written holds a solve of the tracker.

        Its bytes are looked at (chunks are not compressed): to read the messages takes longer than the motion.
        """
        return self.wait_until_moving()._wait_until(lambda: b"solve_ms" in (self.bag / "bag.mcap").read_bytes())

    def _wait_until(self, condition: Callable[[], bool]) -> "Run":
        wait_until(lambda: condition() or self.process.poll() is not None)
        assert self.process.poll() is None, self.finish().stderr
        return self


def wait_until(condition: Callable[[], Any], limit_s: float = HANG_S) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def make(*arguments: str) -> Run:
        runs.append(Run(tmp_path, *arguments))
        return runs[-1]

    yield make
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()


def assert_user_error(run: Run, *words: str) -> None:
    assert run.code == 2, run.stderr
    assert "Traceback" not in run.stderr
    for word in words:
        assert word in run.stderr
    assert run.node_pids() == {}


# Whole tasks.


@pytest.fixture(scope="module")
def planar(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("planar"), "planar_hand_ball", "--json", "--seed", "3").finish()


@pytest.fixture(scope="module")
def planar_result(planar: Run) -> dict[str, Any]:
    assert planar.code == 0, planar.stderr
    return json.loads(planar.stdout)


def test_the_planar_hand_turns_the_disc(planar_result: dict[str, Any]) -> None:
    assert planar_result["goal_met"]
    assert planar_result["angle_error_deg"] <= 2.0
    assert planar_result["limit_violations"] == 0
    assert planar_result["missed_ticks"] == 0
    assert planar_result["faults"] == []


def test_the_result_has_the_documented_keys(planar_result: dict[str, Any]) -> None:
    assert set(planar_result) >= KEYS
    assert planar_result["seed"] == 3 and planar_result["command"] == "run"
    assert set(planar_result["mpc_solve_ms"]) == {"median", "p90", "p99", "max"}
    assert Path(planar_result["report"]).is_file()


def test_no_process_is_left(planar: Run) -> None:
    assert planar.node_pids() == {}


def test_the_independent_mcap_library_reads_the_same_bag(planar_result: dict[str, Any]) -> None:
    from mcap.reader import make_reader

    bag = Path(planar_result["bag"])
    metadata = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert metadata["version"] == 9 and metadata["storage_identifier"] == "mcap"
    with next(bag.glob("*.mcap")).open("rb") as file:
        summary = make_reader(file).get_summary()
        counted: dict[str, int] = {}
        for _, channel, _ in make_reader(file).iter_messages():
            counted[channel.topic] = counted.get(channel.topic, 0) + 1
    stated = {item["topic_metadata"]["name"]: item["message_count"] for item in metadata["topics_with_message_count"]}
    assert counted == stated
    assert summary.statistics.message_count == sum(counted.values()) == metadata["message_count"]


def test_the_bag_states_the_offered_quality_of_service(planar_result: dict[str, Any]) -> None:
    metadata = yaml.safe_load((Path(planar_result["bag"]) / "metadata.yaml").read_text())
    offered = {
        item["topic_metadata"]["name"]: item["topic_metadata"]["offered_qos_profiles"]
        for item in metadata["rosbag2_bagfile_information"]["topics_with_message_count"]
    }
    assert offered["/planar_hand/reference"][0]["durability"] == "transient_local"
    assert offered["/planar_hand/joint_states"][0]["reliability"] == "reliable"  # lockstep
    assert offered["/planar_hand/joint_states"][0]["durability"] == "volatile"


def test_the_bag_says_what_was_run(planar_result: dict[str, Any]) -> None:
    metadata = read_run(planar_result["bag"]).metadata
    assert (metadata["task"], metadata["seed"], metadata["clock"]) == ("planar_hand_ball", 3, "lockstep")
    parameters = yaml.safe_load(metadata["parameters"])
    assert set(parameters) == {f"/planar_hand/{name}" for name in NODES}


def test_the_commands_can_be_computed_again_from_the_bag(planar_result: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "contact_mpc", "replay", planar_result["bag"], "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mpc_commands_max_abs_diff"] <= 1e-9


def test_a_trees_plan_runs_part_by_part_until_the_goal_is_held_and_again_from_the_bag(
    start: Callable[..., Run], tmp_path: Path
) -> None:
    """Its object begins at the goal: what plans parts has nothing to do, so that no tree grows here."""
    problem = load_problem("planar_pushing")
    starts = {name: float(item.start) for name, item in problem.file.objects.items()}
    problem = with_goal(problem, starts)
    system, file = problem.system, tmp_path / "plan.npz"
    q = problem.configuration(problem.start_u)
    u = np.clip(q[system.n_q_u :], system.q_min, system.q_max)
    rows = np.stack([q, q]), np.stack([u, u]), np.zeros((2, system.n_a)), np.zeros((2, 1, 3))
    save_plan(file, Plan(np.array([0.0, 20.0]), *rows, provenance(problem, (), 0)))
    run = start("planar_pushing", "--plan", str(file), "--hold-s", "0.1", "--json").finish()
    assert run.code == 0, run.stderr
    result = json.loads(run.stdout)
    record = read_run(Path(result["bag"]))
    parameters = yaml.safe_load(record.metadata["parameters"])
    tracker = next(values for name, values in parameters.items() if name.endswith("mpc_tracker"))
    assert tracker["ros__parameters"]["controller"] == "reorient_rollouts"
    assert any(item.message == "ok" for item in record.solve_status)  # at the goal: what plans parts was asked
    assert record.joint_states is not None
    assert 1e-9 * (record.joint_states.t_ns[-1] - record.joint_states.t_ns[0]) < 10.0  # of 90 s
    command = [sys.executable, "-m", "contact_mpc", "replay", result["bag"], "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0 and json.loads(done.stdout)["mpc_commands_max_abs_diff"] == 0.0, done.stderr


def test_the_allegro_hand_turns_the_ball(start: Callable[..., Run]) -> None:
    run = start("allegro_ball", "--json").finish()
    assert run.code == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["angle_error_deg"] <= 3.0
    assert result["position_error_mm"] <= 2.0
    assert result["limit_violations"] == 0


def test_position_commands_and_mujoco_work_too(start: Callable[..., Run]) -> None:
    pytest.importorskip("mujoco")
    run = start(
        "planar_hand_ball", "--json", "--plant", "mujoco", "--interface", "position", "--hold-s", "0.5"
    ).finish()
    assert run.code == 0, run.stderr
    result = json.loads(run.stdout)
    record = read_run(result["bag"])
    assert record.position_commands is not None and record.effort_commands is None
    assert result["angle_error_deg"] <= 2.0


# What can happen to a run.


def test_ctrl_c_closes_the_bag_and_leaves_no_process(start: Callable[..., Run]) -> None:
    run = start("planar_hand_ball").wait_until_moving()
    os.killpg(run.process.pid, signal.SIGINT)
    run.finish()
    assert run.code == 130, run.stderr
    assert "Traceback" not in run.stderr
    assert run.node_pids() == {}
    record = read_run(run.bag)
    assert record.warnings == ()
    assert len(record.commands) > 100


def test_ctrl_c_while_the_nodes_start_leaves_no_process(start: Callable[..., Run]) -> None:
    run = start("planar_hand_ball")
    wait_until(lambda: len(run.node_pids()) == len(NODES))
    os.killpg(run.process.pid, signal.SIGINT)
    time.sleep(0.1)
    os.killpg(run.process.pid, signal.SIGINT)  # and again, out of impatience
    assert run.finish().code == 130
    assert "Traceback" not in run.stderr
    assert run.node_pids() == {}


@pytest.mark.parametrize("name", ["mpc_tracker", "command_bridge"])
def test_a_node_that_dies_is_named_and_the_bag_readable(start: Callable[..., Run], name: str) -> None:
    run = start("planar_hand_ball").wait_until_moving()
    os.kill(run.node_pids()[name], signal.SIGKILL)
    assert_user_error(run.finish(), f"node {name} was killed by SIGKILL", f"{name}.log")
    record = read_run(run.bag)
    assert record.warnings == ()
    assert len(record.joint_states) > 100


def test_a_killed_recorder_leaves_a_bag_that_can_be_read(start: Callable[..., Run]) -> None:
    run = start("planar_hand_ball").wait_until_moving()
    os.kill(run.node_pids()["recorder"], signal.SIGKILL)
    assert_user_error(run.finish(), "node recorder was killed by SIGKILL")
    record = read_run(run.bag)
    assert record.warnings
    assert len(record.joint_states) > 100


def test_nodes_do_not_survive_a_killed_command(start: Callable[..., Run]) -> None:
    run = start("planar_hand_ball").wait_until_moving()
    run.process.kill()
    wait_until(lambda: run.node_pids() == {}, 30.0)


@pytest.mark.realtime
def test_in_realtime_the_motion_waits_for_a_tracker_that_stands_still_and_goes_on(start: Callable[..., Run]) -> None:
    run = start("planar_hand_ball", "--clock", "realtime", "--hold-s", "3", "--json").wait_until_tracking()
    tracker = run.node_pids()["mpc_tracker"]
    os.kill(tracker, signal.SIGSTOP)
    time.sleep(6.0)  # the plant waits for it for a second, and goes on slowly then
    os.kill(tracker, signal.SIGCONT)
    run.finish()
    assert run.code in (0, 1), run.stderr  # 1: on a busy machine the disc may not come to its goal
    result = json.loads(run.stdout)
    assert result["waited_s"] > 0.5 and result["completed"], "the run ends as much later"


def test_a_domain_in_use_is_refused(start: Callable[..., Run]) -> None:
    lease = DomainLease()
    try:
        run = start("planar_hand_ball", "--domain", str(lease.domain)).finish()
    finally:
        lease.release()
    assert_user_error(run, f"domain {lease.domain} is in use", "--domain")


def test_a_plan_of_another_system_is_refused(start: Callable[..., Run], tmp_path: Path) -> None:
    plan = Plan(np.zeros(1), np.zeros((1, 23)), np.zeros((1, 16)), np.zeros((1, 16)), np.zeros((1, 0, 3)),
                {"system": "allegro_ball", "system_digest": "0"})  # fmt: skip
    save_plan(tmp_path / "other.npz", plan)
    run = start("planar_hand_ball", "--plan", str(tmp_path / "other.npz")).finish()
    assert_user_error(run, "other.npz: a plan of system 'allegro_ball', not of 'planar_hand_ball'")


def test_a_misspelt_parameter_is_named_with_its_node(start: Callable[..., Run], tmp_path: Path) -> None:
    text = resource("nodes", "planar_hand_ball").read_text().replace("hold_policy", "hold_polciy")
    (tmp_path / "nodes.yaml").write_text(text)
    run = start("planar_hand_ball", "--params", str(tmp_path / "nodes.yaml")).finish()
    assert_user_error(run, "nodes.yaml: node command_bridge", "'hold_polciy'", "did you mean 'hold_policy'")


def test_nodes_that_would_disagree_are_refused(start: Callable[..., Run]) -> None:
    run = start("planar_hand_ball", "--set", "mpc_tracker.mpc_rate_hz=10").finish()
    assert_user_error(run, "mpc_rate_hz is 10 for mpc_tracker and 20 for command_bridge")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_task"], ["no_such_task", "allegro_ball", "planar_hand_ball"]),
        (["planar_hand_ball", "--plant", "bullet"], ["bullet", "drake, mujoco"]),
        (["planar_hand_ball", "--clock", "sundial"], ["sundial", "lockstep, realtime"]),
        (["planar_hand_ball", "--plan", "missing.npz"], ["missing.npz"]),
        (["planar_hand_ball", "--set", "gripper.rate=1"], ["gripper.rate=1", "node.key=value"]),
        (["planar_hand_ball", "--domain", "500"], ["500", "101"]),
        (["planar_hand_ball", "--no-receding-horizon"], ["--no-receding-horizon", "planar_hand_ball.yaml is no push"]),
    ],
)
def test_mistakes_on_the_command_line_are_explained(
    start: Callable[..., Run], arguments: list[str], words: list[str]
) -> None:
    assert_user_error(start(*arguments).finish(), *words)


def test_a_push_out_of_reach_is_refused_before_anything_starts(start: Callable[..., Run], tmp_path: Path) -> None:
    pytest.importorskip("casadi")
    run = start("anypulator_block", "--displacement", "5").finish()
    assert_user_error(run, "displacement = 5.000 m", "it goes 3.311 m at most")
    assert list((tmp_path / "runs").iterdir()) == [], "neither logs nor parameters of nodes"


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    assert_user_error(Run(tmp_path, "planar_hand_ball").finish(), "--record", "choose a folder")
