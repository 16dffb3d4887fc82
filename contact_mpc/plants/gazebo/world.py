"""A system as a world for Gazebo classic: SDF 1.6 with one model per robot, object and fixed shape.

Links that fixed joints hold together become one body. Where ODE needs other numbers than the URDF has, and why:

- A body without mass, or with less than SMALLEST_SHARE of its model's heaviest, gets that share: ODE keeps all bodies
  in world coordinates and cannot do without.
- Reflected inertia, which ODE does not have, is put on the joint's child about the joint's axis. That is right only
  where no joint comes before it or after it: elsewhere it is refused.
- The friction of two surfaces is the smaller coefficient; it acts along two fixed directions (a pyramid).
- ODE's iterative solver with 200 sweeps: its direct one lets friction fade with speed, by 8 % at 1.7 m/s. It
  reports the iterative one's contact forces 1 % too small.
- Contact is a spring of STIFFNESS_N_PER_M and a damper of DAMPING_N_S_PER_M, both implicit in ODE's step.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.rotations import rpy_from_rotation
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Joint, Pose, Urdf
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import STEP_S
from contact_mpc.plants.common.plant_model import PlantPart, build_parts, fixed_names
from contact_mpc.settings.arrays import FloatArray

STIFFNESS_N_PER_M, DAMPING_N_S_PER_M = 1.0e5, 500.0  # of a pair; 0.1 mm under 10 N, no rebound from 2 m/s
SMALLEST_SHARE = 1e-3
SMALLEST_RADIUS_M = 0.02  # radius of gyration of such a body
FRICTION_TOLERANCE = 1e-9
ROBOT, OBJECT, FIXED = 1, 2, 4  # categories of collision shapes; objects touch all, the rest only objects
IDENTITY = Pose(np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class GazeboWorld:
    """A world and the names of its moving parts, "model::joint" and "model::link", in the order of the client."""

    sdf: str
    joints: tuple[str, ...]
    bodies: tuple[str, ...]


def build_world(system: System, perturbation: PlantPerturbation, port: int, plugin: str) -> GazeboWorld:
    """Return the world of a system.

    Parameters
    ----------
    perturbation : PlantPerturbation
        Friction, masses and sizes.
    port : int
        TCP port on which the plugin waits for the client.
    plugin : str
        Path of the plugin's library, in the root that the server runs in.

    Raises
    ------
    ModelError
        No coefficients per shape give every pair its friction, or joints follow others (<mimic>).
    """
    mu = smaller_friction(system, perturbation.pair_friction(system))
    root = ET.Element("sdf", version="1.6")
    world = ET.SubElement(root, "world", name="contact_mpc")
    _add_physics(world, system)
    parts = build_parts(system, perturbation)
    writers = [_ModelWriter(world, system, part, perturbation, mu) for part in parts]
    for item, value in zip(system.geometries, mu, strict=True):
        if item.owner in fixed_names(system):
            _add_fixed(world, item, value)
    joints = tuple(name for writer in writers for name in writer.joints)
    bodies = tuple(name for writer in writers for name in writer.bodies)
    tag = ET.SubElement(world, "plugin", name="lockstep", filename=plugin)
    for key, values in (("port", (str(port),)), ("joint", joints), ("body", bodies), ("object", system.object_names)):
        for value in values:
            ET.SubElement(tag, key).text = value
    ET.indent(root)
    return GazeboWorld(ET.tostring(root, encoding="unicode"), joints, bodies)


def smaller_friction(system: System, mu: FloatArray) -> FloatArray:
    """Return a coefficient per shape (n_geometries,) such that the smaller of two is mu (n_pairs,) for every pair.

    Raises
    ------
    ModelError
        There are none: a shape would need different coefficients.
    """
    found = np.zeros(len(system.geometries))
    for value, pair in zip(mu, system.pairs, strict=True):
        for index in (pair.geometry_a, pair.geometry_b):
            found[index] = max(found[index], value)
    for value, pair in zip(mu, system.pairs, strict=True):
        smaller = min(found[pair.geometry_a], found[pair.geometry_b])
        if abs(smaller - value) > FRICTION_TOLERANCE:
            links = [system.geometries[index].link for index in (pair.geometry_a, pair.geometry_b)]
            raise ModelError(
                f"{system.path}: friction: Gazebo classic takes the smaller one of two surfaces and cannot give "
                f"{links[0]} - {links[1]} mu = {value:g} beside the other pairs; use the plant 'mujoco'"
            )
    return found


class _ModelWriter:
    """Writes one robot or object: a model with its moving bodies, and a static one for what stands still."""

    def __init__(
        self, world: ET.Element, system: System, part: PlantPart, perturbation: PlantPerturbation, mu: FloatArray
    ) -> None:
        self._system, self._part, self._mu = system, part, mu
        self._urdf: Urdf = system.urdfs[part.owner]
        is_object = not part.is_robot
        self._mass_scale = perturbation.mass_scale if is_object else 1.0
        self._size_scale = perturbation.size_scale if is_object else 1.0
        self._category = (OBJECT, ROBOT | OBJECT | FIXED) if is_object else (ROBOT, OBJECT)
        self.joints: list[str] = []
        self.bodies: list[str] = []
        for name in self._urdf.mimics:
            raise ModelError(
                f"{self._urdf.path}: joint '{name}' follows another (<mimic>), and ODE couples no joints; use "
                "the plant 'mujoco' or 'drake', or import the robot with --lock-mimic"
            )
        self._write(world)

    def _write(self, world: ET.Element) -> None:
        part, urdf = self._part, self._urdf
        X_ML = _zero_poses(urdf)
        moving = {joint.child: joint for joint in urdf.joints if joint.kind != "fixed"}
        model = ET.SubElement(world, "model", name=part.owner)
        _add(model, "pose", _pose_text(part.X_WR))
        ET.SubElement(model, "allow_auto_disable").text = "false"
        heads = ([urdf.root] if part.is_free else []) + list(moving)
        smallest = SMALLEST_SHARE * max((self._inertia(head)[0] for head in heads), default=1.0)
        for head in heads:
            self._add_link(model, head, X_ML[head], moving.get(head), smallest)
        if not part.is_free:
            static = ET.SubElement(world, "model", name=f"{part.owner}_base")
            ET.SubElement(static, "static").text = "true"
            _add(static, "pose", _pose_text(part.X_WR))
            self._add_collisions(ET.SubElement(static, "link", name="base"), self._members(urdf.root), urdf.root)
        for joint in moving.values():
            self._add_joint(model, joint)
            self.joints.append(f"{part.owner}::{joint.name}")
        if part.is_free:
            self.bodies.append(f"{part.owner}::{urdf.root}")

    def _members(self, head: str) -> dict[str, Pose]:
        """Return the links that fixed joints hold to a link, itself included, with their poses in its frame."""
        found = {head: IDENTITY}
        for _ in self._urdf.joints:
            for joint in self._urdf.joints:
                if joint.kind == "fixed" and joint.parent in found:
                    found[joint.child] = found[joint.parent] @ joint.X_PJ
        return found

    def _inertia(self, head: str) -> tuple[float, FloatArray, FloatArray]:
        """Return mass, centre of mass and inertia about it, in the frame of a body, scaled by the perturbation."""
        mass, moment, links = 0.0, np.zeros(3), self._urdf.links
        members = self._members(head)
        for name, X_BL in members.items():
            mass += links[name].mass
            moment += links[name].mass * (X_BL.R @ links[name].p_LC + X_BL.p)
        p_BC = moment / mass if mass > 0.0 else np.zeros(3)
        I_C = np.zeros((3, 3))
        for name, X_BL in members.items():
            offset = X_BL.R @ links[name].p_LC + X_BL.p - p_BC
            I_C += X_BL.R @ links[name].inertia @ X_BL.R.T
            I_C += links[name].mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
        scale = self._size_scale
        return mass * self._mass_scale, p_BC * scale, I_C * self._mass_scale * scale**2

    def _add_link(self, model: ET.Element, head: str, X_ML: Pose, joint: Joint | None, smallest_kg: float) -> None:
        link = ET.SubElement(model, "link", name=head)
        _add(link, "pose", _pose_text(X_ML))
        mass, p_BC, I_C = self._inertia(head)
        if mass < smallest_kg:
            mass, I_C = smallest_kg, np.eye(3) * smallest_kg * SMALLEST_RADIUS_M**2
        if joint is not None and self._part.is_robot:
            I_C = I_C + self._reflected(joint) * np.outer(joint.axis, joint.axis)
        inertial = ET.SubElement(link, "inertial")
        _add(inertial, "pose", _pose_text(Pose(np.eye(3), p_BC)))
        ET.SubElement(inertial, "mass").text = repr(float(mass))
        tensor = ET.SubElement(inertial, "inertia")
        for i, k in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            ET.SubElement(tensor, f"i{'xyz'[i]}{'xyz'[k]}").text = repr(float(I_C[i, k]))
        self._add_collisions(link, self._members(head), head)

    def _reflected(self, joint: Joint) -> float:
        """Return the reflected inertia of a joint, kg m^2; raises ModelError where ODE cannot have it."""
        inertia = float(self._system.reflected_inertia[self._system.joint_names.index(joint.name)])
        moving = [other for other in self._urdf.joints if other.kind != "fixed" and other is not joint]
        neighbours = [other for other in moving if self._head(other.parent) == joint.child]
        neighbours += [other for other in moving if other.child == self._head(joint.parent)]
        if inertia > 0.0 and neighbours:
            raise ModelError(
                f"{self._system.path}: robot '{self._part.owner}': joint_reflected_inertia_kg_m2 is {inertia:g} at "
                f"'{joint.name}'; Gazebo classic (ODE) has none in a chain of joints: use the plant 'drake' or 'mujoco'"
            )
        return inertia

    def _add_collisions(self, link: ET.Element, members: dict[str, Pose], head: str) -> None:
        for index, item in enumerate(self._system.geometries):
            if item.owner == self._part.owner and item.link in members:
                X_LG = Pose(item.shape.X_LG.R, self._size_scale * item.shape.X_LG.p)
                size = tuple(self._size_scale * value for value in item.shape.size)
                name = f"{head}_{index}"
                add_shape(link, name, item.shape.kind, size, members[item.link] @ X_LG, self._mu[index], self._category)

    def _add_joint(self, model: ET.Element, joint: Joint) -> None:
        parent = self._head(joint.parent)
        kind = "prismatic" if joint.kind == "prismatic" else "revolute"
        tag = ET.SubElement(model, "joint", name=joint.name, type=kind)
        is_root = parent == self._urdf.root and not self._part.is_free
        ET.SubElement(tag, "parent").text = "world" if is_root else parent
        ET.SubElement(tag, "child").text = joint.child
        axis = ET.SubElement(tag, "axis")
        _add(axis, "xyz", joint.axis)
        limit = ET.SubElement(axis, "limit")
        for key, value in (("lower", joint.lower), ("upper", joint.upper)):
            ET.SubElement(limit, key).text = repr(float(np.clip(value, -1e16, 1e16)))
        ET.SubElement(ET.SubElement(axis, "dynamics"), "damping").text = repr(joint.damping)

    def _head(self, link: str) -> str:
        """Return the body that a link belongs to."""
        fixed = {joint.child: joint.parent for joint in self._urdf.joints if joint.kind == "fixed"}
        while link in fixed:
            link = fixed[link]
        return link


def add_shape(
    link: ET.Element, name: str, kind: str, size: tuple[float, ...], X_BG: Pose, mu: float, category: tuple[int, int]
) -> None:
    """Add a collision shape; a capsule is a cylinder with a sphere at each end, which Gazebo classic lacks."""
    if kind == "capsule":
        add_shape(link, name, "cylinder", size, X_BG, mu, category)
        for sign in (-1.0, 1.0):
            end = Pose(X_BG.R, X_BG.p + sign * 0.5 * size[1] * X_BG.R[:, 2])
            add_shape(link, f"{name}_end_{'a' if sign < 0 else 'b'}", "sphere", size[:1], end, mu, category)
        return
    collision = ET.SubElement(link, "collision", name=name)
    if kind == "half_space":  # ODE places a plane by its normal and one point
        _add(collision, "pose", np.zeros(6))
        plane = ET.SubElement(ET.SubElement(collision, "geometry"), "plane")
        _add(plane, "normal", X_BG.R[:, 2])
        _add(plane, "size", np.array([100.0, 100.0]))
    else:
        _add(collision, "pose", _pose_text(X_BG))
        shape = ET.SubElement(ET.SubElement(collision, "geometry"), kind)
        keys = {"box": (("size", slice(0, 3)),), "sphere": (("radius", slice(0, 1)),)}
        for key, part in keys.get(kind, (("radius", slice(0, 1)), ("length", slice(1, 2)))):
            _add(shape, key, np.array(size[part]))
    surface = ET.SubElement(collision, "surface")
    friction = ET.SubElement(ET.SubElement(surface, "friction"), "ode")
    contact = ET.SubElement(surface, "contact")
    ET.SubElement(contact, "category_bitmask").text = str(category[0])
    ET.SubElement(contact, "collide_bitmask").text = str(category[1])
    ode = ET.SubElement(contact, "ode")
    # Gazebo classic combines k = k_A k_B / (k_A + k_B) and d = d_A + d_B.
    values = {"kp": 2.0 * STIFFNESS_N_PER_M, "kd": 0.5 * DAMPING_N_S_PER_M, "max_vel": 100.0, "min_depth": 0.0}
    for key, value in values.items():
        ET.SubElement(ode, key).text = repr(value)
    for key in ("mu", "mu2"):
        ET.SubElement(friction, key).text = repr(float(mu))


def _add_physics(world: ET.Element, system: System) -> None:
    _add(world, "gravity", np.array(system.config.gravity_m_s2))
    physics = ET.SubElement(world, "physics", type="ode")
    ET.SubElement(physics, "max_step_size").text = repr(STEP_S)
    ET.SubElement(physics, "real_time_update_rate").text = "0"
    ode = ET.SubElement(physics, "ode")
    solver = ET.SubElement(ode, "solver")
    for key, value in {"type": "quick", "iters": "200", "sor": "1.3"}.items():
        ET.SubElement(solver, key).text = value
    constraints = ET.SubElement(ode, "constraints")
    ET.SubElement(constraints, "contact_max_correcting_vel").text = "100.0"
    ET.SubElement(constraints, "contact_surface_layer").text = "0.0"


def _add_fixed(world: ET.Element, item: Geometry, mu: float) -> None:
    model = ET.SubElement(world, "model", name=item.owner)
    ET.SubElement(model, "static").text = "true"
    if item.shape.kind == "half_space":
        _add(model, "pose", np.concatenate([item.X_BG.p, np.zeros(3)]))
    link = ET.SubElement(model, "link", name="link")
    add_shape(link, item.link, item.shape.kind, item.shape.size, item.X_BG, mu, (FIXED, OBJECT))


def _zero_poses(urdf: Urdf) -> dict[str, Pose]:
    """Return the pose of every link in the root's frame with all joints at zero."""
    found = {urdf.root: IDENTITY}
    for _ in urdf.joints:
        for joint in urdf.joints:
            if joint.parent in found:
                found[joint.child] = found[joint.parent] @ joint.X_PJ
    return found


def _pose_text(X: Pose) -> FloatArray:
    return np.concatenate([X.p, rpy_from_rotation(X.R)])


def _add(parent: ET.Element, tag: str, values: FloatArray) -> None:
    ET.SubElement(parent, tag).text = " ".join(repr(float(value)) for value in values)
