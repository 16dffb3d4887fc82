"""Numbers of URDF elements: vectors and poses, read with a message that names where, written short."""

import xml.etree.ElementTree as ET

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.rotations import rotation_from_rpy, rpy_from_rotation
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray


def read_pose(origin: ET.Element | None, name: str) -> Pose:
    """Return the pose of an <origin>, `name` is where it stands."""
    if origin is None:
        return Pose(np.eye(3), np.zeros(3))
    return Pose(
        rotation_from_rpy(read_numbers(origin, "rpy", "0 0 0", name)), read_numbers(origin, "xyz", "0 0 0", name)
    )


def read_numbers(element: ET.Element, key: str, default: str, name: str) -> FloatArray:
    """Return the numbers of an attribute, as many as `default` has; raises ModelError, which begins with `name`."""
    text = element.get(key, default)
    try:
        values = np.array([float(item) for item in text.split()])
    except ValueError as error:
        raise ModelError(f"{name}: attribute {key}='{text}' is not a list of numbers") from error
    count = len(default.split())
    if values.shape != (count,) or not np.all(np.isfinite(values)):
        raise ModelError(f"{name}: attribute {key}='{text}' must be {count} finite number(s)")
    return values


def add_origin(element: ET.Element, pose: Pose) -> None:
    """Add the <origin> of a pose."""
    rpy = rpy_from_rotation(np.ascontiguousarray(pose.R))
    ET.SubElement(element, "origin", xyz=write_numbers(pose.p), rpy=write_numbers(rpy))


def write_numbers(values: FloatArray) -> str:
    """Return numbers as an attribute has them."""
    return " ".join(f"{float(value):.6g}" for value in values)


def is_positive(element: ET.Element | None, key: str) -> bool:
    """Return whether an attribute is there and is a positive number."""
    try:
        return element is not None and 0.0 < float(element.get(key, "nan")) < np.inf
    except ValueError:
        return True  # no number: the reader of URDFs says so
