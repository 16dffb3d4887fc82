"""Grippers and objects of seeds/002 as systems: two prismatic fingers, two, three or four revolute ones; 0.2 kg each.

The paper gives no sizes. Fingers are plates of 10 mm x 30 mm x 80 mm on a circle around the object, hinged above it or
sliding towards it, and carried by a slide along x for the prescribed motion of the parameter study. The Stanford bunny
is that of the package pybullet (902 triangles), scaled to 8 cm.
"""

from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import Pose, Shape
from contact_mpc.plants.penalty.meshes import TriangleMesh, check_mesh, read_obj
from contact_mpc.plants.penalty.solids import solid_of
from contact_mpc.settings.extras import require_packages

GRIPPERS = {"2p": "two prismatic fingers", "2": "two revolute", "3": "three revolute", "4": "four revolute"}
OBJECTS = ("sphere", "box", "bunny")
MASS_KG, FRICTION = 0.2, 0.2
RADIUS_M, SIDE_M, BUNNY_M = 0.03, 0.05, 0.08
FINGER_M, HINGE_HEIGHT_M = (0.01, 0.03, 0.08), 0.05
HINGE_RADIUS_M = {"sphere": 0.036, "box": 0.031, "bunny": 0.034}  # fingers are about upright where they touch
THING, SLIDE = "thing", "slide"
AT_ORIGIN = Pose(np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class Grasp:
    """A gripper around an object: the system, and the object's mesh where it is not convex."""

    system: System
    meshes: dict[str, TriangleMesh]
    urdf_texts: dict[str, str]
    lever_m: float  # of a joint's torque (or 1 where it is a force)

    @property
    def finger_dofs(self) -> range:
        """Places of the fingers' joints in v."""
        return range(7, self.system.n_v)


def build_grasp(gripper: str, thing: str) -> Grasp:
    """Build a gripper around an object.

    Raises
    ------
    InputError
        Unknown gripper or object.
    ConfigError
        The bunny needs pybullet.
    """
    if gripper not in GRIPPERS:
        raise InputError(f"--gripper '{gripper}'; allowed: {', '.join(GRIPPERS)}")
    if thing not in OBJECTS:
        raise InputError(f"--object '{thing}'; allowed: {', '.join(OBJECTS)}")
    with TemporaryDirectory(prefix="contact_mpc_grasp_") as name:
        folder = Path(name)
        meshes = {THING: bunny()} if thing == "bunny" else {}
        for mesh in meshes.values():
            write_obj(mesh, folder / "bunny.obj")
        texts = {"gripper": gripper_urdf(gripper, HINGE_RADIUS_M[thing]), THING: object_urdf(thing)}
        for key, text in texts.items():
            (folder / f"{key}.urdf").write_text(text, encoding="utf-8")
        (folder / "grasp.yaml").write_text(SYSTEM, encoding="utf-8")
        return Grasp(load_system(folder / "grasp.yaml"), meshes, texts, 1.0 if gripper == "2p" else HINGE_HEIGHT_M)


SYSTEM = f"""name: grasp
friction: {{default: {FRICTION}}}
robots: [{{name: gripper, urdf: gripper.urdf, joint_stiffness_nm_per_rad: 1.0, joint_damping_nms_per_rad: 0.0}}]
objects: [{{name: {THING}, urdf: {THING}.urdf, mobility: free}}]
"""


def bunny() -> TriangleMesh:
    """Return the Stanford bunny with its centre of mass at the origin."""
    require_packages("the Stanford bunny", "pybullet")
    import pybullet_data

    mesh = read_obj(Path(pybullet_data.getDataPath()) / "bunny.obj")
    mesh = mesh.scaled(BUNNY_M / float(np.ptp(mesh.vertices, axis=0).max()))
    return check_mesh(TriangleMesh(mesh.vertices - mesh.centroid, mesh.triangles), "bunny")


def write_obj(mesh: TriangleMesh, path: Path) -> None:
    """Write a mesh as Wavefront .obj."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in mesh.triangles.tolist()]
    path.write_text("\n".join([*lines, ""]), encoding="ascii")


def object_urdf(thing: str) -> str:
    """Return an object of 0.2 kg, evenly filled."""
    if thing == "bunny":
        mesh, shape = bunny(), '<mesh filename="bunny.obj"/>'
    elif thing == "box":
        mesh = solid_of(Shape("box", (SIDE_M,) * 3, AT_ORIGIN)).mesh
        shape = f'<box size="{SIDE_M} {SIDE_M} {SIDE_M}"/>'
    else:
        mesh, shape = solid_of(Shape("sphere", (RADIUS_M,), AT_ORIGIN)).mesh, f'<sphere radius="{RADIUS_M}"/>'
    text = f"<collision><geometry>{shape}</geometry></collision>"
    return (
        f'<robot name="{THING}"><link name="{THING}">{_inertial(MASS_KG, mesh.inertia(MASS_KG))}{text}</link></robot>'
    )


def gripper_urdf(gripper: str, radius_m: float) -> str:
    """Return a gripper: a slide along x, a palm without shape, and fingers around the origin."""
    count, is_prismatic = int(gripper[0]), gripper.endswith("p")
    heavy = _inertial(1.0, 1e-3 * np.eye(3))
    parts = [
        f'<link name="base">{heavy}</link><link name="palm">{heavy}</link>',
        f'<joint name="{SLIDE}" type="prismatic"><parent link="base"/><child link="palm"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="1" effort="1e4" velocity="10"/></joint>',
    ]
    x, y, z = FINGER_M
    inertia = solid_of(Shape("box", FINGER_M, AT_ORIGIN)).mesh.inertia(0.1)
    for i in range(count):
        angle = 2.0 * pi * i / count
        kind, axis, limits = (
            ("prismatic", "-1 0 0", (-0.05, 0.05)) if is_prismatic else ("revolute", "0 1 0", (-1, 1.4))
        )
        hinge = f"{radius_m * cos(angle)} {radius_m * sin(angle)} {HINGE_HEIGHT_M}"
        parts.append(
            f'<joint name="finger_{i}" type="{kind}"><parent link="palm"/><child link="finger_{i}"/>'
            f'<origin xyz="{hinge}" rpy="0 0 {angle}"/><axis xyz="{axis}"/><dynamics damping="0.02"/>'
            f'<limit lower="{limits[0]}" upper="{limits[1]}" effort="100" velocity="10"/></joint>'
            f'<link name="finger_{i}">{_inertial(0.1, inertia, -0.5 * z)}<collision><origin xyz="0 0 {-0.5 * z}"/>'
            f'<geometry><box size="{x} {y} {z}"/></geometry></collision></link>'
        )
    return f'<robot name="gripper">{"".join(parts)}</robot>'


def _inertial(mass: float, I: np.ndarray, z: float = 0.0) -> str:  # noqa: E741  the inertia
    names = {"ixx": I[0, 0], "iyy": I[1, 1], "izz": I[2, 2], "ixy": I[0, 1], "ixz": I[0, 2], "iyz": I[1, 2]}
    values = " ".join(f'{name}="{float(value)!r}"' for name, value in names.items())
    return f'<inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/><inertia {values}/></inertial>'
