"""Objects from a few words: KIND:SIZE or a mesh, as a URDF with mass and inertia, its frame at the centre of mass."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from contact_mpc.errors import ConfigError
from contact_mpc.importing.mesh_shapes import MeshShapes, shapes_of_mesh
from contact_mpc.importing.prepare import add_mesh_shapes
from contact_mpc.importing.primitives import Primitive, load_points
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.file_access import write_text

DENSITY_KG_M3 = 200.0  # of a hollow or foamed thing, as hands hold
LEAST_MASS_KG = 0.01
KINDS = {"ball": ("radius",), "box": ("x", "y", "z"), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
MESHES = (".obj", ".stl", ".dae")


@dataclass(frozen=True)
class NewObject:
    """An object: shapes, mass (kg), inertia (3, 3) about its frame (kg m^2), half extents (m), what was assumed."""

    name: str
    shapes: MeshShapes
    X_OM: Pose  # of the shapes' frame in the object's
    mass_kg: float
    inertia: FloatArray
    half_extent_m: FloatArray
    note: str = ""


def make_object(text: str, mass_kg: float | None) -> NewObject:
    """Return the object that `text` names: ball:R, box:X,Y,Z, cylinder:R,L, capsule:R,L (m) or a mesh file.

    Raises
    ------
    ConfigError
        An unknown kind, sizes that are none, or a mesh that cannot be used.
    """
    if Path(text).suffix.lower() in MESHES:
        return _from_mesh(Path(text).expanduser().resolve(), mass_kg)
    kind, _, numbers = text.partition(":")
    if kind not in KINDS:
        allowed = ", ".join(f"{name}:{','.join(sizes)}" for name, sizes in KINDS.items())
        raise ConfigError(f"--object {text}: expected {allowed} in m, or a mesh file ({', '.join(MESHES)})")
    try:
        size = tuple(float(item) for item in numbers.split(","))
    except ValueError:
        size = ()
    if len(size) != len(KINDS[kind]) or not all(1e-4 < value < 10.0 for value in size):
        raise ConfigError(f"--object {text}: a {kind} has {','.join(KINDS[kind])}, each 0.0001 to 10 m")
    return _from_kind(kind, size, mass_kg)


def _from_kind(kind: str, size: tuple[float, ...], mass_kg: float | None) -> NewObject:
    r = size[0]
    if kind == "ball":
        half, volume = np.full(3, r), 4.0 / 3.0 * np.pi * r**3
        moments = np.full(3, 0.4 * r * r)
    elif kind == "box":
        half, volume = 0.5 * np.array(size), float(np.prod(size))
        moments = (np.sum(half**2) - half**2) / 3.0
    else:
        length = size[1] + (2.0 * r if kind == "capsule" else 0.0)
        half, volume = np.array([r, r, 0.5 * length]), np.pi * r * r * length
        moments = np.array([(3.0 * r * r + length**2) / 12.0] * 2 + [0.5 * r * r])  # of a cylinder
    mass, note = _mass(volume, mass_kg)
    shape = "sphere" if kind == "ball" else kind
    pose = Pose(np.eye(3), np.zeros(3))
    shapes = MeshShapes((Primitive(shape, size, pose, 0.0),), None, 0.0)
    return NewObject(kind, shapes, pose, mass, np.diag(mass * moments), half, note)


def _mass(volume: float, mass_kg: float | None) -> tuple[float, str]:
    if mass_kg is not None:
        return mass_kg, ""
    mass = max(LEAST_MASS_KG, float(f"{DENSITY_KG_M3 * volume:.2g}"))
    return mass, f"mass {1e3 * mass:g} g ({DENSITY_KG_M3:g} kg/m^3); --mass-kg says otherwise"


def _from_mesh(path: Path, mass_kg: float | None) -> NewObject:
    points = load_points(path, (1.0, 1.0, 1.0))
    found = shapes_of_mesh(path, (1.0, 1.0, 1.0))
    volume, centre, second = _moments(points)
    mass, note = _mass(volume, mass_kg)
    inertia = mass / volume * (np.trace(second) * np.eye(3) - second)
    text = f"{path.name} as {found.describe()}; inertia of its convex hull; {note}".rstrip("; ")
    half = np.max(np.abs(points - centre), axis=0)
    return NewObject(path.stem, found, Pose(np.eye(3), -centre), mass, inertia, half, text)


def _moments(points: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return volume, centre and integral of r r' about it of the convex hull of points, by tetrahedra."""
    hull = ConvexHull(points)
    inner = points[hull.vertices].mean(axis=0)
    corners = points[hull.simplices] - inner  # (n, 3, 3): tetrahedra with their fourth corner at 0
    volumes = np.abs(np.linalg.det(corners)) / 6.0
    total, sums = float(volumes.sum()), corners.sum(axis=1)
    centre = np.einsum("t,ti->i", volumes, sums) / (4.0 * total)
    second = np.einsum("t,tki,tkj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    return total, centre + inner, np.asarray(second / 20.0 - total * np.outer(centre, centre))


def write_object(item: NewObject, into: Path) -> None:
    """Write NAME.urdf of an object, and its hull, if it has one, below meshes/."""
    write_text(into / f"{item.name}.urdf", _object_urdf(item, into / "meshes" / f"{item.name}_hull.obj"))


def _object_urdf(item: NewObject, hull_file: Path) -> str:
    robot = ET.Element("robot", name=item.name)
    link = ET.SubElement(robot, "link", name=item.name)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value=f"{item.mass_kg:.6g}")
    rows = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
    ET.SubElement(inertial, "inertia", {key: f"{item.inertia[place]:.6g}" for key, place in rows.items()})
    add_mesh_shapes(link, item.shapes, item.X_OM, hull_file)
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"
