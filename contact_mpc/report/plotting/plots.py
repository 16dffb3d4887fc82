"""The plots of a report. Each function returns its figure, or None where the bag lacks what it shows."""

from collections.abc import Callable

import numpy as np

from contact_mpc.bags.metrics import lateness_ms, sent_commands
from contact_mpc.bags.object_track import ObjectEvaluation, PoseTrack
from contact_mpc.bags.poses import angles_about_deg, angles_deg
from contact_mpc.bags.record import RunRecord
from contact_mpc.model.system import System
from contact_mpc.report.plotting.contact_plot import plot_contact_forces
from contact_mpc.report.plotting.figures import ESTIMATED, REFERENCE, TRUE, Figure, axis, log_axis, packed, seconds
from contact_mpc.report.scene.appearance import fingers, shades
from contact_mpc.task.task import TaskConfig

PANEL_POINTS = 700
FACTOR_WINDOW_NS = 100_000_000
Context = tuple[RunRecord, System, TaskConfig, ObjectEvaluation]


def build_figures(context: Context) -> list[Figure]:
    """Return all figures that the record has data for, in the order of the report.

    Parameters
    ----------
    context : tuple
        Record, system, task and the evaluation of the object's way.
    """
    builders: list[Callable[[Context], Figure | None]] = [
        plot_turn,
        plot_estimate_error,
        plot_angle_error,
        plot_position_error,
        plot_position,
        plot_joints,
        plot_torques,
        lambda item: plot_contact_forces(item[0], item[1], item[3]),
        plot_rates,
        plot_solve_times,
        plot_lateness,
        plot_real_time_factor,
    ]
    return [figure for figure in (build(context) for build in builders) if figure is not None]


def _tracks(evaluation: ObjectEvaluation) -> list[tuple[str, PoseTrack, str, str, float]]:
    reference = None if evaluation.reference is None else _held(evaluation.reference, evaluation.end_ns)
    found = [
        ("estimated", evaluation.estimate, ESTIMATED, "solid", 1.0),
        ("true (plant)", evaluation.truth, TRUE, "solid", 2.2),
        ("reference", reference, REFERENCE, "dash", 1.6),
    ]
    return [(name, track, colour, dash, width) for name, track, colour, dash, width in found if track is not None]


def plot_turn(context: Context) -> Figure:
    """Turn of the object about the task's axis."""
    _, _, task, evaluation = context
    axis_W, start = evaluation.turn_axis_W, evaluation.start.quaternion_wxyz
    text = ", ".join(f"{value:.2f}" for value in axis_W)
    figure = Figure("turn", "Object turn", f"Turn from the start about ({text}) in the world frame.")
    figure.axes("turn, deg")
    figure.phases(evaluation)
    figure.level(float(task.goal.angle_deg), "goal")
    for name, track, colour, dash, width in _tracks(evaluation):
        turn = angles_about_deg(track.quaternion_wxyz, start, axis_W)
        figure.line(seconds(track.t_ns, evaluation), turn, name, colour, dash=dash, width=width)
    return figure


def plot_position(context: Context) -> Figure:
    """Object position relative to the start, one panel per axis of W."""
    evaluation = context[3]
    figure = Figure("position", "Object position", "Displacement from the task's start, world frame.", is_wide=True)
    figure.panels(["x", "y", "z"], "displacement, mm")
    figure.phases(evaluation, panels=3)
    origin = evaluation.start.position_m[0]
    for name, track, colour, dash, width in _tracks(evaluation):
        moved = 1e3 * (track.position_m - origin)
        for k in range(3):
            style = {"dash": dash, "width": width, "legendgroup": name, "showlegend": k == 0, "points": PANEL_POINTS}
            figure.line(seconds(track.t_ns, evaluation), moved[:, k], name, colour, panel=k + 1, **style)
    figure.legend_below()
    return figure


def plot_angle_error(context: Context) -> Figure:
    """Angle between the object and goal, and between the object and its reference."""
    _, _, task, evaluation = context
    judged = evaluation.judged
    figure = Figure(
        "angle_error", "Orientation error", "Angle of the relative rotation; the tolerance holds at the end."
    )
    figure.axes("error, deg", rangemode="tozero")
    figure.phases(evaluation)
    figure.level(float(task.tolerance_deg), "tolerance")
    t_s = seconds(judged.t_ns, evaluation)
    figure.line(t_s, evaluation.goal_angle_deg, "to the goal", TRUE, width=2.0)
    if evaluation.reference is not None:
        followed = evaluation.reference.at(judged.t_ns)
        error = angles_deg(judged.quaternion_wxyz, followed.quaternion_wxyz)
        figure.line(t_s, error, "to the reference", REFERENCE)
    return figure


def plot_position_error(context: Context) -> Figure:
    """Distance of the object from goal and reference."""
    _, _, task, evaluation = context
    figure = Figure(
        "position_error", "Position error", "Distance of the object's frame; the tolerance holds at the end."
    )
    figure.axes("error, mm", rangemode="tozero")
    figure.phases(evaluation)
    figure.level(float(task.tolerance_mm), "tolerance")
    t_s = seconds(evaluation.judged.t_ns, evaluation)
    figure.line(t_s, 1e3 * evaluation.goal_distance_m, "to the goal", TRUE, width=2.0)
    if evaluation.reference is not None:
        figure.line(t_s, 1e3 * evaluation.reference_distance_m, "to the reference", REFERENCE)
    return figure


def plot_estimate_error(context: Context) -> Figure | None:
    """Estimate against ground truth."""
    evaluation = context[3]
    if evaluation.truth is None or evaluation.estimate is None:
        return None
    estimate = evaluation.estimate
    true = evaluation.truth.at(estimate.t_ns)
    t_s = seconds(estimate.t_ns, evaluation)
    figure = Figure("estimate_error", "Estimation error", "State estimator against the plant's ground truth.")
    figure.axes("angle, deg", rangemode="tozero")
    figure.phases(evaluation)
    right = axis("distance, mm", overlaying="y", side="right", rangemode="tozero", showgrid=False)
    figure.layout["yaxis2"] = {**right, "tickmode": "auto"}  # else at the heights of the left ticks: 0.764
    figure.layout["margin"] = {"l": 58, "r": 58, "t": 26, "b": 44}
    figure.line(t_s, angles_deg(estimate.quaternion_wxyz, true.quaternion_wxyz), "orientation, deg", TRUE)
    distance = 1e3 * np.linalg.norm(estimate.position_m - true.position_m, axis=1)
    figure.line(t_s, distance, "position, mm (right)", ESTIMATED, yaxis="y2")
    return figure


def plot_joints(context: Context) -> Figure | None:
    """Joint angles and their commands, one panel per finger."""
    record, system, _, evaluation = context
    if record.joint_states is None:
        return None
    states = record.joint_states
    measured = states.select("position", system.joint_names)
    figure = Figure("joints", "Joints", "Solid: measured q; dashed: commanded u.", is_wide=True)
    groups = fingers(system)
    figure.panels([finger.name for finger in groups], "angle, rad")
    figure.phases(evaluation, panels=len(groups))
    command = sent_commands(record, system).get("position")
    for panel, finger in enumerate(groups, start=1):
        for joint, colour in zip(finger.joints, shades(finger.colour, len(finger.joints)), strict=True):
            name, style = system.joint_names[joint], {"panel": panel, "points": PANEL_POINTS, "showlegend": False}
            figure.line(seconds(states.t_ns, evaluation), measured[:, joint], name, colour, **style)
            if command is not None:
                t_s = seconds(command[0], evaluation)
                figure.line(t_s, command[1][:, joint], f"{name} u", colour, dash="dash", width=1.0, **style)
    return figure


def plot_torques(context: Context) -> Figure | None:
    """Torques over their limits, one panel per finger: what was sent, or measured where nothing was sent."""
    record, system, _, evaluation = context
    sent = sent_commands(record, system).get("effort")
    if sent is None and record.joint_states is not None and record.joint_states.effort.shape[1]:
        sent = record.joint_states.t_ns, record.joint_states.select("effort", system.joint_names)
    if sent is None:
        return None
    figure = Figure("torques", "Joint torques", "In percent of each joint's effort limit.", is_wide=True)
    groups = fingers(system)
    figure.panels([finger.name for finger in groups], "torque, % of limit")
    figure.phases(evaluation, panels=len(groups))
    percent = 100.0 * sent[1] / system.tau_max_nm
    for panel, finger in enumerate(groups, start=1):
        figure.level(100.0, "limit" if panel == 1 else "", panel=panel)
        figure.level(-100.0, "", panel=panel)
        for joint, colour in zip(finger.joints, shades(finger.colour, len(finger.joints)), strict=True):
            style = {"panel": panel, "points": PANEL_POINTS, "showlegend": False, "width": 1.2}
            figure.line(seconds(sent[0], evaluation), percent[:, joint], system.joint_names[joint], colour, **style)
    return figure


def plot_rates(context: Context) -> Figure | None:
    """Largest command rate of each finger over its joints' velocity limits."""
    record, system, _, evaluation = context
    sent = sent_commands(record, system).get("velocity")
    if sent is None:
        return None
    figure = Figure("rates", "Command rates", "Largest |du| of each finger, in percent of the joint's velocity limit.")
    figure.axes("rate, % of limit", rangemode="tozero")
    figure.phases(evaluation)
    percent = 100.0 * np.abs(sent[1]) / system.v_max
    for finger in fingers(system):
        largest = percent[:, finger.joints].max(axis=1)
        figure.line(seconds(sent[0], evaluation), largest, finger.name, finger.colour, width=1.2)
    return figure


def plot_solve_times(context: Context) -> Figure | None:
    """Solve time of every tick of the tracker."""
    record, _, _, evaluation = context
    solved = [status for status in record.solve_status if "solve_ms" in status.values]
    if not solved:
        return None
    milliseconds = np.array([status.number("solve_ms") for status in solved])
    figure = Figure("solve_times", "MPC solve time", "Wall time of each tick of the tracker.")
    stamps = [status.stamp_ns for status in solved]
    if all(stamp is not None for stamp in stamps):
        times, label = seconds(np.array(stamps, dtype=np.int64), evaluation), "time, s"
    else:
        times, label = np.arange(len(solved), dtype=np.float64), "tick"
    figure.axes("solve time, ms", rangemode="tozero")
    figure.layout["xaxis"] = axis(label)
    marker = {"color": ESTIMATED, "size": 5}
    trace = {"type": "scatter", "mode": "markers", "name": "solve", "marker": marker, "showlegend": False}
    figure.traces.append({**trace, "x": packed(times), "y": packed(milliseconds)})
    figure.level(float(np.median(milliseconds)), f"median {np.median(milliseconds):.2f} ms", ESTIMATED)
    return figure


def plot_lateness(context: Context) -> Figure | None:
    """Histogram of the bridge's lateness; only where the clock was real."""
    record = context[0]
    late = lateness_ms(record)
    if record.metadata.get("clock") != "realtime" or not len(late):
        return None
    figure = Figure(
        "lateness",
        "Bridge lateness",
        "Receipt of each command at the recorder against the grid of the stamps (an upper bound).",
    )
    figure.layout["xaxis"] = axis("lateness, ms")
    figure.layout["yaxis"] = log_axis("commands")
    counts, edges = np.histogram(late, bins=100)
    middle = 0.5 * (edges[1:] + edges[:-1])
    bars = {"type": "bar", "x": packed(middle), "y": packed(counts.astype(np.float64)), "marker": {"color": ESTIMATED}}
    figure.traces.append({**bars, "name": "commands", "showlegend": False})
    figure.layout["bargap"] = 0
    return figure


def plot_real_time_factor(context: Context) -> Figure | None:
    """Simulated over received time in windows of 0.1 s of simulated time; only where messages were received."""
    record, _, _, evaluation = context
    states = record.joint_states
    if states is None or len(states) < 2 or states.t_ns[-1] - states.t_ns[0] < 2 * FACTOR_WINDOW_NS:
        return None
    if states.receive_ns[-1] <= states.receive_ns[0]:
        return None
    edges = np.arange(states.t_ns[0], states.t_ns[-1], FACTOR_WINDOW_NS)
    rows = np.searchsorted(states.t_ns, edges)
    stamped, received = np.diff(states.t_ns[rows]), np.diff(states.receive_ns[rows])
    factor = np.divide(stamped, received, out=np.full(len(stamped), np.nan), where=received > 0)
    figure = Figure(
        "real_time_factor", "Real-time factor", "Stamped over received time of the joint states, 0.1 s windows."
    )
    figure.axes("factor", rangemode="tozero")
    figure.phases(evaluation)
    figure.level(1.0, "real time", REFERENCE)
    figure.line(seconds(edges[1:], evaluation), factor, "factor", ESTIMATED, showlegend=False)
    return figure


def _held(track: PoseTrack, end_ns: int) -> PoseTrack:
    """Return a track that stays at its last pose until end_ns, as a reference does."""
    if track.t_ns[-1] >= end_ns:
        return track
    return PoseTrack(
        np.append(track.t_ns, end_ns),
        np.vstack([track.quaternion_wxyz, track.quaternion_wxyz[-1]]),
        np.vstack([track.position_m, track.position_m[-1]]),
    )
