"""Pairs of convex shapes without closed form, by coal: hulls, cylinders and boxes against what is no sphere.

coal's GJK and EPA give the signed distance, the normal and one pair of nearest points. Their derivatives (N, M, T, P of
`turning`) are central differences of coal's result: A is moved along and turned about each axis by STEP (m, rad).
With flat and straight sides A and B of a step are then exact to about 1e-7. Cylinders, which coal approaches
iteratively with errors of 1e-6 in the normal, need the larger STEP_CURVED and give A and B to about 0.5 %.
Pairs whose bounding spheres are further apart than the activation distance are not handed to coal; their gap
is that of the spheres.

EPA at a fine tolerance now and then returns a wrong depth. So every result is proved: the support planes of the shapes
across the normal must be as far apart as coal says. In penetration the shallowest of several tolerances counts.

Wrong where the nearest points jump: two parallel faces or edges have one contact, anywhere on them (boxes against
boxes and half-spaces have points instead, see `contact_mpc.model.contact_points`).
"""

from typing import Any

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.geometry.contacts import EXTERNAL, Contacts, Kinematics, Pairs, update_kinematics
from contact_mpc.model.kinematic_tree import CYLINDER, Geometry, Tree
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

STEP, STEP_CURVED = 1e-5, 1e-3  # m and rad
TOLERANCES_M, ITERATIONS = (1e-12, 1e-9, 1e-7, 1e-6), 500
PROOF_TOLERANCE_M = 1e-5


class ConvexPairs:
    """The external contacts of a system; `update` writes them where `update_contacts` leaves them alone."""

    def __init__(self, system: System, pairs: Pairs, activation_m: float) -> None:
        self._tree, self._pairs, self._activation_m = system.tree, pairs, activation_m
        self.contacts = np.flatnonzero(pairs.kind == EXTERNAL)
        used = {int(g) for c in self.contacts for g in (pairs.geom_a[c], pairs.geom_b[c])}
        self._shapes = {g: _coal_shape(system.geometries[g]) for g in used}
        self._geometries = system.geometries
        self._radii = {g: _bounding_radius(system.geometries[g]) for g in used}
        self._requests = [_make_request(tolerance) for tolerance in TOLERANCES_M] if used else []

    def update(self, q: FloatArray, kin: Kinematics, con: Contacts) -> None:
        """Write phi, n, p, centre, N, M, T and P of the external contacts at q (n_q,)."""
        if not len(self.contacts):
            return
        update_kinematics(self._tree, q, kin)
        for c in self.contacts:
            self._update_contact(int(c), kin, con)

    def _update_contact(self, c: int, kin: Kinematics, con: Contacts) -> None:
        a, b = int(self._pairs.geom_a[c]), int(self._pairs.geom_b[c])
        (R_A, p_A), (R_B, p_B) = (geometry_pose(self._tree, kin, g) for g in (a, b))
        apart = p_A - p_B
        bound = float(np.linalg.norm(apart)) - self._radii[a] - self._radii[b]
        if bound > self._activation_m:
            n = apart / np.linalg.norm(apart)
            _write(con, c, bound, n, p_A - self._radii[a] * n, np.zeros((4, 3, 3)))
            return
        phi, n, w_A, w_B = self._distance(a, R_A, p_A, b, R_B, p_B)
        matrices = self._differences(a, R_A, p_A, b, R_B, p_B, phi, n, w_A)
        _write(con, c, phi, n, w_A, matrices)

    def _differences(
        self,
        a: int,
        R_A: FloatArray,
        p_A: FloatArray,
        b: int,
        R_B: FloatArray,
        p_B: FloatArray,
        phi: float,
        n: FloatArray,
        w_A: FloatArray,
    ) -> FloatArray:
        """Return N, M, T, P (4, 3, 3) from motions of A about its nearest point."""
        dn, dp = np.empty((3, 6)), np.empty((3, 6))
        step = STEP_CURVED if CYLINDER in (self._tree.geom_shape[a], self._tree.geom_shape[b]) else STEP
        for k in range(6):
            ends = []
            for sign in (1.0, -1.0):
                unit = sign * np.eye(3)[k % 3]
                turn = rotation_exp(step * unit) if k >= 3 else np.eye(3)
                moved = w_A + turn @ (p_A - w_A) + (step * unit if k < 3 else 0.0)
                _, n_k, w_A_k, w_B_k = self._distance(a, turn @ R_A, moved, b, R_B, p_B)
                ends.append((n_k, 0.5 * (w_A_k + w_B_k)))
            dn[:, k] = (ends[0][0] - ends[1][0]) / (2.0 * step)
            dp[:, k] = (ends[0][1] - ends[1][1]) / (2.0 * step)
        N, M = dn[:, :3], dn[:, 3:]
        T = dp[:, :3] - np.eye(3) + 0.5 * phi * N + 0.5 * np.outer(n, n)
        return np.stack([N, M, T, dp[:, 3:] + 0.5 * phi * M])

    def _distance(
        self, a: int, R_A: FloatArray, p_A: FloatArray, b: int, R_B: FloatArray, p_B: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the signed distance, m, the normal from B to A, and the nearest points on A and B.

        Of the results that hold, the shallowest counts: along any normal, shapes are at least that far apart.

        Raises
        ------
        InputError
            No result holds.
        """
        import coal

        poses = coal.Transform3s(R_A, p_A), coal.Transform3s(R_B, p_B)
        best: tuple[float, FloatArray, FloatArray, FloatArray] | None = None
        for request in self._requests:
            result = coal.DistanceResult()
            phi = float(coal.distance(self._shapes[a], poses[0], self._shapes[b], poses[1], request, result))
            n = -np.array(result.normal)
            if not np.all(np.isfinite(n)):
                continue
            reach = support(self._geometries[a], -R_A.T @ n) + support(self._geometries[b], R_B.T @ n)
            is_proved = abs(float(n @ (p_A - p_B)) - reach - phi) < PROOF_TOLERANCE_M
            if is_proved and (best is None or phi > best[0] + PROOF_TOLERANCE_M):
                best = phi, n, np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
            if best is not None and best[0] > 0.0:
                break
        if best is not None:
            return best
        names = " and ".join(f"{self._geometries[g].link} ({self._geometries[g].shape.kind})" for g in (a, b))
        raise InputError(f"no distance found between {names}: they overlap too deeply; start with them further apart")


def support(geometry: Geometry, d: FloatArray) -> float:
    """Return how far a shape reaches along the unit vector d (3,), m, both in the shape's frame."""
    kind, size = geometry.shape.kind, geometry.shape.size
    if kind == "hull":
        return float((geometry.shape.vertices @ d).max())
    if kind == "box":
        return 0.5 * float(np.abs(d) @ np.array(size))
    if kind == "sphere":
        return size[0]
    across = 1.0 if kind == "capsule" else float(np.hypot(d[0], d[1]))
    return size[0] * across + 0.5 * size[1] * abs(float(d[2]))


def geometry_pose(tree: Tree, kin: Kinematics, g: int) -> tuple[FloatArray, FloatArray]:
    """Return the pose (R, p) of a geometry in the world; kin must be up to date."""
    body = tree.geom_body[g]
    if body < 0:
        return tree.R_BG[g], tree.p_BG[g]
    return kin.R[body] @ tree.R_BG[g], kin.R[body] @ tree.p_BG[g] + kin.p[body]


def _write(con: Contacts, c: int, phi: float, n: FloatArray, w_A: FloatArray, matrices: FloatArray) -> None:
    con.phi[c], con.n[c], con.centre[c] = phi, n, w_A
    con.p[c] = w_A - 0.5 * phi * n
    con.N[c], con.M[c], con.T[c], con.P[c] = matrices


def _make_request(tolerance_m: float) -> Any:
    import coal

    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = tolerance_m
    request.gjk_max_iterations = request.epa_max_iterations = ITERATIONS
    return request


def _coal_shape(geometry: Geometry) -> Any:
    import coal

    kind, size = geometry.shape.kind, geometry.shape.size
    if kind == "hull":
        points = coal.StdVec_Vec3s()
        for vertex in geometry.shape.vertices:
            points.append(vertex)
        return coal.ConvexBase.convexHull(points, False, "Qt")
    shapes = {"sphere": coal.Sphere, "box": coal.Box, "capsule": coal.Capsule, "cylinder": coal.Cylinder}
    return shapes[kind](*size)


def _bounding_radius(geometry: Geometry) -> float:
    kind, size = geometry.shape.kind, geometry.shape.size
    if kind == "hull":
        return float(np.linalg.norm(geometry.shape.vertices, axis=1).max())
    if kind == "box":
        return 0.5 * float(np.linalg.norm(size))
    if kind == "cylinder":
        return float(np.hypot(size[0], 0.5 * size[1]))
    return size[0] + (0.5 * size[1] if kind == "capsule" else 0.0)
