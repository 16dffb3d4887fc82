"""What stands for a mesh: primitives where they are near it, else its convex hull, with the error stated.

A primitive rolls without edges and costs least, so one is taken where its error is within `near_m`. Else the hull, if
it is that near, and else the nearer of the two: a union of primitives, or the hull, whose error is how deep the mesh's
surface dips below it, or what `contact_mpc.model.meshes.thin_out` takes off where that is more.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from contact_mpc.importing.primitives import Primitive, fit_primitives, fit_whole, load_points, near_m
from contact_mpc.model.meshes import thin_out
from contact_mpc.model.polytopes import outward_triangles
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.file_access import write_text

BLOCK = 4096  # points at a time


@dataclass(frozen=True)
class MeshShapes:
    """Either primitives or the vertices (n, 3) of a hull, m, in the frame of the mesh; and how far off, m."""

    primitives: tuple[Primitive, ...]
    hull: FloatArray | None
    error_m: float

    def describe(self) -> str:
        """Return what was taken and its error, in one line."""
        kinds = ", ".join(item.kind for item in self.primitives)
        text = kinds if self.hull is None else f"its convex hull of {len(self.hull)} vertices"
        return f"{text}, off by up to {1e3 * self.error_m:.1f} mm"


@lru_cache(maxsize=256)
def shapes_of_mesh(path: Path, scale: tuple[float, float, float]) -> MeshShapes:
    """Return what stands for a mesh file; raises ModelError as `load_points` and `fit_primitives`."""
    points = load_points(path, scale)
    whole, near = fit_whole(points, str(path)), near_m(points)
    if whole.error_m <= near:
        return MeshShapes((whole,), None, whole.error_m)
    vertices, thinned_m = thin_out(np.ascontiguousarray(points[ConvexHull(points).vertices]))
    hull_error_m = max(thinned_m, _deepest_dip(points, vertices))
    fitted = () if hull_error_m <= near else tuple(fit_primitives(points, str(path)))
    error_m = max((item.error_m for item in fitted), default=np.inf)
    return MeshShapes(fitted, None, error_m) if error_m < hull_error_m else MeshShapes((), vertices, hull_error_m)


def _deepest_dip(points: FloatArray, vertices: FloatArray) -> float:
    """Return how far points (n, 3) are inside the hull of vertices (k, 3) at most, m."""
    planes = ConvexHull(vertices).equations
    parts = [points[k : k + BLOCK] for k in range(0, len(points), BLOCK)]  # fine meshes have 10^5 points
    return max(-float(np.min(np.max(part @ planes[:, :3].T + planes[:, 3], axis=1))) for part in parts)


def write_hull(points: FloatArray, path: Path) -> None:
    """Write the convex hull of points (n, 3), m, as an .obj with outward faces; QhullError where they are flat."""
    vertices = np.ascontiguousarray(points[ConvexHull(points).vertices])
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    rows += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in outward_triangles(vertices).tolist()]
    write_text(path, "\n".join([*rows, ""]))
