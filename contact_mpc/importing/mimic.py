"""Joints that follow others by a linkage (<mimic>): coupled to them as they are, or held fast where that is asked for.

A locked joint stays where it is while the joint that it follows is in the middle of its range. The real linkage moves
it with that joint, so the locked robot is another one: right near that posture, wrong by multiplier * dq away from it.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.importing.xml_numbers import add_origin, read_numbers, read_pose
from contact_mpc.model.rotations import rotation_exp, unit_vector
from contact_mpc.model.urdf import Pose

FACTORS = (("multiplier", "1"), ("offset", "0"))


def lock_mimics(robot: ET.Element, path: Path, is_wanted: bool) -> list[str]:
    """Make joints with <mimic> fixed, in place, where that is wanted; return what is to be known of such joints.

    Raises
    ------
    ModelError
        A joint follows one that the file does not have, or that has no range.
    """
    joints = {str(joint.get("name", "")): joint for joint in robot.findall("joint")}
    following = {name: joint for name, joint in joints.items() if joint.find("mimic") is not None}
    if not is_wanted:
        named = ", ".join(f"'{name}' follows '{_leader(joint)}'" for name, joint in following.items())
        return [f"coupled joints, which nothing drives by themselves: {named}"] if following else []
    notes = []
    for name, joint in following.items():
        leader, (place, off) = _leader(joint), _place(name, joints, path)
        _fix(joint, place, f"{path}: joint '{name}'")
        notes.append(
            f"joint '{name}' follows '{leader}': locked at {place:.3g} rad (m), where the real linkage moves it by up "
            f"to {off:.2g} to either side"
        )
    return notes


def _leader(joint: ET.Element) -> str:
    mimic = joint.find("mimic")
    return "" if mimic is None else mimic.get("joint", "")


def _place(name: str, joints: dict[str, ET.Element], path: Path) -> tuple[float, float]:
    """Return where a joint is while the one that it follows is in the middle of its range, within its own limits, and
    how far from there it is at that one's limits.
    """
    where, mimic, leader = f"{path}: joint '{name}'", joints[name].find("mimic"), _leader(joints[name])
    if mimic is None or leader not in joints:
        raise ModelError(f"{where} follows '{leader}', which the file does not have")
    multiplier, offset = (float(read_numbers(mimic, *item, where)[0]) for item in FACTORS)
    low, high = _range(joints[leader], f"{path}: joint '{leader}'")
    places = multiplier * np.array([0.5 * (low + high), low, high]) + offset
    if joints[name].find("limit") is not None:
        places = np.clip(places, *_range(joints[name], where))
    return float(places[0]), float(np.max(np.abs(places - places[0])))


def _range(joint: ET.Element, where: str) -> tuple[float, float]:
    limit = joint.find("limit")
    if limit is None:
        raise ModelError(f"{where} has no <limit>, whose middle a joint that follows it would be locked at")
    low, high = (float(read_numbers(limit, key, "0", where)[0]) for key in ("lower", "upper"))
    return low, high


def _fix(joint: ET.Element, place: float, where: str) -> None:
    """Make a joint fixed at a place, rad (m)."""
    X_PJ, axis = read_pose(joint.find("origin"), where), ET.Element("axis")
    found = joint.find("axis")
    direction = unit_vector(read_numbers(axis if found is None else found, "xyz", "1 0 0", where))
    if direction is None:
        raise ModelError(f"{where} has a zero axis")
    is_slide = joint.get("type") == "prismatic"
    moved = Pose(np.eye(3), place * direction) if is_slide else Pose(rotation_exp(place * direction), np.zeros(3))
    for tag in ("origin", "axis", "limit", "dynamics", "mimic"):
        for element in joint.findall(tag):
            joint.remove(element)
    joint.set("type", "fixed")
    add_origin(joint, X_PJ @ moved)
