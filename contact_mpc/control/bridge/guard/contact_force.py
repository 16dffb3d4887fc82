"""Bounds the force with which the ends of robots press: what would press harder gives way.

At rest, and where something else carries the weight, a force F at a point of the robot, with the Jacobian J of that
point, is borne by tau = J^T F; so what the law adds to the weight, tau = tau_ff + Kp (u - q), presses with

    F = J (J^T J + eps^2 1)^-1 tau,

the least force that explains it. The ends are the last moving links of each chain, and the point is that of their
collision shapes that lies furthest from the joint. Where |F| of an end is beyond the limit, u - q, tau_ff and the
rates are scaled for all joints that move it, and for those of ends that share joints with it: since F is linear in
tau, the limit holds exactly, for the torque and, with the setpoint, for robots that run the impedance themselves.

It knows what the law asks for, not what touches: torque that only accelerates the arm or overcomes friction counts,
too, what the arm's momentum adds in an impact does not, and a contact nearer to the base is pressed harder than one at
the end. eps (`LEAST_LEVER_M`) is a lever arm below which a direction counts as one that the joints cannot press in.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.control.bridge.guard.capsule_cover import cover
from contact_mpc.model.fingertips import last_links
from contact_mpc.model.kinematic_tree import REVOLUTE, Tree, moving_dofs
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

IntArray = NDArray[np.int64]
LEAST_LEVER_M = 1e-3


@njit(**COMPILED)
def end_forces(tree: Tree, q: FloatArray, body: IntArray, point: FloatArray, tau: FloatArray) -> FloatArray:
    """Return F = J (J^T J + eps^2 1)^-1 tau = (J J^T + eps^2 1)^-1 J tau in the world for each end, (n, 3), N.

    Parameters
    ----------
    q : (n_q,) array
        Configuration.
    body : (n,) array
        Body of each end.
    point : (n, 3) array
        Point of each end in its body, m.
    tau : (n_v,) array
        Torque of each degree of freedom, N m.
    """
    R, p = forward_kinematics(tree, q)
    axes, origins = np.zeros((tree.axis_dof.shape[0], 3)), np.zeros((tree.axis_dof.shape[0], 3))
    dof_axes_into(tree, R, p, axes, origins)
    F, J = np.zeros((body.shape[0], 3)), np.zeros((3, tau.shape[0]))
    for e in range(body.shape[0]):
        b = body[e]
        end = R[b] @ point[e] + p[b]
        J[:] = 0.0
        for i in range(tree.chain_count[b]):
            a = tree.chain[b, i]
            J[:, tree.axis_dof[a]] += np.cross(axes[a], end - origins[a]) if tree.axis_kind[a] == REVOLUTE else axes[a]
        F[e] = np.linalg.inv(J @ J.T + LEAST_LEVER_M**2 * np.eye(3)) @ (J @ tau)  # `solve` raises where tau is infinite
    return F


class ContactForce:
    """The forces with which a command presses at the ends of a system's robots.

    Parameters
    ----------
    system : System
        System, for the robots' links and collision shapes.
    most_n : float
        Largest force of an end, N.
    kp : (n_a,) array
        Joint stiffness, N m/rad.

    Attributes
    ----------
    ends : tuple of str
        Names of the links that are watched.
    """

    def __init__(self, system: System, most_n: float, kp: FloatArray) -> None:
        points = _end_points(system)
        self._tree, self._most_n, self._kp = system.tree, most_n, kp
        self.ends = tuple(link for link, _ in points.values())
        self._body = np.array(list(points), dtype=np.int64)
        self._point = np.array([point for _, point in points.values()]).reshape(-1, 3)
        self._q, self._tau = system.q_default.copy(), np.zeros(system.n_v_u + system.n_a)
        self._n_q_u, self._n_v_u = system.n_q_u, system.n_v_u
        moved = [moving_dofs(system.tree, body) - system.n_v_u for body in points]
        self._group = _groups(moved, system.n_a)
        self._end_group = np.array([self._group[joints[0]] for joints in moved], dtype=np.int64)

    def forces(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the force of each end in the world (n, 3), N, at q (n_a,), rad, with torques tau (n_a,), N m."""
        self._q[self._n_q_u :], self._tau[self._n_v_u :] = q, tau
        return end_forces(self._tree, self._q, self._body, self._point, self._tau)

    def shares(self, q: FloatArray, u: FloatArray, tau_ff: FloatArray) -> FloatArray:
        """Return the share (n_a,), in (0, 1], of u - q and tau_ff of each joint with which no end presses too hard.

        Parameters
        ----------
        q, u : (n_a,) array
            Measured positions and setpoint, rad.
        tau_ff : (n_a,) array
            Feed-forward torque beside the weight, N m.
        """
        size = np.linalg.norm(self.forces(q, self._kp * (u - q) + tau_ff), axis=1)
        of_group = np.ones(len(self._group) + 1)
        np.minimum.at(of_group, self._end_group, self._most_n / np.maximum(size, self._most_n))
        return of_group[self._group]


def _end_points(system: System) -> dict[int, tuple[str, FloatArray]]:
    """Return link and furthest point, m, in the body, of each body with the last shapes of a branch of a robot."""
    points: dict[int, tuple[str, FloatArray]] = {}
    links = [(robot.name, link) for robot in system.config.robots for link in last_links(system, robot.name)]
    for body, link in sorted((system.links[item][0], item[1]) for item in links):
        capsules = [item for shape in system.geometries if shape.body == body >= 0 for item in cover(shape)]
        sides = [item.centre + side * item.half_length * item.axis for item in capsules for side in (-1.0, 1.0)]
        if sides:
            points[body] = link, max(sides, key=np.linalg.norm)
    return points


def _groups(moved: list[IntArray], n_a: int) -> IntArray:
    """Return a number for each joint (n_a,), the same where ends have a joint in common; n_a: it moves no end."""
    group = np.full(n_a, n_a)
    for number, joints in enumerate(moved):
        touched = set(group[joints].tolist()) - {n_a}
        group[np.isin(group, list(touched))] = number
        group[joints] = number
    return group
