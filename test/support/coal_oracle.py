"""coal as oracle: distances of two shapes, of which only those count that their own supporting planes prove."""

import coal
import numpy as np

from contact_mpc.geometry.contacts import Kinematics
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape

TOLERANCES_M, ITERATIONS = (1e-12, 1e-9, 1e-7, 1e-6), 500
Pose = tuple[np.ndarray, np.ndarray]


def geometry_pose(system: System, kin: Kinematics, g: int) -> Pose:
    """Return the pose (R, p) of a geometry in the world; kin must be up to date."""
    tree, body = system.tree, system.tree.geom_body[g]
    if body < 0:
        return tree.R_BG[g], tree.p_BG[g]
    return kin.R[body] @ tree.R_BG[g], kin.R[body] @ tree.p_BG[g] + kin.p[body]


def reach(shape: Shape, d: np.ndarray) -> float:
    """Return how far a shape reaches along the unit vector d (3,), m, both in the shape's frame."""
    if shape.kind == "hull":
        return float((shape.vertices @ d).max())
    if shape.kind == "box":
        return 0.5 * float(np.abs(d) @ np.array(shape.size))
    if shape.kind == "sphere":
        return shape.size[0]
    across = 1.0 if shape.kind == "capsule" else float(np.hypot(d[0], d[1]))
    return shape.size[0] * across + 0.5 * shape.size[1] * abs(float(d[2]))


def separation(n: np.ndarray, a: Shape, X_A: Pose, b: Shape, X_B: Pose) -> float:
    """Return how far apart the supporting planes across n (from B to A) are, m."""
    return float(n @ (X_A[1] - X_B[1])) - reach(a, -X_A[0].T @ n) - reach(b, X_B[0].T @ n)


def coal_shape(shape: Shape) -> "coal.CollisionGeometry":
    """Return coal's shape."""
    if shape.kind == "half_space":
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if shape.kind == "hull":
        points = coal.StdVec_Vec3s()
        for vertex in shape.vertices:
            points.append(vertex)
        return coal.ConvexBase.convexHull(points, False, "Qt")
    kinds = {"sphere": coal.Sphere, "box": coal.Box, "capsule": coal.Capsule, "cylinder": coal.Cylinder}
    return kinds[shape.kind](*shape.size)


def proved_distance(a: Shape, X_A: Pose, b: Shape, X_B: Pose, proof_m: float) -> tuple[float, np.ndarray] | None:
    """Return the signed distance, m, and the normal from B to A; the shallowest that is proved, None where none is."""
    best = None
    for tolerance in TOLERANCES_M:
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = tolerance
        request.gjk_max_iterations = request.epa_max_iterations = ITERATIONS
        poses = coal.Transform3s(*X_A), coal.Transform3s(*X_B)
        phi = float(coal.distance(coal_shape(a), poses[0], coal_shape(b), poses[1], request, result))
        n = -np.array(result.normal)
        is_proved = np.all(np.isfinite(n)) and abs(separation(n, a, X_A, b, X_B) - phi) < proof_m
        if is_proved and (best is None or phi > best[0]):
            best = phi, n
        if best is not None and best[0] > 0.0:
            break
    return best
