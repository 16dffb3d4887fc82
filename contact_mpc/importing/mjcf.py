"""MJCF as URDF: MuJoCo's own parser compiles the file, and the compiled model is written out link by link.

Compiled, nothing is left of defaults, includes, frames and `fromto`. A body with several joints becomes a chain of
links, of which the last has the body's name; a link's frame lies at its joint's anchor. Only what may collide
is kept. Joints take the force limit of their actuator where they have none themselves. MJCF has no velocity limits.
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.model.rotations import quaternion_to_matrix, rpy_from_rotation
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.file_access import write_text

ELLIPSOID_POINTS = 200


def read_mjcf(path: Path, meshes: Path) -> ET.Element:
    """Return the <robot> element of an MJCF file; convex hulls of its meshes are written to the folder `meshes`.

    Raises
    ------
    ConfigError
        MuJoCo is not installed.
    ModelError
        MuJoCo refuses the file, or it has what no URDF can say: a ball or free joint below the root, a closed loop.
    """
    try:
        import mujoco
    except ImportError as error:
        raise ConfigError(
            f"{path}: reading MJCF needs MuJoCo; install it: pip install 'contact_mpc[mujoco]'"
        ) from error
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise ModelError(f"{path}: MuJoCo cannot read it: {' '.join(str(error).split())}") from error
    return _Writer(mujoco, model, path, meshes).write()


class _Writer:
    def __init__(self, mujoco: Any, model: Any, path: Path, meshes: Path) -> None:
        self.mj, self.model, self.path, self.meshes = mujoco, model, path, meshes
        self.robot = ET.Element("robot", name=path.stem)
        self.link_of_body = {0: "world"}
        self.offset_of_body = {0: np.zeros(3)}

    def write(self) -> ET.Element:
        """Return the robot, from the world's children on."""
        bodies = range(1, self.model.nbody)
        if not len(bodies):
            raise ModelError(f"{self.path}: the file has no body; is it a scene without its robot?")
        ET.SubElement(self.robot, "link", name="world")
        for body in bodies:
            self._add_body(body)
        self._add_couplings()
        return self.robot

    def _name(self, kind: str, index: int) -> str:
        try:
            return str(getattr(self.model, kind)(index).name) or f"{kind}_{index}"
        except UnicodeDecodeError as error:
            raise ModelError(f"{self.path}: the name of {kind} {index} is not UTF-8") from error

    def _add_body(self, body: int) -> None:
        model, parent = self.model, int(self.model.body_parentid[body])
        name, offset = self._name("body", body), np.zeros(3)
        joints = [int(model.body_jntadr[body]) + k for k in range(int(model.body_jntnum[body]))]
        joints = [j for j in joints if not self._is_root_freedom(j, parent)]
        R = quaternion_to_matrix(model.body_quat[body])
        p, above = model.body_pos[body] - self.offset_of_body[parent], self.link_of_body[parent]
        for k, j in enumerate(joints):
            link = name if k == len(joints) - 1 else f"{name}_{self._name('joint', j)}"
            anchor = np.array(model.jnt_pos[j])
            p = p + R @ (anchor - offset)
            self._add_joint(j, above, link, p, R)
            above, R, p, offset = link, np.eye(3), np.zeros(3), anchor
            self._add_link(link, body, offset, is_body=k == len(joints) - 1)
        if not joints:
            fixed = self._joint_element(f"{name}_fixed", "fixed", above, name)
            _add_origin(fixed, p, R)
            self._add_link(name, body, offset, is_body=True)
        self.link_of_body[body], self.offset_of_body[body] = name, offset

    def _is_root_freedom(self, j: int, parent: int) -> bool:
        """A robot whose root floats is fixed to the world; ball joints have no URDF."""
        kind = self.model.jnt_type[j]
        if kind in (int(self.mj.mjtJoint.mjJNT_HINGE), int(self.mj.mjtJoint.mjJNT_SLIDE)):
            return False
        if kind == int(self.mj.mjtJoint.mjJNT_FREE) and parent == 0:
            return True
        raise ModelError(f"{self.path}: joint '{self._name('joint', j)}' is a ball; allowed: hinge, slide (split it)")

    def _joint_element(self, name: str, kind: str, parent: str, child: str) -> ET.Element:
        joint = ET.SubElement(self.robot, "joint", name=name, type=kind)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        return joint

    def _add_joint(self, j: int, parent: str, child: str, p: FloatArray, R: FloatArray) -> None:
        model = self.model
        is_slide = model.jnt_type[j] == int(self.mj.mjtJoint.mjJNT_SLIDE)
        kind = "prismatic" if is_slide else "revolute" if model.jnt_limited[j] else "continuous"
        joint = self._joint_element(self._name("joint", j), kind, parent, child)
        _add_origin(joint, p, R)
        ET.SubElement(joint, "axis", xyz=_text(model.jnt_axis[j]))
        limit = ET.SubElement(joint, "limit")
        if model.jnt_limited[j]:
            limit.set("lower", repr(float(model.jnt_range[j, 0])))
            limit.set("upper", repr(float(model.jnt_range[j, 1])))
        effort = self._effort(j)
        if effort is not None:
            limit.set("effort", repr(effort))
        ET.SubElement(joint, "dynamics", damping=repr(float(np.ravel(model.dof_damping[model.jnt_dofadr[j]])[0])))

    def _effort(self, j: int) -> float | None:
        """Return the largest force of a joint: its own limit, else that of the actuator on it."""
        model = self.model
        if model.jnt_actfrclimited[j]:
            return float(np.max(np.abs(model.jnt_actfrcrange[j])))
        for a in range(model.nu):
            drives = model.actuator_trntype[a] == int(self.mj.mjtTrn.mjTRN_JOINT) and model.actuator_trnid[a, 0] == j
            if drives and model.actuator_forcelimited[a]:
                return float(np.max(np.abs(model.actuator_forcerange[a] * model.actuator_gear[a, 0])))
            is_motor = model.actuator_biastype[a] == int(self.mj.mjtBias.mjBIAS_NONE)
            if drives and is_motor and model.actuator_ctrllimited[a]:
                gain = model.actuator_gainprm[a, 0] * model.actuator_gear[a, 0]
                return float(np.max(np.abs(model.actuator_ctrlrange[a] * gain)))
        return None

    def _add_link(self, name: str, body: int, offset: FloatArray, is_body: bool) -> None:
        link = ET.SubElement(self.robot, "link", name=name)
        if not is_body:
            return
        model = self.model
        if model.body_mass[body] > 0.0:
            inertial = ET.SubElement(link, "inertial")
            _add_origin(inertial, model.body_ipos[body] - offset, quaternion_to_matrix(model.body_iquat[body]))
            ET.SubElement(inertial, "mass", value=repr(float(model.body_mass[body])))
            xx, yy, zz = (repr(float(value)) for value in model.body_inertia[body])
            ET.SubElement(inertial, "inertia", ixx=xx, iyy=yy, izz=zz, ixy="0", ixz="0", iyz="0")
        first = int(model.body_geomadr[body])
        for g in range(first, first + int(model.body_geomnum[body])):
            if model.geom_contype[g] or model.geom_conaffinity[g]:
                self._add_geometry(link, g, offset)

    def _add_geometry(self, link: ET.Element, g: int, offset: FloatArray) -> None:
        model, types = self.model, self.mj.mjtGeom
        size, kind = model.geom_size[g], model.geom_type[g]
        if kind in (int(types.mjGEOM_PLANE), int(types.mjGEOM_HFIELD)):
            raise ModelError(
                f"{self.path}: link '{link.get('name')}' has a plane or height field; put it in the system"
            )
        collision = ET.SubElement(link, "collision")
        _add_origin(collision, model.geom_pos[g] - offset, quaternion_to_matrix(model.geom_quat[g]))
        geometry = ET.SubElement(collision, "geometry")
        if kind == int(types.mjGEOM_SPHERE):
            ET.SubElement(geometry, "sphere", radius=repr(float(size[0])))
        elif kind == int(types.mjGEOM_BOX):
            ET.SubElement(geometry, "box", size=_text(2.0 * size))
        elif kind in (int(types.mjGEOM_CAPSULE), int(types.mjGEOM_CYLINDER)):
            tag = "capsule" if kind == int(types.mjGEOM_CAPSULE) else "cylinder"
            ET.SubElement(geometry, tag, radius=repr(float(size[0])), length=repr(2.0 * float(size[1])))
        else:
            name = f"{link.get('name')}_{g}.obj"
            self._write_points(name, self._points(g, size))
            ET.SubElement(geometry, "mesh", filename=str(self.meshes / name))

    def _points(self, g: int, size: FloatArray) -> FloatArray:
        if self.model.geom_type[g] == int(self.mj.mjtGeom.mjGEOM_MESH):
            mesh = int(self.model.geom_dataid[g])
            first = int(self.model.mesh_vertadr[mesh])
            return np.array(self.model.mesh_vert[first : first + int(self.model.mesh_vertnum[mesh])])
        k = np.arange(ELLIPSOID_POINTS) + 0.5
        z, angle = 1.0 - 2.0 * k / ELLIPSOID_POINTS, np.pi * (1.0 + 5.0**0.5) * k
        sine = np.sqrt(1.0 - z * z)
        return np.asarray(size * np.column_stack([sine * np.cos(angle), sine * np.sin(angle), z]))

    def _write_points(self, name: str, points: FloatArray) -> None:
        from scipy.spatial import ConvexHull, QhullError

        try:
            hull = ConvexHull(points)
        except (QhullError, ValueError) as error:
            raise ModelError(f"{self.path}: the mesh of {name.rpartition('_')[0]} is flat, it has no volume") from error
        rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        rows += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in hull.simplices.tolist()]
        write_text(self.meshes / name, "\n".join(rows) + "\n")

    def _add_couplings(self) -> None:
        """Write equalities of two joints as <mimic>; refuse those that close a loop."""
        model, kinds = self.model, self.mj.mjtEq
        for e in range(model.neq):
            if not model.eq_active0[e]:
                continue
            if model.eq_type[e] != int(kinds.mjEQ_JOINT) or model.eq_obj2id[e] < 0:
                raise ModelError(
                    f"{self.path}: equality '{self._name('eq', e)}' closes a loop; links form a tree: take it out, "
                    "or drive the joints of the loop by <equality><joint>"
                )
            first, second = (int(row[e]) for row in (model.eq_obj1id, model.eq_obj2id))
            offset, ratio, *higher = (float(value) for value in model.eq_data[e, :5])
            if any(higher):
                raise ModelError(f"{self.path}: equality '{self._name('eq', e)}' is no straight line: polycoef 2 to 4")
            joint = next(item for item in self.robot.findall("joint") if item.get("name") == self._name("joint", first))
            ET.SubElement(
                joint, "mimic", joint=self._name("joint", second), multiplier=repr(ratio), offset=repr(offset)
            )


def _add_origin(element: ET.Element, p: FloatArray, R: FloatArray) -> None:
    ET.SubElement(element, "origin", xyz=_text(p), rpy=_text(rpy_from_rotation(np.ascontiguousarray(R))))


def _text(values: FloatArray) -> str:
    return " ".join(repr(float(value)) for value in values)
