"""Figures of merit of trajectories whose every number is known."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.metrics import compute_metrics, lateness_ms, statistics
from contact_mpc.bags.object_track import evaluate_object, task_poses
from contact_mpc.bags.poses import angles_about_deg, angles_deg, interpolate_quaternions
from contact_mpc.bags.record import StatusMessage
from contact_mpc.errors import BagError
from contact_mpc.report.result_table import result_rows
from contact_mpc.settings.tunable import REFERENCE_START, WAITED

ROUND_OFF_DEG = 1e-5  # an angle from a quaternion product near the identity carries the square root of round-off
ROUND_OFF_MM = 1e-9
T0_NS = 1_000_000_000


@pytest.fixture
def metrics_of(synthetic_run, finger_system, finger_task, tmp_path):
    def compute(**changes):
        record = read_run(synthetic_run(**changes).write(tmp_path / "run"))
        return compute_metrics(record, finger_system, finger_task)

    return compute


def test_exact_turn_has_no_error_and_meets_the_goal(metrics_of):
    metrics = metrics_of()
    assert metrics.angle_error_deg == pytest.approx(0.0, abs=ROUND_OFF_DEG)
    assert metrics.position_error_mm == pytest.approx(0.0, abs=ROUND_OFF_MM)
    assert metrics.error_source == "plant"
    assert metrics.goal_met and metrics.completed and not metrics.dropped
    assert metrics.reasons == ()


def test_offset_of_two_millimetres_is_an_error_of_two(metrics_of):
    metrics = metrics_of(offset_mm=(0.0, -2.0, 0.0))
    assert metrics.position_error_mm == pytest.approx(2.0, abs=ROUND_OFF_MM)
    assert metrics.worst_hold_position_error_mm == pytest.approx(2.0, abs=ROUND_OFF_MM)


def test_start_offset_counts_against_the_goal_of_the_task(metrics_of):
    metrics = metrics_of(start_m=(0.053, 0.0, 0.3))
    assert metrics.position_error_mm == pytest.approx(3.0, abs=ROUND_OFF_MM)
    assert not metrics.goal_met
    assert metrics.reasons == ("position error 3.00 mm > 2 mm",)


@pytest.mark.parametrize(("turn_deg", "error_deg"), [(25.0, 5.0), (-30.0, 60.0), (0.0, 30.0), (390.0, 0.0)])
def test_turn_that_is_short_or_wrong_is_measured(metrics_of, turn_deg, error_deg):
    metrics = metrics_of(turn_deg=turn_deg)
    assert metrics.angle_error_deg == pytest.approx(error_deg, abs=ROUND_OFF_DEG)
    assert metrics.goal_met is (error_deg < 3.0)


def test_turn_about_another_axis_is_the_angle_of_the_relative_rotation(metrics_of):
    metrics = metrics_of(axis=(1.0, 0.0, 0.0))
    c = np.cos(np.radians(15.0)) ** 2  # half-angle product of two 30 degree turns about orthogonal axes
    assert metrics.angle_error_deg == pytest.approx(np.degrees(2.0 * np.arccos(c)), abs=ROUND_OFF_DEG)


def test_object_that_falls_is_dropped_even_if_it_turned(metrics_of):
    metrics = metrics_of(drop_m=0.06)
    assert metrics.dropped and not metrics.goal_met
    assert "the object was more than 5 cm from its reference" in metrics.reasons


def test_run_that_ends_before_the_hold_is_not_complete(metrics_of):
    metrics = metrics_of(hold_s=0.1)
    assert not metrics.completed and not metrics.goal_met
    assert metrics.reasons == ("the bag ends before the hold does",)
    assert metrics.angle_error_deg == pytest.approx(0.0, abs=ROUND_OFF_DEG)


def test_a_run_with_an_open_end_is_complete_once_the_goal_was_held(synthetic_run, finger_system, finger_task, tmp_path):
    """Its duration is a limit: the same bag that ends before the hold of a task with a fixed time."""
    early = read_run(synthetic_run().write(tmp_path / "run"))
    longer = replace(finger_task, duration_s=finger_task.duration_s + 5.0)
    assert not compute_metrics(early, finger_system, longer).completed
    open_end = replace(longer, planner={"method": "tree"})
    metrics = compute_metrics(early, finger_system, open_end)
    assert metrics.completed and metrics.goal_met
    assert metrics.worst_hold_angle_error_deg == pytest.approx(0.0, abs=ROUND_OFF_DEG)
    short = read_run(synthetic_run(hold_s=0.1).write(tmp_path / "short"))
    assert not compute_metrics(short, finger_system, open_end).completed
    away = compute_metrics(read_run(synthetic_run(turn_deg=20.0).write(tmp_path / "away")), finger_system, open_end)
    assert not away.completed and not away.goal_met


def test_searches_for_a_plan_in_vain_are_counted_and_shown(synthetic_run, finger_system, finger_task, tmp_path):
    record = read_run(synthetic_run().write(tmp_path / "run"))
    assert compute_metrics(record, finger_system, finger_task).failed_replans == 0
    kept = StatusMessage(0, None, 1, "mpc_tracker", "plan_kept: from 1.654 s on: no solution from this state", {})
    metrics = compute_metrics(
        replace(record, solve_status=(*record.solve_status, kept, kept)), finger_system, finger_task
    )
    assert metrics.failed_replans == 2
    assert ("Plans searched again in vain", "2") in [(row.name, row.value) for row in result_rows(metrics, finger_task)]


@pytest.mark.parametrize("clock", ["realtime", "lockstep"])
def test_a_run_in_realtime_is_judged_as_much_later_as_its_motion_waited(
    synthetic_run, finger_system, finger_task, tmp_path, clock
):
    """In lockstep a run has its length; the reference is compared with as late in either."""
    record = read_run(synthetic_run().write(tmp_path / "run"))
    start_ns = record.references[-1].stamp_ns
    at_once = evaluate_object(record, finger_task)
    wait_ns, held_ns = 150_000_000, start_ns + 200_000_000
    stamps = [start_ns, held_ns, held_ns + wait_ns + 100_000_000, at_once.end_ns]
    said = [0.0, 0.0, 0.15, 0.15]
    solves = tuple(
        StatusMessage(0, stamp, 0, "mpc_tracker", "ok", {REFERENCE_START: str(start_ns), WAITED: repr(waited_s)})
        for stamp, waited_s in zip(stamps, said, strict=True)
    )
    waited = replace(record, solve_status=solves, metadata={**record.metadata, "clock": clock})
    evaluation = evaluate_object(waited, finger_task)
    assert evaluation.waited_s == 0.15
    later_ns = wait_ns if clock == "realtime" else 0
    assert evaluation.motion_end_ns - at_once.motion_end_ns == later_ns
    assert evaluation.is_complete is (clock == "lockstep"), "the bag ends with the run that did not wait"
    assert at_once.reference is not None and evaluation.reference is not None
    t_ns = np.array([start_ns + 100_000_000, held_ns + 100_000_000 + wait_ns, at_once.end_ns])
    expected = at_once.reference.at(t_ns - np.array([0, wait_ns, wait_ns]))
    assert np.allclose(evaluation.reference.at(t_ns).position_m, expected.position_m, atol=1e-9)
    turned = angles_deg(evaluation.reference.at(t_ns).quaternion_wxyz, expected.quaternion_wxyz)
    assert turned == pytest.approx(np.zeros(3), abs=1e-3)
    rows = {
        row.name: row.value for row in result_rows(compute_metrics(waited, finger_system, finger_task), finger_task)
    }
    assert rows["Motion waited while the bridge held"] == "0.15 s"


@pytest.mark.parametrize("text", ["", "[/b]", "1e400", "nan", "9" * 5000])
def test_values_of_a_status_that_are_no_numbers_are_left_out(synthetic_run, finger_system, finger_task, tmp_path, text):
    record = read_run(synthetic_run().write(tmp_path / "run"))
    start = str(record.references[-1].stamp_ns)
    values = {"solve_ms": text, WAITED: text, REFERENCE_START: start, "lateness_median_ms": text}
    status = StatusMessage(0, 1, 0, "robot/command_bridge", "ok", values)
    metrics = compute_metrics(
        replace(record, solve_status=(status,), diagnostics=(status,)), finger_system, finger_task
    )
    assert metrics.mpc_solve_ms is None and metrics.waited_s == 0.0


def test_warnings_of_the_tracker_are_counted_and_shown(synthetic_run, finger_system, finger_task, tmp_path):
    record = read_run(synthetic_run().write(tmp_path / "run"))
    assert compute_metrics(record, finger_system, finger_task).tracker_reports == {}
    messages = ["lagging", "ok: less torque than commanded: joint_1", "lagging"]
    warned = tuple(StatusMessage(0, None, 1, "mpc_tracker", message, {}) for message in messages)
    metrics = compute_metrics(replace(record, solve_status=warned), finger_system, finger_task)
    assert metrics.tracker_reports == {"lagging": 2, "ok: less torque than commanded: joint_1": 1}
    shown = "lagging (2); ok: less torque than commanded: joint_1 (1)"
    assert ("Tracker warned (ticks)", shown) in [(row.name, row.value) for row in result_rows(metrics, finger_task)]


@pytest.mark.parametrize(("torque_nm", "joints"), [(0.7, 0), (0.71, 1), (1.5, 2)])
def test_effort_beyond_its_limit_counts_once_per_joint_and_message(metrics_of, synthetic_run, torque_nm, joints):
    metrics = metrics_of(torque_nm=torque_nm)
    assert metrics.limit_violations_by_kind["effort"] == joints * len(synthetic_run().stamps())
    assert metrics.limit_violations == sum(metrics.limit_violations_by_kind.values())


@pytest.mark.parametrize("goal_met", [True, False])
def test_a_goal_is_not_met_beside_a_fault_or_a_violation(synthetic_run, tmp_path, finger_system, finger_task, goal_met):
    """The object ends where it should in both runs."""
    record = read_run(synthetic_run(torque_nm=0.1 if goal_met else 0.8).write(tmp_path / "run"))
    task = replace(finger_task, tolerance_deg=180.0, tolerance_mm=1000.0, drop_distance_m=10.0)
    metrics = compute_metrics(record, finger_system, task)
    assert metrics.goal_met == goal_met
    assert all("effort commands beyond limits" in reason for reason in metrics.reasons)
    fault = StatusMessage(1, None, 2, "command_bridge", "FAULT STATE_JUMP (202)", {})
    faulty = compute_metrics(replace(record, safety=(fault,)), finger_system, task)
    assert not faulty.goal_met and "the bridge had a fault: FAULT STATE_JUMP (202)" in faulty.reasons


def test_command_that_is_not_finite_is_a_violation(metrics_of, synthetic_run):
    assert metrics_of(torque_nm=float("nan")).limit_violations_by_kind["non_finite"] > 0


def test_position_commands_on_the_wire_are_held_against_the_joint_range(bag_writer, finger_system, finger_task):
    writer, messages, path = bag_writer("position")
    for k, u in enumerate(([0.0, 1.5], [0.0, 1.6], [-1.6, 1.6])):
        stamp_ns = 10**9 + k * 10**6
        writer.add("position_controller/commands", k, messages.command(stamp_ns, np.array(u)))
        writer.add("plant/object_odom", k, messages.odometry(stamp_ns, np.array([1.0, 0, 0, 0]), np.zeros(3)))
    writer.close()
    metrics = compute_metrics(read_run(path), finger_system, finger_task)
    assert metrics.limit_violations_by_kind == {"position": 3, "non_finite": 0}


def test_real_time_factor_is_stamped_over_received_time(metrics_of):
    assert metrics_of(wall_per_stamp=2.0).real_time_factor == pytest.approx(0.5, rel=1e-6)


def test_states_without_a_command_are_counted(metrics_of):
    assert metrics_of(skip_commands=(10, 11, 300)).missed_ticks == 3


def test_solve_time_statistics_are_those_of_the_status_messages(metrics_of):
    metrics = metrics_of()  # solves state 1, 2, ... 9 ms
    assert metrics.mpc_solve_ms["median"] == pytest.approx(5.0)
    assert metrics.mpc_solve_ms["max"] == pytest.approx(9.0)
    assert metrics.mpc_rate_hz == pytest.approx(10.0)


def test_lateness_is_stated_in_realtime_only(metrics_of, synthetic_run, finger_system, finger_task, tmp_path):
    assert metrics_of().bridge_lateness_ms is None
    run = synthetic_run(wall_per_stamp=1.001, metadata={"clock": "realtime"})
    record = read_run(run.write(tmp_path / "real"))
    metrics = compute_metrics(record, finger_system, finger_task)
    assert metrics.bridge_lateness_ms["max"] == pytest.approx(0.8, rel=1e-6)  # 1/1000 of 0.8 s
    assert lateness_ms(record).min() == 0.0


def test_lateness_forgets_a_simulation_that_fell_behind_for_good(synthetic_run, tmp_path):
    run = synthetic_run(motion_s=9.0, wall_per_stamp=1.001, without=("object_pose", "plant/object_odom"))
    late = lateness_ms(read_run(run.write(tmp_path / "run")))
    assert late.max() == pytest.approx(2.0, rel=0.01)  # 1/1000 of the two seconds that are looked back


def test_the_bridge_has_the_first_word_on_its_lateness(bag_writer, finger_system, finger_task):
    writer, messages, path = bag_writer("stated")
    stated = {"lateness_median_ms": "0.2", "lateness_p90_ms": "0.3", "lateness_p99_ms": "0.5", "lateness_max_ms": "7"}
    status = messages.status(stated)
    status.name = "/finger/command_bridge"
    writer.add("run_metadata", 1, messages.text({"clock": "realtime"}))
    writer.add("diagnostics", 2, messages.status_array(T0_NS, [status]))
    writer.add("plant/object_odom", 3, messages.odometry(T0_NS, np.array([1.0, 0, 0, 0]), np.zeros(3)))
    writer.close()
    metrics = compute_metrics(read_run(path), finger_system, finger_task)
    assert metrics.bridge_lateness_ms == {"median": 0.2, "p90": 0.3, "p99": 0.5, "max": 7.0}


def test_a_fault_that_is_repeated_is_listed_once(bag_writer, finger_system, finger_task):
    writer, messages, path = bag_writer("fault")
    for k, text in enumerate(("ACTIVE", "FAULT STATE_LOST (201)", "FAULT STATE_LOST (201)", "HOLD NO_PLAN (101)")):
        writer.add("command_bridge/safety", k, messages.status({}, message=text))
    writer.add("plant/object_odom", 9, messages.odometry(T0_NS, np.array([1.0, 0, 0, 0]), np.zeros(3)))
    writer.close()
    metrics = compute_metrics(read_run(path), finger_system, finger_task)
    assert metrics.faults == ("FAULT STATE_LOST (201)",)
    assert "the bridge had a fault: FAULT STATE_LOST (201)" in metrics.reasons


@pytest.mark.parametrize(("offset_ns", "counted"), [(-2_000_000, True), (0, False), (50_000_000, False)])
def test_states_that_stop_at_the_end_of_a_run_are_no_fault(
    synthetic_run, tmp_path, finger_system, finger_task, offset_ns, counted
):
    record = read_run(synthetic_run().write(tmp_path / "run"))
    end_ns = evaluate_object(record, finger_task).end_ns
    received_ns = int(record.joint_states.receive_ns[np.flatnonzero(record.joint_states.t_ns >= end_ns)[0]])
    lost = StatusMessage(received_ns + offset_ns, None, 2, "command_bridge", "FAULT STATE_LOST (201)", {})
    jump = StatusMessage(received_ns + offset_ns, None, 2, "command_bridge", "FAULT STATE_JUMP (202)", {})
    faults = compute_metrics(replace(record, safety=(lost, jump)), finger_system, finger_task).faults
    assert ("FAULT STATE_LOST (201)" in faults) == counted
    assert "FAULT STATE_JUMP (202)" in faults


def test_bag_without_truth_is_judged_by_the_estimate_and_says_so(metrics_of):
    metrics = metrics_of(without=("plant/object_odom",), turn_deg=29.0)
    assert metrics.error_source == "estimate"
    assert metrics.angle_error_deg == pytest.approx(1.0, abs=ROUND_OFF_DEG)


def test_bag_without_any_object_pose_is_refused(metrics_of):
    with pytest.raises(BagError, match="no messages on plant/object_odom or state_estimator/object_odom"):
        metrics_of(without=("plant/object_odom", "state_estimator/object_odom"))


def test_bag_of_another_robot_names_the_joints(metrics_of):
    with pytest.raises(BagError, match="no joint joint_one, joint_two; it has left, right"):
        metrics_of(joint_names=("left", "right"))


def test_cancelled_reference_does_not_move_the_start(bag_writer, finger_task):
    writer, messages, path = bag_writer("cancelled")
    nothing, u = np.zeros((0, 2)), np.zeros((1, 2))
    writer.add("reference", 1, messages.trajectory(2 * 10**9, ("joint_one", "joint_two"), [0.0], u, u, u))
    writer.add(
        "reference", 2, messages.trajectory(5 * 10**9, ("joint_one", "joint_two"), [], nothing, nothing, nothing)
    )
    writer.add("plant/object_odom", 3, messages.odometry(10**9, np.array([1.0, 0, 0, 0]), np.zeros(3)))
    writer.close()
    assert evaluate_object(read_run(path), finger_task).start_ns == 2 * 10**9


def test_goal_is_the_start_turned_in_the_world_frame(finger_task):
    start, goal = task_poses(finger_task)
    np.testing.assert_allclose(start.position_m, [[0.05, 0.0, 0.3]], atol=1e-15)
    assert angles_deg(goal.quaternion_wxyz, start.quaternion_wxyz)[0] == pytest.approx(30.0)


def test_statistics_leave_out_what_is_not_finite():
    assert statistics(np.array([1.0, np.nan, 3.0])) == {"median": 2.0, "p90": 2.8, "p99": 2.98, "max": 3.0}
    assert statistics(np.array([np.nan])) is None


def test_turn_is_counted_beyond_half_a_revolution():
    angles = np.radians(np.linspace(0.0, 400.0, 81))
    wxyz = np.column_stack([np.cos(angles / 2), 0 * angles, 0 * angles, np.sin(angles / 2)])
    turn = angles_about_deg(wxyz, wxyz[0], np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(turn, np.degrees(angles), atol=1e-9)


def test_interpolated_quaternions_are_exact_at_knots_of_either_sign():
    knots = np.array([[1.0, 0, 0, 0], [-np.cos(0.1), 0, 0, -np.sin(0.1)]])
    stamps = np.array([0, 1_000_000_000])
    middle = interpolate_quaternions(np.array([0, 500_000_000, 1_000_000_000]), stamps, knots)
    np.testing.assert_allclose(middle[1], [np.cos(0.05), 0, 0, np.sin(0.05)], atol=1e-15)
    assert angles_deg(middle[2], knots[1])[0] == pytest.approx(0.0, abs=ROUND_OFF_DEG)


def test_hits_of_a_push_are_rows_with_their_limits(metrics_of, finger_task):
    metrics = metrics_of()
    assert not any("hit" in row.name.lower() for row in result_rows(metrics, finger_task)), "not measured: no rows"
    planned = {"t_s": 0.404, "impulse_ns": 1.88}
    hits = [
        {"planned": planned, "measured": {"t_s": 0.402, "impulse_ns": 1.89}, "is_as_planned": True},
        {"planned": planned, "measured": None, "is_as_planned": False},
    ]
    contacts = {"hits": hits, "hits_as_planned": 1, "is_sequence_as_planned": False}
    rows = [row for row in result_rows(replace(metrics, contacts=contacts), finger_task) if "hit" in row.name.lower()]
    assert [row.value for row in rows] == ["2 / 1", "0.404, 1.88 / 0.402, 1.89", "0.404, 1.88 / none"]
    assert [row.passed for row in rows] == [False, True, False]
