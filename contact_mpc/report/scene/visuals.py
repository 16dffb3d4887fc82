"""What is drawn of a system: the visuals of its URDFs as they are, collision shapes of links that have none.

A visual mesh that cannot be read leaves the link to its collision shapes, as the model has never needed it.
"""

import logging
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.meshes import load_triangles
from contact_mpc.model.polytopes import outward_triangles
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Pose, Shape, Urdf, mesh_path, read_pose, read_shape, read_vector
from contact_mpc.settings.arrays import FloatArray

MOST_TRIANGLES = 2000  # of one mesh: 60 kB of a page
Colour = tuple[float, float, float]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Drawn:
    """A shape to draw.

    Attributes
    ----------
    owner, link : str
        Whose it is.
    body : int
        In the kinematic tree; -1: fixed in the world.
    X_BG : Pose
        Of the shape in the body's frame.
    kind : str
        "sphere", "box", "capsule", "cylinder", "half_space", or "triangles".
    size : tuple of float
        As of `Shape`, m; empty of triangles.
    corners : (m, 3, 3) array
        Of triangles, m, in the shape's frame.
    colour : (r, g, b), 0 to 1, or None
        Of the visual's material.
    """

    owner: str
    link: str
    body: int
    X_BG: Pose
    kind: str
    size: tuple[float, ...] = ()
    corners: FloatArray = field(default_factory=lambda: np.zeros((0, 3, 3)))
    colour: Colour | None = None


def drawn_shapes(system: System) -> list[Drawn]:
    """Return all shapes to draw, those of one link side by side, bodies in their order."""
    found = [shape for owner, urdf in system.urdfs.items() for shape in _visuals(system, owner, urdf)]
    has_visual = {(item.owner, item.link) for item in found}
    for item in system.geometries:
        if (item.owner, item.link) not in has_visual:
            found.append(_drawn(item.owner, item.link, item.body, item.X_BG, item.shape))
    return sorted(found, key=lambda item: (item.body, item.owner, item.link))


def _visuals(system: System, owner: str, urdf: Urdf) -> list[Drawn]:
    robot = ET.fromstring(urdf.text)
    materials = {item.get("name", ""): colour for item in robot.findall("material") if (colour := _rgb(item, urdf))}
    found = []
    for link in robot.findall("link"):
        name = link.get("name", "")
        body, X_BL = system.links[owner, name]
        try:
            found += [_visual(item, owner, name, (body, X_BL), materials, urdf) for item in link.findall("visual")]
        except ModelError as error:
            logger.warning("%s; the collision shapes of link '%s' are drawn", error, name)
    return found


def _visual(
    element: ET.Element, owner: str, link: str, frame: tuple[int, Pose], materials: dict[str, Colour], urdf: Urdf
) -> Drawn:
    body, X_BL = frame
    material = element.find("material")
    colour = None if material is None else _rgb(material, urdf) or materials.get(material.get("name", ""))
    mesh = element.find("geometry/mesh")
    if mesh is None:
        shape = read_shape(element, link, urdf.path)
        return _drawn(owner, link, body, X_BL @ shape.X_LG, shape, colour)
    path, scale = mesh_path(mesh.get("filename", ""), urdf.path), read_vector(mesh, "scale", "1 1 1", urdf.path)
    corners = load_triangles(path, scale, MOST_TRIANGLES)
    X_BG = X_BL @ read_pose(element.find("origin"), urdf.path)
    return Drawn(owner, link, body, X_BG, "triangles", corners=corners, colour=colour)


def _drawn(owner: str, link: str, body: int, X_BG: Pose, shape: Shape, colour: Colour | None = None) -> Drawn:
    if shape.kind != "hull":
        return Drawn(owner, link, body, X_BG, shape.kind, shape.size, colour=colour)
    corners = shape.vertices[outward_triangles(shape.vertices)]
    return Drawn(owner, link, body, X_BG, "triangles", corners=corners, colour=colour)


def _rgb(material: ET.Element, urdf: Urdf) -> Colour | None:
    colour = material.find("color")
    if colour is None:
        return None
    red, green, blue, _ = read_vector(colour, "rgba", "", urdf.path, 4).tolist()
    return red, green, blue
