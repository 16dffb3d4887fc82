"""Meshes as convex hulls: only the vertices of the hull are kept."""

from pathlib import Path

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.settings.arrays import FloatArray

MAX_VERTICES = 100  # a hull meets a half-space with all of its vertices


def load_hull(path: Path, scale: FloatArray) -> FloatArray:
    """Return the vertices (n, 3), m, of the convex hull of a mesh file (obj, stl, dae, ..).

    Raises
    ------
    ModelError
        The file is missing or no mesh, is flat, or its hull has too many vertices.
    """
    import coal
    from scipy.spatial import ConvexHull, QhullError

    if not path.is_file():
        raise ModelError(f"{path}: the mesh file does not exist; give a path relative to the URDF")
    try:
        mesh = coal.MeshLoader().load(str(path), scale)
        points = np.array([mesh.vertex(i) for i in range(mesh.num_vertices)])
        hull = ConvexHull(points)
    except (RuntimeError, ValueError, QhullError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{path}: no mesh with a volume can be read from it ({reason})") from error
    vertices = np.ascontiguousarray(points[hull.vertices], dtype=np.float64)
    if len(vertices) > MAX_VERTICES:
        raise ModelError(
            f"{path}: the convex hull has {len(vertices)} vertices; at most {MAX_VERTICES} are allowed: simplify it"
        )
    return vertices
