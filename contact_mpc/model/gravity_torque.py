"""Gravity torque of the robots' joints, by Pinocchio's model of each."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import robot_base
from contact_mpc.model.urdf import Urdf
from contact_mpc.settings.arrays import FloatArray


class GravityTorque:
    """Gravity torque g(q_a) of a system's robots by Pinocchio's recursive Newton-Euler, joints mapped by name.

    The objects' weight is not part of it: it reaches the joints through contacts, which the plan accounts for.

    Parameters
    ----------
    system : System
        System; the robots' URDFs must describe the masses.

    Raises
    ------
    ModelError
        A joint of the system is not in Pinocchio's model, or is not a joint of one coordinate.
    """

    def __init__(self, system: System) -> None:
        import pinocchio  # its import takes a third of a second, and not everyone who imports this computes weights

        self._pinocchio = pinocchio
        self._robots = []
        rows = {name: row for row, name in enumerate(system.joint_names)}
        for robot in system.config.robots:
            urdf = system.urdfs[robot.name]
            model = pinocchio_model(urdf)
            R_WR = robot_base(robot).R
            model.gravity.linear = R_WR.T @ np.array(system.config.gravity_m_s2)
            G, offset = np.zeros((model.nq, system.n_a)), np.zeros(model.nq)
            for joint in urdf.moving_joints:
                G[_column(model, joint.name, urdf.path), rows[joint.name]] = 1.0
            for name, (_, mimic) in urdf.mimics.items():
                column = _column(model, name, urdf.path)
                G[column, rows[mimic.joint]], offset[column] = mimic.multiplier, mimic.offset
            self._robots.append((model, model.createData(), G, offset))

    def compute(self, q_a: FloatArray, out: FloatArray) -> None:
        """Write g(q_a) (n_a,), N m, to `out`: the torque that holds the robots against gravity.

        Pinocchio's q of a robot is G q_a + offset, so g is the sum of G' times what it says: a joint carries its mimic
        joints' weight as well.
        """
        out[:] = 0.0
        for model, data, G, offset in self._robots:
            out += self._pinocchio.computeGeneralizedGravity(model, data, G @ q_a + offset) @ G


def pinocchio_model(urdf: Urdf) -> Any:
    """Return the `pinocchio.Model` of what was parsed of a URDF: masses and joints, without shapes.

    Pinocchio's parser knows no capsules, and says so of each on stderr, though dynamics have no use for shapes.
    """
    import pinocchio  # as above

    robot = ET.fromstring(urdf.text)
    for link in robot.findall("link"):
        for shape in [*link.findall("collision"), *link.findall("visual")]:
            link.remove(shape)
    return pinocchio.buildModelFromXML(ET.tostring(robot, encoding="unicode"))


def _column(model: Any, name: str, path: Path) -> int:
    """Index of a joint's coordinate in Pinocchio's q, which has one entry per joint here."""
    if not model.existJointName(name):
        raise ModelError(f"{path}: joint '{name}' is not in Pinocchio's model; allowed: {list(model.names)[1:]}")
    joint = model.joints[model.getJointId(name)]
    if joint.nq != 1 or joint.nv != 1:
        raise ModelError(f"{path}: joint '{name}' has {joint.nq} coordinates; use revolute or prismatic with <limit>")
    return int(joint.idx_q)
