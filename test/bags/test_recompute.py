"""A replayed bag gives the estimates and commands that the core gave; anything else is found and named."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.recompute import ReplaySettings, replay_run
from contact_mpc.bags.recompute_plans import read_reference
from contact_mpc.bags.record import StatusMessage
from contact_mpc.bags.sources import describe_difference, find_system, find_task, node_config
from contact_mpc.cli.main import build_app
from contact_mpc.control.motion_time import MotionTime
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import Reference
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.errors import BagError, ConfigError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_exp, quaternion_to_matrix
from contact_mpc.settings.tunable import REFERENCE_START, TUNED
from contact_mpc.task.loop_records import CommandPlan
from contact_mpc.task.object_motion import object_motion

T0_NS, STEPS, TICK, ESTIMATE_TICK, POSE_EVERY = 1_000_000_000, 300, 50, 5, 17
ESTIMATOR = EstimatorConfig(pose_noise_m=0.002)
TRACKER = TrackerConfig(horizon_steps=3, iterations=1)
SETTINGS = ReplaySettings(ESTIMATOR, TRACKER)


class CoreRun:
    """Estimator and tracker as the nodes run them, on made-up measurements; what they say goes into a bag."""

    def __init__(self, task, writer, messages, spoil=None, tuning=None, driver=None):
        self.task, self.system = task, task.system
        self.writer, self.messages = writer, messages
        self.spoil, self.tuning, self.driver = spoil or (lambda stamp_ns, u: u), tuning or {}, driver
        self.names = self.system.joint_names
        self.random = np.random.default_rng(5)
        self.estimator = StateEstimator(self.system, ESTIMATOR)
        self.tracker = MotionTime(Tracker(self.system, TRACKER), TRACKER)
        self.missed_ms = range(0)  # ticks at which the tracker did not run

    def write(self, metadata=None, poses_late=False, names_poses=True):
        task, system = self.task, self.system
        parameters = {
            "/finger/state_estimator": {"ros__parameters": {"estimator": ESTIMATOR.model_dump()}},
            "/finger/mpc_tracker": {"ros__parameters": {"clock": "lockstep", **TRACKER.model_dump()}},
        }
        known = {
            "system": str(system.path), "task": str(task.path), "seed": 5, "clock": "lockstep",
            "provenance": system.provenance(), "parameters": yaml.safe_dump(parameters),
            "driver": self.driver or {}, "joint_names": list(self.names),
        }  # fmt: skip
        self.writer.add("run_metadata", 0, self.messages.text(known if metadata is None else metadata))
        self.write_reference()
        pose_stamp_ns = -1
        for step in range(STEPS):
            t_ns = T0_NS + step * 1_000_000
            if step % POSE_EVERY == 0:
                pose_stamp_ns = t_ns - 20_000_000
                self.write_pose(pose_stamp_ns, t_ns + (10**9 if poses_late else 0))
            self.write_joints(t_ns, step, str(pose_stamp_ns) if names_poses else "")
            if step % ESTIMATE_TICK == 0:
                self.write_estimate(t_ns, tick=step % TICK == 0)
        self.writer.close()

    def write_reference(self):
        times = np.array([0.0, 0.1, 0.2, 0.3])
        u = np.linspace(self.task.start_u, self.task.start_u + 0.05, 4)
        poses = []
        for fraction in times / times[-1]:
            R, p = self.task.goal_pose(fraction)
            poses.append((matrix_to_quaternion(R), p))
        start_ns = T0_NS + 50_000_000
        commands = self.messages.trajectory(start_ns, self.names, times, u, 0 * u, 0 * u)
        objects = self.messages.object_trajectory(start_ns, "ball", times, poses)
        self.writer.add("reference", 1, commands)
        self.writer.add("object_reference", 2, objects)
        q = np.array([np.concatenate([wxyz, p, command]) for (wxyz, p), command in zip(poses, u, strict=True)])
        plan = self.make_plan(times, q, u)
        self.tracker.set_reference(Reference(start_ns, plan))

    @staticmethod
    def make_plan(times, q, u):
        from contact_mpc.task.plan import Plan

        return Plan(times, q, u, 0 * u, np.zeros((len(times), 0, 3)))

    def write_pose(self, stamp_ns, receive_ns):
        noise = self.random.normal(size=6) * np.array([2e-3] * 3 + [2e-4] * 3)
        wxyz = quaternion_exp(np.array([0.0, 0.0, 0.2 * (stamp_ns - T0_NS) * 1e-9]) + noise[:3])
        position = np.array([0.05, 0.0, 0.3]) + noise[3:]
        self.writer.add("object_pose", receive_ns, self.messages.pose(stamp_ns, wxyz, position))
        self.estimator.update_object_pose(stamp_ns, quaternion_to_matrix(wxyz / np.linalg.norm(wxyz)), position)

    def write_joints(self, t_ns, step, frame):
        q = 0.01 * np.sin(0.02 * step + np.arange(2.0))
        v = 0.2 * np.cos(0.02 * step + np.arange(2.0))
        tau = np.array([0.01, 0.02])
        if self.driver is None:
            self.writer.add("joint_states", t_ns + 100, self.messages.joints(t_ns, self.names, q, v, tau, frame=frame))
        else:  # in parts, the second a little later
            for k, name in enumerate(self.driver["joint_names"]):
                part = (values[k : k + 1] for values in (q, v, tau))
                message = self.messages.joints(t_ns + k, (name,), *part, frame=frame)
                self.writer.add(self.driver["joint_states_topics"][0], t_ns + 100 + k, message)
        if step % ESTIMATE_TICK == 0:
            self.estimator.update_joints(t_ns, q, v, tau)

    def write_estimate(self, t_ns, tick):
        state = self.estimator.estimate(t_ns)
        q_a, v_a = state.q[self.system.n_q_u :], state.v[self.system.n_v_u :]
        motion = object_motion(self.system, state)
        joints = self.messages.joints(t_ns, self.names, q_a, v_a, state.tau, frame=state.status)
        self.writer.add("state_estimator/joint_states", t_ns + 200, joints)
        wxyz = matrix_to_quaternion(motion.R_WB)
        odometry = self.messages.odometry(t_ns, wxyz, motion.p_WB, motion.V_WB[:3], motion.V_WB[3:])
        self.writer.add("state_estimator/object_odom", t_ns + 201, odometry)
        if tick and (t_ns - T0_NS) // 1_000_000 not in self.missed_ms:
            self.write_tuning(t_ns)
            plan = self.tracker.step(state).plan
            u = self.spoil(t_ns, plan.u)
            message = self.messages.trajectory(t_ns, self.names, plan.times_s, u, plan.du, plan.tau_ff)
            self.writer.add("mpc_tracker/plan", t_ns + 300, message)

    def write_tuning(self, t_ns):
        changes = self.tuning.get(t_ns)
        if changes:
            self.tracker.tune(changes)
            status = self.messages.status({"stamp_ns": str(t_ns), TUNED: json.dumps(changes)})
            self.writer.add("mpc_tracker/solve_status", t_ns + 250, status)


@pytest.fixture
def core_run(finger_task, bag_writer):
    def make(name="run", spoil=None, tuning=None, driver=None, **options):
        writer, messages, path = bag_writer(name)
        CoreRun(finger_task, writer, messages, spoil, tuning, driver).write(**options)
        return path

    return make


def test_estimates_and_commands_come_out_as_recorded(core_run, finger_system):
    result = replay_run(read_run(core_run()), finger_system, SETTINGS)
    assert result.estimates == STEPS // ESTIMATE_TICK
    assert result.plans == STEPS // TICK
    assert result.hold_plans == 0
    assert result.estimates_max_abs_diff == 0.0
    assert result.mpc_commands_max_abs_diff <= 1e-12  # times of a message are rounded to ns
    assert result.is_reproduced
    assert (result.estimates_missing, result.plans_missing, result.first_mismatch) == (0, 0, "")


def test_joint_states_of_a_robots_own_topic_names_and_parts_give_the_same(core_run, finger_system):
    driver = {"joint_names": ["A1", "A2"], "joint_states_topics": ["drives/joint_states"], "parts_within_s": 0.0005}
    record = read_run(core_run(driver=driver))
    assert record.joint_states is not None and record.joint_states.names == finger_system.joint_names
    result = replay_run(record, finger_system, SETTINGS)
    assert result.is_reproduced and result.plans == STEPS // TICK and result.estimates == STEPS // ESTIMATE_TICK
    assert (result.estimates_max_abs_diff, result.estimates_missing) == (0.0, 0)
    assert result.mpc_commands_max_abs_diff <= 1e-12


def test_parameters_that_changed_while_it_ran_are_changed_at_the_same_solve(core_run, finger_system):
    tuning = {T0_NS + 100_000_000: {"command_weight": 7.0}, T0_NS + 200_000_000: {"rate_weight": 1.0 / 3.0}}
    result = replay_run(read_run(core_run(tuning=tuning)), finger_system, SETTINGS)
    assert result.is_reproduced and result.mpc_commands_max_abs_diff <= 1e-12


def test_order_of_receipt_does_not_matter_in_lockstep(core_run, finger_system):
    result = replay_run(read_run(core_run(poses_late=True)), finger_system, SETTINGS)
    assert result.estimates_max_abs_diff == 0.0


def test_estimates_whose_order_of_inputs_is_unknown_are_compared_but_not_judged(core_run, finger_system):
    result = replay_run(read_run(core_run(poses_late=True, names_poses=False)), finger_system, SETTINGS)
    assert result.estimates_missing == STEPS // ESTIMATE_TICK  # all poses were received after all joint states
    assert result.mpc_commands_max_abs_diff <= 1e-12
    assert result.is_reproduced
    assert "not judged" in result.skipped[0]


def test_a_reference_that_reached_the_tracker_late_counts_from_when_its_status_names_it(
    finger_task, finger_system, bag_writer
):
    """In realtime the recorder may be ahead of the tracker by seconds: those ticks hold, as their status says."""
    writer, messages, path = bag_writer("late")
    run = CoreRun(finger_task, writer, messages)
    heard_ns, start_ns = T0_NS + 120_000_000, T0_NS + 50_000_000
    reference, original, nothing = run.tracker.step, messages.trajectory, np.zeros((0, 2))

    def trajectory(stamp_ns, names, times, u, du, tau):
        if stamp_ns >= T0_NS and len(times) != 4:  # a plan, no reference
            followed = "" if stamp_ns < heard_ns else str(start_ns)
            status = messages.status({"stamp_ns": str(stamp_ns), REFERENCE_START: followed})
            writer.add("mpc_tracker/solve_status", stamp_ns + 260, status)
            if not followed:
                return original(stamp_ns, names, [], nothing, nothing, nothing)
        return original(stamp_ns, names, times, u, du, tau)

    def step(state):
        if state.t_ns < heard_ns:
            return SimpleNamespace(plan=CommandPlan.hold(state.t_ns, 2))
        return reference(state)

    messages.trajectory, run.tracker.step = trajectory, step
    run.write()
    result = replay_run(read_run(path), finger_system, SETTINGS)
    assert result.first_mismatch == "" and result.is_reproduced and result.hold_plans == 3


@pytest.mark.parametrize(
    "text", ["", "7", "{", '{"rate_weight": "x"}', '{"rate_weight": -1.0}', '{"other": 1.0}', "[[" * 100_000]
)
def test_changes_of_parameters_that_no_tracker_can_have_are_refused_in_one_line(core_run, finger_system, text):
    record = read_run(core_run())
    status = StatusMessage(0, T0_NS, 0, "mpc_tracker", "ok", {TUNED: text})
    with pytest.raises(BagError, match="the tracker says that parameters were changed to") as caught:
        replay_run(replace(record, solve_status=(status,)), finger_system, SETTINGS)
    assert "\n" not in str(caught.value)


def test_a_motion_that_waited_for_a_tracker_comes_out_as_recorded(finger_task, finger_system, bag_writer):
    """How long it waited follows from the stamps of the plans that are there."""
    writer, messages, path = bag_writer("stalled")
    run = CoreRun(finger_task, writer, messages)
    run.missed_ms = range(100, 250)
    run.write()
    assert run.tracker.waited_ns(T0_NS + 250_000_000) == 100_000_000
    result = replay_run(read_run(path), finger_system, SETTINGS)
    assert result.is_reproduced and result.plans == 3
    assert result.mpc_commands_max_abs_diff <= 1e-12


def test_a_changed_command_is_found_and_named(core_run, finger_system):
    spoiled_ns = T0_NS + 100_000_000
    path = core_run(spoil=lambda stamp_ns, u: u + 1e-6 * (stamp_ns == spoiled_ns))
    result = replay_run(read_run(path), finger_system, SETTINGS)
    assert result.mpc_commands_max_abs_diff == pytest.approx(1e-6, rel=1e-3)
    assert result.first_mismatch == "plan at 1.100 s: u differs by 1e-06"
    assert not result.is_reproduced
    assert replay_run(read_run(path), finger_system, replace(SETTINGS, tolerance=1e-5)).is_reproduced


def test_other_parameters_give_other_results(core_run, finger_system):
    record = read_run(core_run())
    settings = ReplaySettings(EstimatorConfig(), TrackerConfig(horizon_steps=4, iterations=1))
    result = replay_run(record, finger_system, settings)
    assert result.estimates_max_abs_diff > 1e-6
    assert result.mpc_commands_max_abs_diff == float("inf")
    assert "differs" in result.first_mismatch


def test_plan_recorded_as_hold_is_a_mismatch(finger_task, finger_system, bag_writer):
    writer, messages, path = bag_writer("hold")
    run = CoreRun(finger_task, writer, messages)
    original = messages.trajectory
    nothing = np.zeros((0, 2))

    def trajectory(stamp_ns, names, times, u, du, tau):
        if stamp_ns == T0_NS + 150_000_000:
            return original(stamp_ns, names, [], nothing, nothing, nothing)
        return original(stamp_ns, names, times, u, du, tau)

    messages.trajectory = trajectory
    run.write()
    result = replay_run(read_run(path), finger_system, SETTINGS)
    assert result.first_mismatch.startswith("plan at 1.150 s: recorded with 0 points, recomputed with")
    assert result.mpc_commands_max_abs_diff == float("inf")


@pytest.mark.parametrize(
    ("lost", "skipped"),
    [
        ("object_pose", "no messages on object_pose"),
        ("mpc_tracker/plan", "no messages on mpc_tracker/plan"),
    ],
)
def test_what_cannot_be_recomputed_is_skipped_and_said(core_run, bag_writer, finger_task, finger_system, lost, skipped):
    writer, messages, path = bag_writer("part", without=(lost,))
    CoreRun(finger_task, writer, messages).write()
    result = replay_run(read_run(path), finger_system, SETTINGS)
    assert len(result.skipped) == 1 and skipped in result.skipped[0]
    assert (result.estimates == 0) is (lost == "object_pose")
    assert (result.plans == 0) is (lost == "mpc_tracker/plan")
    assert result.is_reproduced


def test_bag_with_nothing_to_recompute_names_all_that_is_missing(bag_writer, finger_system):
    writer, messages, path = bag_writer("nothing")
    writer.add("joint_states", 1, messages.joints(T0_NS, ("joint_one", "joint_two"), [0, 0], [0, 0], [0, 0]))
    writer.close()
    with pytest.raises(BagError, match="no messages on object_pose, .*no messages on state_estimator/joint_states, "):
        replay_run(read_run(path), finger_system, SETTINGS)


def test_estimates_that_the_inputs_do_not_give_are_counted(finger_task, finger_system, bag_writer):
    writer, messages, path = bag_writer("gap")
    run, add = CoreRun(finger_task, writer, messages), writer.add
    lost = {T0_NS + 100_000_000 + k * 1_000_000 for k in range(5)}

    def drop_some(name, receive_ns, message):
        if not (name == "joint_states" and receive_ns - 100 in lost):
            add(name, receive_ns, message)

    writer.add = drop_some
    run.write()
    result = replay_run(read_run(path), finger_system, SETTINGS)
    assert result.estimates_missing == 1
    assert not result.is_reproduced


def test_system_task_and_parameters_come_from_the_bag(core_run, finger_system, finger_task):
    record = read_run(core_run())
    assert find_system(record).digest == finger_system.digest
    assert find_task(record).name == finger_task.name
    assert node_config(record, "mpc_tracker", TrackerConfig) == TRACKER
    assert node_config(record, "state_estimator", EstimatorConfig, key="estimator") == ESTIMATOR
    assert describe_difference(record, finger_system) == ""


def test_times_of_the_run_replace_those_of_the_task(core_run, finger_task):
    metadata = {"task": str(finger_task.path), "duration_s": 1.5, "hold_s": 0.25}
    task = find_task(read_run(core_run(metadata=metadata)))
    assert (task.duration_s, task.hold_s) == (1.5, 0.25)


def test_file_that_a_run_made_for_itself_is_found_beside_the_bag(core_run, finger_task, tmp_path):
    record = read_run(core_run(metadata={"task": "a_problem", "task_file": "/elsewhere/run/task.yaml"}))
    text = finger_task.path.read_text().replace("finger_ball.yaml", str(finger_task.system.path))
    (record.path.parent / "task.yaml").write_text(text)
    assert find_task(record).name == finger_task.name


def test_foreign_bag_asks_for_the_system(core_run, finger_system):
    record = read_run(core_run(metadata={}))
    with pytest.raises(BagError, match="does not say which system it was recorded with; give it with --system"):
        find_system(record)
    assert find_system(record, finger_system.path).name == "finger_ball"


def test_system_of_another_machine_is_named(core_run):
    record = read_run(core_run(metadata={"system": "/nowhere/x.yaml", "provenance": {"system": "unheard_of"}}))
    with pytest.raises(BagError, match=r"'/nowhere/x.yaml' or 'unheard_of' is not on this machine.*--system"):
        find_system(record)


def test_changed_system_files_are_a_warning(core_run, finger_system):
    record = read_run(core_run(metadata={"provenance": {"system_digest": "0123"}}))
    assert "is not the one recorded" in describe_difference(record, finger_system)


def test_unknown_parameter_in_the_bag_is_refused_by_name(core_run):
    text = yaml.safe_dump({"/finger/mpc_tracker": {"ros__parameters": {"horizon": 3}}})
    record = read_run(core_run(metadata={"parameters": text}))
    with pytest.raises(ConfigError, match=r"run_metadata: mpc_tracker: unknown key 'horizon'"):
        node_config(record, "mpc_tracker", TrackerConfig)


def test_reference_of_another_object_is_no_reference(core_run, finger_system):
    record = read_run(core_run())
    plan = read_reference(finger_system, record.references[0], record.object_references[0])
    assert plan.q.shape == (4, finger_system.n_q)
    other = replace(record.object_references[0], names=("cube",))
    result = replay_run(replace(record, object_references=(other,)), finger_system, SETTINGS)
    assert result.first_mismatch.endswith("recomputed with 0")


def call(*arguments):
    return CliRunner().invoke(build_app(["replay"]), ["replay", *map(str, arguments)])


def test_command_line_reports_json_and_exits_zero_when_reproduced(core_run, tmp_path):
    outcome = call(core_run(), "--json", "--report", tmp_path / "page")
    assert outcome.exit_code == 0, outcome.output
    result = json.loads(outcome.stdout)
    assert result["command"] == "replay"
    assert result["mpc_commands_max_abs_diff"] <= 1e-9
    assert result["messages"] > STEPS and result["duration_s"] == pytest.approx(0.299)
    assert result["goal_met"] is True and result["seed"] == 5
    assert (tmp_path / "page" / "report.html").is_file()


def test_command_line_exits_one_when_something_differs(core_run):
    outcome = call(core_run(spoil=lambda stamp_ns, u: u + 1e-6))
    assert outcome.exit_code == 1
    assert "NOT reproduced" in outcome.stdout


@pytest.mark.parametrize("arguments", [("no_such_bag",), ()])
def test_command_line_says_in_one_line_what_is_wrong(core_run, tmp_path, arguments):
    outcome = call(*(arguments or (core_run(metadata={}),)))
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: ")
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert "Traceback" not in outcome.output
