"""A start that was found, in the words of a task file, and put into one."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from contact_mpc.model.rotations import rpy_from_rotation
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.settings.file_access import write_text
from contact_mpc.task.task import Goal
from contact_mpc.version import __version__


def start_section(system: System, start: GraspCandidate, grip_n: float | None = None) -> dict[str, Any]:
    """Return the keys of a task file's section `start`; grip_n, N, where it is not the task's own."""
    R, p = system.object_pose(start.q)
    joints, commands = (np.round(item, 4).tolist() for item in (start.q[system.n_q_u :], start.grasp.u))
    return {
        "joints_rad": dict(zip(system.joint_names, joints, strict=True)),
        "commands_rad": dict(zip(system.joint_names, commands, strict=True)),
        "object_position_m": (np.round(p, 4) + 0.0).tolist(),
        "object_rpy_rad": (np.round(rpy_from_rotation(R), 4) + 0.0).tolist(),
        **({} if grip_n is None else {"grip_n": grip_n}),
    }


def start_text(section: dict[str, Any], options: str) -> str:
    """Return the section `start` as text, with the command and its options that found it in its first line."""
    return _text("start", section, options)


def grasps_text(sections: list[dict[str, Any]], options: str) -> str:
    """Return the section `grasps`, those beside the start's, likewise."""
    return _text("grasps", sections, options)


def _text(key: str, value: Any, options: str) -> str:
    text = yaml.safe_dump({key: value}, sort_keys=False, default_flow_style=None, width=100000)
    return f"{key}:   # by `contact-mpc plan --grasp {options}`, version {__version__}\n" + text.partition("\n")[2]


def goal_text(goal: Goal) -> str:
    """Return the section `goal` of a turn that is the grasp's own."""
    section = {
        "rotation_axis": np.round(goal.axis_W, 4).tolist(),
        "rotation_deg": round(goal.angle_deg, 4),
        "translation_m": np.round(goal.translation_m, 4).tolist(),
        "is_free": True,
    }
    return "goal: " + yaml.safe_dump(section, sort_keys=False, default_flow_style=True, width=100000)


def write_start(path: Path, system: System, start: GraspCandidate, grip_n: float | None, options: str) -> None:
    """Put a start into a task file, and its goal where that is the grasp's own."""
    if start.goal is not None:
        replace_section(path, "goal", goal_text(start.goal))
    replace_section(path, "start", start_text(start_section(system, start, grip_n), options))


def write_grasps(path: Path, sections: list[dict[str, Any]], options: str) -> None:
    """Put several grasps, as `start_section` gives them, into a task file, the first as its start."""
    replace_section(path, "start", start_text(sections[0], options))
    replace_section(path, "grasps", grasps_text(sections[1:], options))


def replace_section(path: Path, key: str, block: str) -> None:
    """Put the block in the place of a section of a task file, or at its end."""
    old = path.read_text(encoding="utf-8")
    section = re.compile(rf"^{key}:.*\n(?:(?:[ \t}}].*)?\n)*", re.MULTILINE)
    new = section.sub(lambda _: block, old, count=1) if section.search(old) else f"{old.rstrip()}\n{block}"
    write_text(path, new)
