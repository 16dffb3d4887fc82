"""A system: robots and objects from a YAML and URDFs, with index maps, stiffness, limits and contact pairs."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.contact_points import ContactPair, PointContact
from contact_mpc.model.kinematic_tree import FREE, Geometry, Tree, moving_dofs
from contact_mpc.model.kinematics import forward_kinematics, frame_jacobian
from contact_mpc.model.rotations import (
    matrix_to_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    rotation_log,
)
from contact_mpc.model.system_config import GainSet, RobotConfig, SystemConfig
from contact_mpc.model.urdf import Joint, Pose, Urdf
from contact_mpc.settings.arrays import FloatArray

UNIT_QUATERNION_TOLERANCE = 1e-6
INVERSE_KINEMATICS_STEPS = 50


@dataclass(frozen=True, repr=False)
class System:
    """Robots and objects; q = [q_u; q_a] with the objects first.

    A free object has q = (qw, qx, qy, qz, px, py, pz) and v = (omega_W, dp_W), the angular and linear velocity of its
    frame in the world frame. Built by `load_system`.
    """

    config: SystemConfig
    path: Path
    urdfs: dict[str, Urdf]
    tree: Tree
    geometries: tuple[Geometry, ...]  # as in the URDFs; the tree has the points that stand for some of them, too
    pairs: tuple[ContactPair, ...]
    contacts: tuple[PointContact, ...]  # what the pairs are reduced to, one per row of every contact array
    joints: tuple[Joint, ...]  # actuated, in the order of q_a
    links: dict[tuple[str, str], tuple[int, Pose]]  # (owner, link) -> body, pose of the link in it
    n_v_u: int
    n_q_u: int
    q_default: FloatArray

    def __repr__(self) -> str:
        """Return a short paragraph: what is in the system, and where each part lies in q."""
        robots = ", ".join(item.name for item in self.config.robots)
        layout = "; ".join(f"q[{part.start}:{part.stop}] {text}" for part, text in self.layout)
        return (
            f"System '{self.name}' of {self.path}: objects {', '.join(self.object_names) or 'none'}; robots {robots}; "
            f"{len(self.geometries)} shapes, {len(self.pairs)} pairs, {len(self.contacts)} contacts. "
            f"q ({self.n_q}), v ({self.n_v}), u ({self.n_a}): {layout}."
        )

    @cached_property
    def layout(self) -> tuple[tuple[slice, str], ...]:
        """Where each part lies in q: slices with what they hold, objects first."""
        found, start = [], 0
        for item in self.config.objects:
            names = [joint.name for joint in self.urdfs[item.name].moving_joints]
            names = ["qw qx qy qz px py pz"] * (item.mobility == "free") + names
            stop = start + len(names) + 6 * (item.mobility == "free")
            found.append((slice(start, stop), f"{item.name}: {', '.join(names)}"))
            start = stop
        for robot in self.config.robots:
            own = {joint.name for joint in self.urdfs[robot.name].joints}
            names = [name for name in self.joint_names if name in own]
            found.append((slice(start, start + len(names)), f"{robot.name}: {', '.join(names)}"))
            start += len(names)
        return tuple(found)

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.config.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the actuated joints in the order of q_a."""
        return tuple(joint.name for joint in self.joints)

    @property
    def object_names(self) -> tuple[str, ...]:
        """Names of the objects in the order of q_u."""
        return tuple(item.name for item in self.config.objects)

    @property
    def mesh_notes(self) -> tuple[str, ...]:
        """By how much shapes differ from the meshes that the files name, one line per link."""
        found = {(item.owner, item.link, item.shape.note) for item in self.geometries if item.shape.note}
        return tuple(f"{owner}, link '{link}': {note}" for owner, link, note in sorted(found))

    @property
    def n_q(self) -> int:
        """Length of q."""
        return self.n_q_u + self.n_a

    @property
    def n_v(self) -> int:
        """Length of v."""
        return self.n_v_u + self.n_a

    @property
    def n_a(self) -> int:
        """Number of actuated joints."""
        return len(self.joints)

    @cached_property
    def q_min(self) -> FloatArray:
        """Lower joint limits (n_a,), rad (m)."""
        return np.array([joint.lower for joint in self.joints])

    @cached_property
    def q_max(self) -> FloatArray:
        """Upper joint limits (n_a,), rad (m)."""
        return np.array([joint.upper for joint in self.joints])

    @cached_property
    def v_max(self) -> FloatArray:
        """Joint velocity limits (n_a,), rad/s (m/s)."""
        return np.array([joint.velocity for joint in self.joints])

    @cached_property
    def tau_max_nm(self) -> FloatArray:
        """Joint effort limits (n_a,), N m (N)."""
        return np.array([joint.effort for joint in self.joints])

    @cached_property
    def kp(self) -> FloatArray:
        """Joint stiffness (n_a,), N m/rad."""
        return self._per_joint("joint_stiffness_nm_per_rad")

    @cached_property
    def kd(self) -> FloatArray:
        """Joint damping (n_a,), N m s/rad."""
        return self._per_joint("joint_damping_nms_per_rad")

    @cached_property
    def reflected_inertia(self) -> FloatArray:
        """Rotor inertia at the joint (n_a,), kg m^2."""
        return self._per_joint("joint_reflected_inertia_kg_m2")

    def gains(self, name: str = "") -> tuple[FloatArray, FloatArray]:
        """Return Kp, N m/rad, and Kd, N m s/rad, (n_a,) each: those of the `gain_sets` of this name, "": the own ones.

        Raises
        ------
        ConfigError
            A robot has no gain set of this name, or one with another number of joints.
        """
        if not name:
            return self.kp, self.kd
        for robot in self.config.robots:
            if name not in robot.gain_sets:
                known = ", ".join(robot.gain_sets) or "none"
                raise ConfigError(f"gain_set = '{name}': {self.path}: robots.{robot.name}.gain_sets has {known}")
        kp, kd = (
            np.concatenate(
                [expand_joint_values(self, r, key, f"gain_sets.{name}.", r.gain_sets[name]) for r in self.config.robots]
            )
            for key in ("joint_stiffness_nm_per_rad", "joint_damping_nms_per_rad")
        )
        return kp, kd

    def _per_joint(self, key: str) -> FloatArray:
        values = [expand_joint_values(self, robot, key, "", robot) for robot in self.config.robots]
        return np.concatenate(values)

    def object_pose(self, q: FloatArray, index: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return (R_WB, p_WB) of the object's frame."""
        R, p = forward_kinematics(self.tree, np.ascontiguousarray(q, dtype=np.float64))
        body, X_BL = self._object_frames[index]
        return R[body] @ X_BL.R, R[body] @ X_BL.p + p[body]

    def object_jacobian(self, q: FloatArray, index: int = 0) -> FloatArray:
        """Return J (6, n_v_u) with V_WB = J v_u: [omega_W, dp_W], rad/s and m/s, of the object's frame at q (n_q,)."""
        body, X_BL = self._object_frames[index]
        return frame_jacobian(self.tree, q, body, X_BL.p)[:, : self.n_v_u]

    @cached_property
    def _object_frames(self) -> list[tuple[int, Pose]]:
        """Body and pose in it of each object's frame: the last link of its URDF that moves."""
        return [
            [frame for (owner, _), frame in self.links.items() if owner == item.name and frame[0] >= 0][-1]
            for item in self.config.objects
        ]

    def q_from_object_pose(self, R_WB: FloatArray, p_WB: FloatArray, q_guess: FloatArray, index: int = 0) -> FloatArray:
        """Return q_u with the object's frame at (R_WB, p_WB); least squares where its joints cannot reach the pose.

        Gauss-Newton on the pose error from q_guess (n_q,), which a free object does not need.
        """
        q = np.array(q_guess, dtype=np.float64)
        body, X_BL = self._object_frames[index]
        if self.tree.joint[body] == FREE:
            i, R = self.tree.i_q[body], R_WB @ X_BL.R.T
            wxyz = matrix_to_quaternion(np.ascontiguousarray(R))
            q[i : i + 7] = *np.copysign(1.0, wxyz @ q[i : i + 4]) * wxyz, *(p_WB - R @ X_BL.p)
            return q[: self.n_q_u]
        dofs = moving_dofs(self.tree, body)
        for _ in range(INVERSE_KINEMATICS_STEPS):
            R, p = self.object_pose(q, index)
            error = np.concatenate([rotation_log(R_WB @ R.T), p_WB - p])
            step = np.zeros(self.n_v)
            step[dofs] = np.linalg.lstsq(frame_jacobian(self.tree, q, body, X_BL.p)[:, dofs], error, rcond=None)[0]
            q = self.integrate(q, step)
            if np.max(np.abs(step)) < 1e-13:
                break
        return q[: self.n_q_u]

    def integrate(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return q ⊕ dq: quaternions are turned on the left by Exp(dq), everything else is added."""
        out = np.empty(self.n_q)
        for kind, i, j in zip(self.tree.joint, self.tree.i_q, self.tree.i_v, strict=True):
            if kind == FREE:
                turned = quaternion_multiply(quaternion_exp(dq[j : j + 3]), q[i : i + 4])
                out[i : i + 4] = turned / np.linalg.norm(turned)
                out[i + 4 : i + 7] = q[i + 4 : i + 7] + dq[j + 3 : j + 6]
            else:
                out[i] = q[i] + dq[j]
        return out

    def difference(self, q0: FloatArray, q1: FloatArray) -> FloatArray:
        """Return dq (n_v,) with q0 ⊕ dq = q1."""
        out = np.empty(self.n_v)
        for kind, i, j in zip(self.tree.joint, self.tree.i_q, self.tree.i_v, strict=True):
            if kind == FREE:
                conjugate = q0[i : i + 4] * np.array([1.0, -1.0, -1.0, -1.0])
                out[j : j + 3] = quaternion_log(quaternion_multiply(q1[i : i + 4], conjugate))
                out[j + 3 : j + 6] = q1[i + 4 : i + 7] - q0[i + 4 : i + 7]
            else:
                out[j] = q1[i] - q0[i]
        return out

    def check_q(self, q: FloatArray) -> FloatArray:
        """Return q as a contiguous float array; raises InputError on wrong shape, NaN or a non-unit quaternion."""
        q = check_vector("q", q, self.n_q)
        for kind, i in zip(self.tree.joint, self.tree.i_q, strict=True):
            norm = np.linalg.norm(q[i : i + 4])
            if kind == FREE and abs(norm - 1.0) > UNIT_QUATERNION_TOLERANCE:
                raise InputError(f"q[{i}:{i + 4}] has norm {norm:.6g}; a unit quaternion wxyz is needed: normalise it")
        return q

    def check_u(self, u: FloatArray) -> FloatArray:
        """Return u as a contiguous float array; raises InputError on wrong shape or non-finite values."""
        return check_vector("u", u, self.n_a)

    @cached_property
    def digest(self) -> str:
        """Hash over the YAML, every URDF as it was read, and what collides of every mesh."""
        digest = hashlib.sha256(self.config.model_dump_json(exclude_defaults=True).encode())
        for key in sorted(self.urdfs):
            digest.update(self.urdfs[key].text.encode())
            for link in self.urdfs[key].links.values():
                for shape in link.collisions:
                    digest.update(np.ascontiguousarray(shape.vertices).tobytes())
        return digest.hexdigest()[:16]

    def provenance(self) -> dict[str, Any]:
        """Return what identifies the system: its name and a hash over its YAML and URDFs."""
        return {"system": self.name, "system_digest": self.digest}


def check_vector(name: str, value: FloatArray, size: int) -> FloatArray:
    """Return value as a contiguous float (size,) array; raises InputError otherwise."""
    if np.iscomplexobj(value):
        raise InputError(f"{name} has complex entries; expected ({size},) real numbers")
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} = {value!r:.60}; expected ({size},) numbers") from error
    if array.shape != (size,):
        raise InputError(f"{name} has shape {array.shape}; expected ({size},)")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} has non-finite values at indices {np.flatnonzero(~np.isfinite(array)).tolist()}")
    return array


def check_number(name: str, value: float) -> float:
    """Return value as a float; raises InputError where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} = {value!r:.60}; expected a number") from error


def expand_joint_values(
    system: System, robot: RobotConfig, key: str, section: str, source: RobotConfig | GainSet
) -> FloatArray:
    """Return a value per joint of a robot, from a section of its part of the system file."""
    count = len(system.urdfs[robot.name].moving_joints)
    value = np.atleast_1d(np.array(getattr(source, key), dtype=np.float64))
    if value.size not in (1, count):
        raise ConfigError(
            f"{system.path}: robots.{robot.name}.{section}{key} has {value.size} values; expected 1 or {count}, "
            "one per joint"
        )
    return np.broadcast_to(value, (count,)).copy()
