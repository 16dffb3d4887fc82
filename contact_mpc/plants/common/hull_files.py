"""Convex hulls as files for the engines: what they are given is the hull of the model, not the mesh it came from."""

import hashlib
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from contact_mpc.model.polytopes import outward_triangles
from contact_mpc.model.urdf import DRAKE, Urdf
from contact_mpc.settings.arrays import FloatArray

ET.register_namespace("drake", DRAKE.strip("{}"))  # engines know the prefix, not the name


@cache
def _folder() -> TemporaryDirectory[str]:
    """Files live as long as the process: engines may read them late."""
    return TemporaryDirectory(prefix="contact_mpc_hulls_")


def hull_file(vertices: FloatArray) -> Path:
    """Write the hull of vertices (n, 3), m, as an .obj with outward faces, once per process; return its path."""
    path = Path(_folder().name) / f"hull_{hashlib.sha256(vertices.tobytes()).hexdigest()[:16]}.obj"
    if not path.exists():
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
        lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in outward_triangles(vertices).tolist()]
        path.write_text("\n".join([*lines, ""]), encoding="ascii")
    return path


def name_hulls(robot: ET.Element, urdf: Urdf, size_scale: float) -> None:
    """Let the meshes of a URDF's collisions name files of their hulls, scaled."""
    for link in robot.findall("link"):
        shapes = urdf.links[link.get("name", "")].collisions
        for collision, shape in zip(link.findall("collision"), shapes, strict=True):
            mesh = collision.find("geometry/mesh")
            if mesh is not None:
                mesh.attrib.pop("scale", None)
                mesh.set("filename", str(hull_file(size_scale * shape.vertices)))
                ET.SubElement(mesh, f"{DRAKE}declare_convex")
