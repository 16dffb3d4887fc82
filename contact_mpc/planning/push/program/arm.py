"""Kinematics and inverse dynamics of a serial arm as casadi expressions.

Recursive Newton-Euler in the frames of the bodies, from the same tree as the compiled kinematics. Checked against
pinocchio (`test/planning/push/program/test_arm.py`), whose own casadi interface no wheel carries.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.kinematic_tree import PRISMATIC
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class Arm:
    """The one robot of a system as a chain of joints from its base, and gravity (3,) in m/s^2."""

    system: System
    bodies: tuple[int, ...]
    gravity: FloatArray

    def rotation(self, joint: int, q: ca.SX) -> ca.SX:
        """Orientation of the body of `joint` in the one before: R_PJ Exp(axis q)."""
        tree, body = self.system.tree, self.bodies[joint]
        if tree.joint[body] == PRISMATIC:
            return ca.SX(tree.R_PJ[body])
        axis = tree.axis_J[body]
        cross = ca.SX(_skew(axis))
        turn = ca.SX.eye(3) + ca.sin(q[joint]) * cross + (1.0 - ca.cos(q[joint])) * ca.mtimes(cross, cross)
        return ca.mtimes(ca.SX(tree.R_PJ[body]), turn)

    def offset(self, joint: int, q: ca.SX) -> ca.SX:
        """Position of the body of `joint` in the frame of the one before, m."""
        tree, body = self.system.tree, self.bodies[joint]
        p = ca.SX(tree.p_PJ[body])
        if tree.joint[body] == PRISMATIC:
            return p + ca.mtimes(ca.SX(tree.R_PJ[body] @ tree.axis_J[body]), q[joint])
        return p

    def point(self, link: str, p_L: FloatArray, q: ca.SX) -> ca.SX:
        """Position in the world of the point p_L (3,) of a link, m."""
        robot = self.system.config.robots[0].name
        body, X_BL = self.system.links[robot, link]
        p: ca.SX = ca.SX(X_BL.R @ p_L + X_BL.p)
        for joint in reversed(range(self.bodies.index(body) + 1)):
            p = self.offset(joint, q) + ca.mtimes(self.rotation(joint, q), p)
        return p

    def inverse_dynamics(self, q: ca.SX, v: ca.SX, a: ca.SX) -> ca.SX:
        """Joint torques M(q) a + h(q, v), N m: Newton-Euler outwards with -gravity at the base, then inwards.

        Rotor inertia seen at the joint (`joint_reflected_inertia_kg_m2`) is part of M.
        """
        tree = self.system.tree
        omega, alpha, linear = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX(-self.gravity)
        forces, moments = [], []
        for joint, body in enumerate(self.bodies):
            R, p, axis = self.rotation(joint, q), self.offset(joint, q), ca.SX(tree.axis_J[body])
            linear = ca.mtimes(R.T, linear + ca.cross(alpha, p) + ca.cross(omega, ca.cross(omega, p)))
            omega, alpha = ca.mtimes(R.T, omega), ca.mtimes(R.T, alpha)
            if tree.joint[body] == PRISMATIC:
                linear += axis * a[joint] + 2.0 * ca.cross(omega, axis * v[joint])
            else:
                alpha += axis * a[joint] + ca.cross(omega, axis * v[joint])
                omega += axis * v[joint]
            c, inertia = ca.SX(tree.p_BC[body]), ca.SX(tree.inertia_BC[body])
            force = tree.mass[body] * (linear + ca.cross(alpha, c) + ca.cross(omega, ca.cross(omega, c)))
            forces.append(force)
            moments.append(ca.mtimes(inertia, alpha) + ca.cross(omega, ca.mtimes(inertia, omega)) + ca.cross(c, force))
        return self._inwards(q, forces, moments) + ca.SX(self.system.reflected_inertia) * a

    def _inwards(self, q: ca.SX, forces: list[ca.SX], moments: list[ca.SX]) -> ca.SX:
        tree, count = self.system.tree, len(self.bodies)
        torques: list[ca.SX] = [ca.SX(0)] * count
        for joint in reversed(range(count)):
            body = self.bodies[joint]
            along = forces[joint] if tree.joint[body] == PRISMATIC else moments[joint]
            torques[joint] = ca.dot(ca.SX(tree.axis_J[body]), along)
            if joint:
                R, p = self.rotation(joint, q), self.offset(joint, q)
                force = ca.mtimes(R, forces[joint])
                forces[joint - 1] += force
                moments[joint - 1] += ca.mtimes(R, moments[joint]) + ca.cross(p, force)
        return ca.vertcat(*torques)


def build_arm(system: System) -> Arm:
    """Return the robot of a system.

    Raises
    ------
    ModelError
        The system has not exactly one robot, or the robot is no chain.
    """
    tree = system.tree
    bodies = tuple(int(tree.dof_body[d]) for d in range(system.n_v_u, system.n_v))
    parents = [int(tree.parent[body]) for body in bodies]
    if len(system.config.robots) != 1 or parents[1:] != list(bodies[:-1]):
        raise ModelError(f"{system.path}: contact-implicit planning needs one robot whose joints form one chain")
    return Arm(system, bodies, np.array(system.config.gravity_m_s2))


def _skew(w: FloatArray) -> FloatArray:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
