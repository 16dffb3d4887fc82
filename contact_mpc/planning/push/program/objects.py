"""What the arm pushes: a block that slides, a door on its hinge, a ball that rolls.

Each object has coordinates w, a constant diagonal inertia, and the frame {O} of equation (13): the tool touches the
virtual plane through the face, whose normal is the x axis of {O}. With the tool's head at p_e (3,) and radius r,

    phi(w, p_e) = n(w) . (p_o(w) - p_e) - r        M_o w_ddot = (dphi/dw) lam - F_f d - D w_dot

where d (n_o,) is the direction of motion and D viscous damping. Besides (14), a contact must be `aligned`: the block
does not rotate, so the tool presses on the central line of its face; on a ball it presses at the height of the centre.

Source: seeds/004, sections III-A and III-B. Wrong where: the tool slips sideways (its contact is frictionless), the
block tips, a ball slides (after a hit through its centre it ends with the velocity of pure rolling all the same).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca
import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class PushedObject(ABC):
    """An object of a system in the coordinates of the program.

    Attributes
    ----------
    system : System
        Its first object is the one that is pushed.
    inertia : (n_o,) array
        Diagonal of M_o, kg (kg m^2).
    damping : (n_o,) array
        Viscous damping, N s/m (N m s/rad).
    breakaway_n : float
        F_s = mu m g of dry friction with the ground, N; 0 where there is none.
    """

    system: System
    inertia: FloatArray
    damping: FloatArray
    breakaway_n: float

    @property
    def n_o(self) -> int:
        """Number of coordinates."""
        return len(self.inertia)

    @abstractmethod
    def gap(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> ca.SX:
        """Distance from p_e to the virtual plane along its normal, m; the head's radius is not taken off."""

    @abstractmethod
    def aligned(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:
        """What must vanish in contact, m."""

    def slip(self, p_e: ca.SX, p_next: ca.SX) -> list[ca.SX]:
        """What must vanish over a step of contact besides `aligned` at both of its ends, m: the tool's rise."""
        return [p_next[2] - p_e[2]]

    @abstractmethod
    def face(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:
        """What must not be negative in contact: equation (14), m (m^2)."""

    @abstractmethod
    def direction(self, heading: ca.SX) -> ca.SX:
        """Direction d (n_o,) of the motion; d . w is what the goal prescribes, m (rad)."""

    @abstractmethod
    def touch(self, w: FloatArray, heading_rad: float, p_e: FloatArray, radius_m: float) -> FloatArray:
        """Return where the head's centre (3,) touches the face, as near to p_e (3,) as alignment and face allow, m."""

    @abstractmethod
    def coordinates(self, q_u: FloatArray) -> FloatArray:
        """Coordinates w (n_o,) of the system's q_u."""

    @abstractmethod
    def rates(self, q_u: FloatArray, v_u: FloatArray) -> FloatArray:
        """Their rates (n_o,) of the system's v_u."""

    def beside(self, w: FloatArray, aim_m: float) -> FloatArray:  # noqa: ARG002
        """Return coordinates (n_o,) of an object whose central line is where one at w is hit, aim_m beside its own."""
        return w

    @abstractmethod
    def q_u(self, w: FloatArray, start_q_u: FloatArray, heading_rad: float) -> FloatArray:
        """Return the system's q_u (n_q_u,) at w, on the way from start_q_u."""


@dataclass(frozen=True)
class Block(PushedObject):
    """A block with w = (x, y, theta) that slides on the ground; F_s = mu m g."""

    half_depth_m: float
    half_width_m: float
    height_m: float
    edge_m: float

    def gap(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> ca.SX:  # noqa: ARG002, D102
        n = ca.vertcat(ca.cos(w[2]), ca.sin(w[2]))
        return ca.dot(n, w[:2] - p_e[:2]) - self.half_depth_m

    def aligned(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:  # noqa: ARG002, D102
        return [self._sideways(w, p_e)]

    def face(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:  # noqa: ARG002, D102
        top = self.height_m - self.edge_m
        return [top - p_e[2], self.half_width_m**2 - self._sideways(w, p_e) ** 2]

    def _sideways(self, w: ca.SX, p_e: ca.SX) -> ca.SX:
        return ca.dot(ca.vertcat(-ca.sin(w[2]), ca.cos(w[2])), p_e[:2] - w[:2])

    def direction(self, heading: ca.SX) -> ca.SX:  # noqa: D102
        return ca.vertcat(ca.cos(heading), ca.sin(heading), 0.0)

    def touch(self, w: FloatArray, heading_rad: float, p_e: FloatArray, radius_m: float) -> FloatArray:  # noqa: D102
        n = np.array([np.cos(heading_rad), np.sin(heading_rad)])
        height = min(max(float(p_e[2]), 0.3 * self.height_m), 0.9 * self.height_m)
        return np.append(w[:2] - (self.half_depth_m + radius_m) * n, height)

    def coordinates(self, q_u: FloatArray) -> FloatArray:  # noqa: D102
        return q_u[[0, 1, 3]]

    def rates(self, q_u: FloatArray, v_u: FloatArray) -> FloatArray:  # noqa: ARG002, D102
        return v_u[[0, 1, 3]]

    def beside(self, w: FloatArray, aim_m: float) -> FloatArray:  # noqa: D102
        return np.asarray(w + aim_m * np.array([-np.sin(w[2]), np.cos(w[2]), 0.0]))

    def q_u(self, w: FloatArray, start_q_u: FloatArray, heading_rad: float) -> FloatArray:  # noqa: ARG002, D102
        return np.array([w[0], w[1], start_q_u[2], w[2]])


@dataclass(frozen=True)
class Door(PushedObject):
    """A door with w = (hinge angle,); its face is x = 0 of the panel, which extends along -y from the hinge."""

    hinge_xy_m: tuple[float, float]
    hinge_yaw_rad: float
    width_m: float
    height_m: float

    def _axes(self, w: ca.SX) -> tuple[ca.SX, ca.SX]:
        angle = w[0] + self.hinge_yaw_rad
        return ca.vertcat(ca.cos(angle), ca.sin(angle)), ca.vertcat(-ca.sin(angle), ca.cos(angle))

    def _from_hinge(self, p_e: ca.SX) -> ca.SX:
        return p_e[:2] - ca.vertcat(*self.hinge_xy_m)

    def gap(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> ca.SX:  # noqa: ARG002, D102
        return -ca.dot(self._axes(w)[0], self._from_hinge(p_e))

    def aligned(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:  # noqa: ARG002, D102
        return []

    def face(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:  # noqa: ARG002, D102
        half = 0.5 * self.width_m
        across = ca.dot(self._axes(w)[1], self._from_hinge(p_e)) + half
        return [self.height_m - p_e[2], half**2 - across**2]

    def direction(self, heading: ca.SX) -> ca.SX:  # noqa: ARG002, D102
        return ca.SX.ones(1)

    def touch(self, w: FloatArray, heading_rad: float, p_e: FloatArray, radius_m: float) -> FloatArray:  # noqa: ARG002, D102
        angle = float(w[0]) + self.hinge_yaw_rad
        n, along = np.array([np.cos(angle), np.sin(angle)]), np.array([np.sin(angle), -np.cos(angle)])
        hinge = np.array(self.hinge_xy_m)
        reach = min(max(float(along @ (p_e[:2] - hinge)), 0.3 * self.width_m), 0.9 * self.width_m)
        return np.append(hinge + reach * along - radius_m * n, min(float(p_e[2]), 0.9 * self.height_m))

    def coordinates(self, q_u: FloatArray) -> FloatArray:  # noqa: D102
        return q_u[:1]

    def rates(self, q_u: FloatArray, v_u: FloatArray) -> FloatArray:  # noqa: ARG002, D102
        return v_u[:1]

    def q_u(self, w: FloatArray, start_q_u: FloatArray, heading_rad: float) -> FloatArray:  # noqa: ARG002, D102
        return np.array(w)


@dataclass(frozen=True)
class Ball(PushedObject):
    """A ball with w = (x, y) that rolls without slip: inertia m + I / r^2."""

    radius_m: float

    def gap(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> ca.SX:  # noqa: D102
        return ca.dot(self.direction(heading), w - p_e[:2]) - self.radius_m

    def aligned(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:  # noqa: D102
        sideways = ca.vertcat(-ca.sin(heading), ca.cos(heading))
        return [ca.dot(sideways, p_e[:2] - w), p_e[2] - self.radius_m]

    def slip(self, p_e: ca.SX, p_next: ca.SX) -> list[ca.SX]:  # noqa: ARG002
        """Nothing: it is aligned in height."""
        return []

    def face(self, w: ca.SX, p_e: ca.SX, heading: ca.SX) -> list[ca.SX]:  # noqa: ARG002, D102
        return []

    def direction(self, heading: ca.SX) -> ca.SX:  # noqa: D102
        return ca.vertcat(ca.cos(heading), ca.sin(heading))

    def touch(self, w: FloatArray, heading_rad: float, p_e: FloatArray, radius_m: float) -> FloatArray:  # noqa: ARG002, D102
        n = np.array([np.cos(heading_rad), np.sin(heading_rad)])
        return np.append(w - (self.radius_m + radius_m) * n, self.radius_m)

    def coordinates(self, q_u: FloatArray) -> FloatArray:  # noqa: D102
        return q_u[4:6]

    def rates(self, q_u: FloatArray, v_u: FloatArray) -> FloatArray:  # noqa: ARG002, D102
        return v_u[3:5]

    def q_u(self, w: FloatArray, start_q_u: FloatArray, heading_rad: float) -> FloatArray:  # noqa: D102
        """Roll by |dw| / r about the horizontal axis left of the heading."""
        moved = w - start_q_u[4:6]
        axis = np.array([-moved[1], moved[0], 0.0]) / self.radius_m
        q, step = np.concatenate([start_q_u, np.zeros(self.system.n_a)]), np.zeros(self.system.n_v)
        step[:3], step[3:5] = axis, moved
        return self.system.integrate(q, step)[:7]


def build_object(system: System, edge_m: float) -> PushedObject:
    """Recognise the pushed object of a system by its joints and shapes; a tool stays edge_m below a block's edge.

    Raises
    ------
    ModelError
        It is none of: a box on joints x, y, z and turn; a box on one vertical hinge; a free sphere.
    """
    tree, item = system.tree, system.config.objects[0]
    shapes = [geometry.shape for geometry in system.geometries if geometry.owner == item.name]
    boxes = [shape for shape in shapes if shape.kind == "box"]
    joints = system.urdfs[item.name].moving_joints
    body = int(tree.dof_body[system.n_v_u - 1])
    mass, p, inertia = float(tree.mass[body]), tree.p_BC[body], tree.inertia_BC[body]
    if item.mobility == "free" and [shape.kind for shape in shapes] == ["sphere"]:
        radius = shapes[0].size[0]
        rolling = mass + float(inertia[0, 0]) / radius**2
        return Ball(system, np.full(2, rolling), np.zeros(2), 0.0, radius)
    kinds = [joint.kind for joint in joints]
    damping = np.array([joint.damping for joint in joints])
    if len(boxes) == 1 and kinds == ["revolute"]:
        about_hinge = float(inertia[2, 2] + mass * (p[0] ** 2 + p[1] ** 2))
        hinge, yaw = item.position_m[:2], item.rpy_rad[2]
        return Door(system, np.array([about_hinge]), damping, 0.0, hinge, yaw, boxes[0].size[1], _top(boxes[0]))
    if len(boxes) == 1 and kinds == ["prismatic"] * 3 + ["revolute"]:
        size, weight = boxes[0].size, -mass * system.config.gravity_m_s2[2]
        diagonal = np.array([mass, mass, float(inertia[2, 2])])
        friction = _ground_friction(system) * weight
        half = 0.5 * size[0], 0.5 * size[1]
        return Block(system, diagonal, damping[[0, 1, 3]], friction, *half, _top(boxes[0]), edge_m)
    raise ModelError(
        f"{system.path}: object '{item.name}' is none that can be pushed: a box on joints x, y, z and turn, a box on "
        f"one vertical hinge, or a free sphere; found {item.mobility}, joints {kinds}, {len(shapes)} shapes"
    )


def _top(box: Shape) -> float:
    return float(box.X_LG.p[2] + 0.5 * box.size[2])


def _ground_friction(system: System) -> float:
    """Coefficient of the pair of the object and the ground."""
    grounds = {item.name for item in system.config.fixed if item.shape == "half_space"}
    found = {pair.mu for pair in system.pairs if system.geometries[pair.geometry_b].owner in grounds}
    if len(found) != 1:
        raise ModelError(f"{system.path}: a block needs a half_space as ground and one friction; found {sorted(found)}")
    mu = found.pop()
    if mu <= 0.0:
        raise ModelError(f"{system.path}: friction of the block with the ground is {mu}; a block that stops needs > 0")
    return mu
