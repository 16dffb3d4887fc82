"""Objects from a few words: KIND:SIZE or a mesh, as a URDF with mass and inertia, its frame at the centre of mass."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.importing.mesh_shapes import MeshShapes, shapes_of_mesh
from contact_mpc.importing.prepare import add_mesh_shapes
from contact_mpc.importing.primitives import load_points
from contact_mpc.importing.solids import KINDS, MassProperties, hull_properties, mass_properties
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.file_access import write_text

DENSITY_KG_M3 = 200.0  # of a hollow or foamed thing, as hands hold
LEAST_MASS_KG = 0.01
MESHES = (".obj", ".stl", ".dae")
OBJECTS = ", ".join(f"{name}:{','.join(kind.sizes)}" for name, kind in KINDS.items())


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
    """Return the object that `text` names: KIND:SIZES (m) of `contact_mpc.importing.solids.KINDS`, or a mesh file.

    Raises
    ------
    ConfigError
        An unknown kind, sizes that are none, or a mesh that cannot be used.
    """
    if Path(text).suffix.lower() in MESHES:
        path = Path(text).expanduser().resolve()
        points = load_points(path, (1.0, 1.0, 1.0))
        found = shapes_of_mesh(path, (1.0, 1.0, 1.0))
        name = re.sub(r"\W", "_", path.stem)
        return _build(name, found, hull_properties(points), mass_kg, f"{path.name} as {found.describe()}; ")
    kind, _, numbers = text.partition(":")
    if kind not in KINDS:
        raise ConfigError(f"--object {text}: expected {OBJECTS} in m, or a mesh file ({', '.join(MESHES)})")
    try:
        size = tuple(float(item) for item in numbers.split(","))
    except ValueError:
        size = ()
    if len(size) != len(KINDS[kind].sizes) or not all(1e-4 < value < 10.0 for value in size):
        raise ConfigError(f"--object {text}: a {kind} has {','.join(KINDS[kind].sizes)}, each 0.0001 to 10 m")
    if kind in ("ell", "tee") and size[1] >= size[0]:
        raise ConfigError(f"--object {text}: the arms of a {kind} must be longer than wide")
    shapes = KINDS[kind].make(size)
    return _build(kind, shapes, mass_properties(shapes), mass_kg, "")


def _build(name: str, shapes: MeshShapes, solid: MassProperties, mass_kg: float | None, note: str) -> NewObject:
    if mass_kg is None:
        mass = max(LEAST_MASS_KG, float(f"{DENSITY_KG_M3 * solid.volume:.2g}"))
        note += f"mass {1e3 * mass:g} g ({DENSITY_KG_M3:g} kg/m^3); --mass-kg says otherwise"
    else:
        mass = mass_kg
    inertia = mass / solid.volume * (np.trace(solid.second) * np.eye(3) - solid.second)
    half = np.max(np.abs(solid.bounds - solid.centre), axis=0)
    return NewObject(name, shapes, Pose(np.eye(3), -solid.centre), mass, inertia, half, note.rstrip("; "))


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
