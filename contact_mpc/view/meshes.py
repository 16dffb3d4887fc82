"""Triangles of the shapes of a system, for drawing: one mesh per link, in the link's body frame."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import trimesh

from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape
from contact_mpc.report.appearance import link_colour
from contact_mpc.settings.arrays import FloatArray

GROUND_M = 2.0  # side of the square that is drawn for a half-space
GROUND_THICKNESS_M = 1e-3


@dataclass(frozen=True)
class LinkMesh:
    """A link: body in the kinematic tree (-1: fixed), owner, name, mesh in the body frame, colour r g b of 255."""

    body: int
    owner: str
    link: str
    mesh: trimesh.Trimesh
    colour: tuple[int, int, int]


def link_meshes(system: System) -> Iterator[LinkMesh]:
    """Yield every link of a system that has a shape."""
    for body, owner, link in sorted({(item.body, item.owner, item.link) for item in system.geometries}):
        parts = []
        for item in system.geometries:
            if (item.owner, item.link) == (owner, link):
                part = shape_mesh(item.shape)
                part.apply_transform(_homogeneous(item.X_BG.R, item.X_BG.p))
                parts.append(part)
        red, green, blue = (round(255.0 * value) for value in link_colour(system, owner, body))
        yield LinkMesh(body, owner, link, trimesh.util.concatenate(parts), (red, green, blue))


def shape_mesh(shape: Shape) -> trimesh.Trimesh:
    """Return a shape in its own frame, m; a half-space is a thin square below its surface."""
    if shape.kind == "sphere":
        return trimesh.creation.icosphere(subdivisions=3, radius=shape.size[0])
    if shape.kind == "box":
        return trimesh.creation.box(extents=shape.size)
    if shape.kind == "capsule":
        return trimesh.creation.capsule(height=shape.size[1], radius=shape.size[0])
    if shape.kind == "cylinder":
        return trimesh.creation.cylinder(radius=shape.size[0], height=shape.size[1])
    if shape.kind == "half_space":
        ground = trimesh.creation.box(extents=(GROUND_M, GROUND_M, GROUND_THICKNESS_M))
        ground.apply_translation((0.0, 0.0, -0.5 * GROUND_THICKNESS_M))
        return ground
    return trimesh.convex.convex_hull(shape.vertices)


def _homogeneous(R: FloatArray, p: FloatArray) -> FloatArray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X
