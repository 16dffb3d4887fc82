"""``contact-mpc goal``: sends a goal for the object to a stack that runs, and follows it to its end."""

import sys
from typing import Annotated, Any

import numpy as np
import typer

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.errors import ConfigError
from contact_mpc.model.rotations import quaternion_to_matrix

QUATERNION_TOLERANCE = 1e-3


def goal(
    turn: Annotated[str, typer.Option(help="AXIS:DEGREES from where the object is, e.g. z:30 or -x:15.")] = "",
    pose: Annotated[str, typer.Option(help="x,y,z,qw,qx,qy,qz of the object in the world: m, unit quaternion.")] = "",
    cancel: Annotated[bool, typer.Option("--cancel", help="Give the goal up; the object comes to rest.")] = False,
    hold: Annotated[bool, typer.Option("--hold", help="Follow nothing; the bridge holds.")] = False,
    robot: Annotated[str, typer.Option(help="Namespace of the stack; by default the only one.")] = "",
    domain: Annotated[int | None, typer.Option(help="ROS domain; by default ROS_DOMAIN_ID, or 0.")] = None,
    timeout_s: Annotated[float, typer.Option(min=0.1, help="Longest time to wait for the end, s.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Send a goal to a running stack (`run TASK --endless`); the exit code is 0 only if the object reached it."""
    if sum(map(bool, (turn, pose, cancel, hold))) != 1:
        raise ConfigError("give one of --turn z:30, --pose x,y,z,qw,qx,qy,qz, --cancel and --hold")
    target = _read_pose(pose) if pose else None
    axis, angle = _read_turn(turn) if turn else ("", 0.0)
    from contact_mpc.ros.client import GoalClient

    with GoalClient(robot, domain) as client:
        if cancel or hold:
            said = client.cancel() if cancel else client.hold()
            emit({"state": client.status.state, "message": said}, as_json, said)
            return
        if target is not None:
            client.send(*target)
        else:
            client.turn(axis, angle)
        outcome = client.wait(timeout_s, None if as_json else _Line().show)
    result: dict[str, Any] = {
        "state": outcome.state, "message": outcome.message, "goal_met": outcome.state == "reached",
        "angle_error_deg": outcome.angle_error_deg, "position_error_mm": outcome.position_error_mm,
    }  # fmt: skip
    emit(result, as_json, f"{outcome.state}: {outcome.message}")
    raise typer.Exit(0 if outcome.state == "reached" else EXIT_GOAL_MISSED)


class _Line:
    """Shows on stderr how far a goal is, a line for each state."""

    def __init__(self) -> None:
        self._said = ""

    def show(self, outcome: Any) -> None:
        said = f"{outcome.state}: {outcome.message}"
        if said != self._said and not outcome.has_ended:
            self._said = said
            print(said, file=sys.stderr)


def _read_turn(text: str) -> tuple[str, float]:
    axis, _, angle = text.partition(":")
    try:
        return axis, float(angle)
    except ValueError as error:
        raise ConfigError(f"--turn {text}: expected AXIS:DEGREES, e.g. z:30") from error


def _read_pose(text: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        values = np.array([float(item) for item in text.split(",")])
    except ValueError as error:
        raise ConfigError(f"--pose {text}: expected seven numbers x,y,z,qw,qx,qy,qz") from error
    if values.shape != (7,) or not np.isfinite(values).all():
        raise ConfigError(f"--pose {text}: expected seven finite numbers x,y,z,qw,qx,qy,qz")
    norm = float(np.linalg.norm(values[3:]))
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise ConfigError(f"--pose {text}: the quaternion has norm {norm:.6g}; give a unit quaternion, w first")
    return quaternion_to_matrix(values[3:] / norm), values[:3]
