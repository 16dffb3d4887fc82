"""Triangles of the shapes of a system, for drawing: one mesh per link, in the link's body frame."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import trimesh

from contact_mpc.model.system import System
from contact_mpc.report.scene.appearance import link_colour
from contact_mpc.report.scene.visuals import Drawn, drawn_shapes
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
    """Yield every link of a system that has something to draw."""
    links = groupby(drawn_shapes(system), key=lambda item: (item.body, item.owner, item.link))
    for (body, owner, link), shapes in links:
        parts = []
        for item in shapes:
            part = shape_mesh(item)
            part.apply_transform(_homogeneous(item.X_BG.R, item.X_BG.p))
            parts.append(part)
        red, green, blue = (round(255.0 * value) for value in link_colour(system, owner, body))
        yield LinkMesh(body, owner, link, trimesh.util.concatenate(parts), (red, green, blue))


def shape_mesh(item: Drawn) -> trimesh.Trimesh:
    """Return a shape in its own frame, m; a half-space is a thin square below its surface."""
    if item.kind == "sphere":
        return trimesh.creation.icosphere(subdivisions=3, radius=item.size[0])
    if item.kind == "box":
        return trimesh.creation.box(extents=item.size)
    if item.kind == "capsule":
        return trimesh.creation.capsule(height=item.size[1], radius=item.size[0])
    if item.kind == "cylinder":
        return trimesh.creation.cylinder(radius=item.size[0], height=item.size[1])
    if item.kind == "half_space":
        ground = trimesh.creation.box(extents=(GROUND_M, GROUND_M, GROUND_THICKNESS_M))
        ground.apply_translation((0.0, 0.0, -0.5 * GROUND_THICKNESS_M))
        return ground
    return trimesh.Trimesh(item.corners.reshape(-1, 3), np.arange(3 * len(item.corners)).reshape(-1, 3))


def _homogeneous(R: FloatArray, p: FloatArray) -> FloatArray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X
