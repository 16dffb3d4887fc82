"""A run within one process as the record that a bag of it would give, so that metrics and reports are the same.

Nothing was received from anywhere: all times of receipt are 0, and what is judged by them is unknown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.bags.record import (
    CommandSeries,
    JointSeries,
    ObjectTrajectoryMessage,
    OdometrySeries,
    RunRecord,
    StatusMessage,
    TrajectoryMessage,
)
from contact_mpc.control.bridge.status import BridgeMode
from contact_mpc.control.tracking.follower import NO_REFERENCE, OK
from contact_mpc.loop.config import LoopConfig
from contact_mpc.loop.log import ClosedLoopResult
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.model.system import System
from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

WARN = 1  # of diagnostic_msgs/DiagnosticStatus
Stamps = NDArray[np.int64]


def record_of_loop(
    result: ClosedLoopResult, task: TaskConfig, plan: Plan, config: LoopConfig, metadata: dict[str, Any] | None = None
) -> RunRecord:
    """Return the record of a run of the loop.

    Parameters
    ----------
    result, task, plan, config
        The run, and what was run.
    metadata : dict, optional
        What the page shall say of its provenance besides task, plant and controller.
    """
    system = task.system
    start_ns = T0_NS + round(config.start_delay_s * NS_PER_S)
    is_effort = config.bridge.command_interface == "effort"
    sent = CommandSeries("commands", *_stamps(result.t_ns), result.commands, True)
    q_a = result.q[:, system.n_q_u :]
    return RunRecord(
        path=Path(f"{task.name}, in one process"),
        topics={},
        metadata={
            "task": task.name,
            "plant": config.engine,
            "clock": "lockstep",
            "controller": config.controller,
            **(metadata or {}),
        },
        joint_states=_joints(system, "joint_states", result.t_ns, q_a, result.v[:, system.n_v_u :], result.tau),
        plant_odom=_odometry(system, "plant/object_odom", result.t_ns, result.q),
        estimated_odom=_odometry(system, "state_estimator/object_odom", result.estimate_t_ns, result.estimate_q),
        applied=_joints(system, "command_bridge/applied", result.t_ns, result.u),
        effort_commands=sent if is_effort else None,
        position_commands=None if is_effort else sent,
        plans=tuple(
            TrajectoryMessage(item.stamp_ns, 0, system.joint_names, item.times_s, item.u, item.du, item.tau_ff)
            for item in result.plans
        ),
        references=(
            TrajectoryMessage(start_ns, 0, system.joint_names, plan.times_s, plan.u, np.zeros((0, 0)), plan.tau_ff),
        ),
        object_references=(_object_reference(system, start_ns, plan),),
        solve_status=_solves(result),
        safety=tuple(
            StatusMessage(0, t_ns, WARN, "command_bridge", text, {})
            for t_ns, text in result.holds
            if not text.startswith(BridgeMode.ACTIVE.name)
        ),
    )


def _stamps(t_ns: Stamps) -> tuple[Stamps, Stamps]:
    """Return stamps and times of receipt, all 0."""
    return t_ns, np.zeros_like(t_ns)


def _joints(
    system: System,
    topic: str,
    t_ns: Stamps,
    position: FloatArray,
    velocity: FloatArray | None = None,
    effort: FloatArray | None = None,
) -> JointSeries:
    nothing = np.zeros((len(t_ns), 0))
    return JointSeries(
        topic,
        *_stamps(t_ns),
        names=system.joint_names,
        position=position,
        velocity=nothing if velocity is None else velocity,
        effort=nothing if effort is None else effort,
        pose_stamp_ns=np.full(len(t_ns), -1),
        notes=("",) * len(t_ns),
    )


def _poses(system: System, q: Sequence[FloatArray] | FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return quaternions wxyz (n, 4) and positions (n, 3), m, of the first object at q (n, n_q)."""
    poses = [system.object_pose(row) for row in q]
    wxyz = [matrix_to_quaternion(np.ascontiguousarray(R)) for R, _ in poses]
    return np.array(wxyz).reshape(-1, 4), np.array([p for _, p in poses]).reshape(-1, 3)


def _odometry(system: System, topic: str, t_ns: Stamps, q: FloatArray) -> OdometrySeries:
    wxyz, position = _poses(system, q)
    n = len(t_ns)
    unknown = np.full((n, 6, 6), np.nan), np.full((n, 6), np.nan)
    return OdometrySeries(topic, *_stamps(t_ns), wxyz, position, system.object_names[0], *unknown)


def _object_reference(system: System, start_ns: int, plan: Plan) -> ObjectTrajectoryMessage:
    wxyz, position = _poses(system, plan.q)
    names = system.object_names[:1]
    return ObjectTrajectoryMessage(start_ns, 0, names, plan.times_s, wxyz[:, None], position[:, None])


def _solves(result: ClosedLoopResult) -> tuple[StatusMessage, ...]:
    """Return what the tracker said at each tick; a warning where the node would warn."""
    messages = []
    ticks = zip(result.plan_t_ns, result.plan_status, result.plan_note, result.plans, result.solve_ms, strict=True)
    for t_ns, status, note, plan, solve_ms in ticks:
        is_fine = not note and status in (OK, NO_REFERENCE)
        values = {} if plan.is_hold else {"solve_ms": str(solve_ms)}
        text = f"{status}: {note}" if note else status
        messages.append(StatusMessage(0, int(t_ns), 0 if is_fine else WARN, "mpc_tracker", text, values))
    return tuple(messages)
