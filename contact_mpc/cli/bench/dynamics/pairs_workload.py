"""What `bench dynamics` measures of single pairs: all contacts with their motion, beside one query of coal.

Two shapes of a few centimetres at random turns, GAP_M apart. Ours writes every contact with N, M, T and P; coal, called
through Python (about 1 us of it), returns one pair of nearest points without derivatives.
"""

from time import thread_time
from typing import Any

import coal
import numpy as np
from numba import njit
from scipy.spatial import ConvexHull

from contact_mpc.geometry.convex.pair import collect_contacts, write_contacts
from contact_mpc.geometry.convex.support import MOST_CONTACTS, Placed, Scratch, make_scratch
from contact_mpc.model.polytopes import Polytopes, build_polytopes
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.urdf import Pose, Shape
from contact_mpc.settings.arrays import FloatArray

GAP_M, POSES, REPEATS = 2e-3, 16, 200
LIMIT_M, FAR_M = 0.1, 1.0
GOAL_US = 5.0
HERE = Pose(np.eye(3), np.zeros(3))
POINTS = 0.03 * np.random.default_rng(0).normal(size=(40, 3))
SHAPES = {
    "sphere": Shape("sphere", (0.03,), HERE),
    "capsule": Shape("capsule", (0.02, 0.08), HERE),
    "box": Shape("box", (0.06, 0.04, 0.08), HERE),
    "cylinder": Shape("cylinder", (0.03, 0.07), HERE),
    "mesh": Shape("hull", (), HERE, POINTS[ConvexHull(POINTS).vertices]),
}
PAIRS = [("sphere", "mesh"), ("capsule", "mesh"), ("box", "mesh"), ("mesh", "mesh"), ("cylinder", "mesh")]
PAIRS += [("capsule", "cylinder"), ("box", "cylinder"), ("cylinder", "cylinder")]


class Outputs:
    """Rows of one pair, as `write_contacts` takes them."""

    def __init__(self) -> None:
        vectors = [np.zeros((MOST_CONTACTS, 3)) for _ in range(3)]
        self.arrays = (np.zeros(MOST_CONTACTS), *vectors, *(np.zeros((MOST_CONTACTS, 3, 3)) for _ in range(4)))


@njit
def _write(
    shapes: Polytopes, g: tuple[int, int], s_A: Placed, s_B: Placed, repeats: int, work: Scratch, arrays: Any
) -> None:
    phi, n, p, centre, N, M, T, P = arrays
    for _ in range(repeats):
        found, bound, toward = collect_contacts(shapes, g[0], s_A, g[1], s_B, LIMIT_M, MOST_CONTACTS, work)
        write_contacts(
            found, 0, MOST_CONTACTS, bound, toward, (0.0, 0.0, 0.0), work, phi, n, p, centre, N, M, T, P
        )  # fmt: skip


def measure_pairs() -> dict[str, dict[str, float]]:
    """Return, per kind of pair, the median CPU time of ours and of coal, us, and coal's over ours."""
    shapes, rng, found = build_polytopes(list(SHAPES.values())), np.random.default_rng(1), {}
    work, out = make_scratch(), Outputs()
    for a, b in PAIRS:
        times = []
        for _ in range(POSES):
            R, d = rotation_exp(2.0 * rng.normal(size=3)), rng.normal(size=3)
            p = _at_gap(shapes, a, b, R, 0.2 * d / np.linalg.norm(d), work)
            g = (list(SHAPES).index(a), list(SHAPES).index(b))
            s_A, s_B = _place(shapes, a, R, p), _place(shapes, b, np.eye(3), np.zeros(3))
            _write(shapes, g, s_A, s_B, 1, work, out.arrays)
            started = thread_time()
            _write(shapes, g, s_A, s_B, REPEATS, work, out.arrays)
            ours = thread_time() - started
            times.append((1e6 * ours / REPEATS, 1e6 * _time_coal(a, b, R, p) / REPEATS))
        ours_us, coal_us = np.median(times, axis=0)
        found[f"{a}-{b}"] = {"us": float(ours_us), "coal_us": float(coal_us), "ratio": float(coal_us / ours_us)}
    return found


def _place(shapes: Polytopes, name: str, R: FloatArray, p: FloatArray) -> Placed:
    shape, row = SHAPES[name], shapes.table[list(SHAPES).index(name)]
    radius, half = (shape.size[0], 0.5 * shape.size[1]) if shape.kind == "cylinder" else (0.0, 0.0)
    axes = ((R[0, 0], R[1, 0], R[2, 0]), (R[0, 1], R[1, 1], R[2, 1]), (R[0, 2], R[1, 2], R[2, 2]))
    return Placed(axes, (p[0], p[1], p[2]), float(row[0]), int(row[5]), int(row[6]), radius, half)


def _at_gap(shapes: Polytopes, a: str, b: str, R: FloatArray, p: FloatArray, work: Scratch) -> FloatArray:
    """Return p moved along the normal until the gap is GAP_M."""
    g_A, g_B, s_B = list(SHAPES).index(a), list(SHAPES).index(b), _place(shapes, b, np.eye(3), np.zeros(3))
    for _ in range(30):
        _found, gap, n = collect_contacts(shapes, g_A, _place(shapes, a, R, p), g_B, s_B, FAR_M, 1, work)
        p = p + (GAP_M - gap) * np.array(n)
    return p


def _time_coal(a: str, b: str, R: FloatArray, p: FloatArray) -> float:
    """Return the CPU time of REPEATS queries, s."""
    first, second, poses = _coal_shape(a), _coal_shape(b), (coal.Transform3s(R, p), coal.Transform3s())
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    started = thread_time()
    for _ in range(REPEATS):
        result.clear()
        coal.distance(first, poses[0], second, poses[1], request, result)
    return thread_time() - started


def _coal_shape(name: str) -> Any:
    shape = SHAPES[name]
    if shape.kind == "hull":
        points = coal.StdVec_Vec3s()
        for vertex in shape.vertices:
            points.append(vertex)
        return coal.ConvexBase.convexHull(points, False, "Qt")
    kinds = {"sphere": coal.Sphere, "box": coal.Box, "capsule": coal.Capsule, "cylinder": coal.Cylinder}
    return kinds[shape.kind](*shape.size)
