"""One step as matrices, for solvers of convex and complementarity programs.

    min over dq   1/2 dq' Q dq + b' dq      with the contacts' relative displacements d_i = J_i dq

in the energy form of `dynamics.smoothed.quadratic` (everything divided by h), so that multipliers are forces in N.
All comes from the compiled kinematics; only pairs within the activation distance are listed.

Tangents: t2 is the part across n of a reference axis, t1 = t2 x n. The reference is the first axis of the frame of
shape b that n is not nearly parallel to, so that rays turn with the body and results do not depend on the world frame;
polyhedral cones, and with them qp and lcp in space, jump where another axis becomes the first. In a planar system (all
motion in one plane) it is the plane's normal: t1 is the only tangent in which anything moves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.newton import Newton, make_newton, prepare_step
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.contacts import update_kinematics
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
PARALLEL_TOLERANCE = 1e-9  # on unit vectors
MOST_ALIGNED = 0.9  # cosine between the normal and its reference axis


@dataclass(frozen=True)
class StepProblem:
    """One step over k contacts.

    Attributes
    ----------
    Q : (n_v, n_v) array, b : (n_v,) array
        Energy of the step, N/m and N (or per rad).
    phi : (k,) array
        Gaps with offsets, m.
    n : (k, 3) array
        Normals from B to A, world frame.
    J : (k, 3, n_v) array
        Displacement of A relative to B at the contact is J dq, world frame.
    mu : (k,) array
        Friction coefficients.
    reference : (k, 3) array
        Axis that fixes the tangents.
    is_planar : (k,) array of bool
        Whether t1 is the only tangent in which the contact can move.
    pair : (k,) array of int
        Indices among all pairs of the system.
    """

    Q: FloatArray
    b: FloatArray
    phi: FloatArray
    n: FloatArray
    J: FloatArray
    mu: FloatArray
    reference: FloatArray
    is_planar: NDArray[np.bool_]
    pair: IntArray

    @cached_property
    def tangents(self) -> FloatArray:
        """Tangents t1, t2 of every contact (k, 2, 3), world frame."""
        across = self.reference - self.n * np.sum(self.n * self.reference, axis=1, keepdims=True)
        t2 = across / np.linalg.norm(across, axis=1, keepdims=True)
        return np.stack([np.cross(t2, self.n), t2], axis=1)

    @cached_property
    def compliance(self) -> FloatArray:
        """Motion of each contact under a force of 1 N where nothing else holds (k,), m/N: compares forces and gaps."""
        moved = np.linalg.solve(self.Q, self.J.reshape(-1, len(self.b)).T).T.reshape(self.J.shape)
        return 0.5 * np.einsum("kiv,kiv->k", self.J, moved)

    def displacements(self, dq: FloatArray) -> FloatArray:
        """Return d (k, 3), m."""
        return self.J @ dq

    def force_balance(self, dq: FloatArray, force: FloatArray) -> FloatArray:
        """Return Q dq + b - sum J' f (n_v,), N or N m, for forces on A (k, 3), N."""
        return self.Q @ dq + self.b - np.einsum("kiv,ki->v", self.J, force)


class ProblemBuilder:
    """Assembles the `StepProblem` at (q, u); keeps the compiled workspace, which derivatives read afterwards."""

    def __init__(self, model: Model, q: FloatArray) -> None:
        self.model = model
        self.workspace: Newton = make_newton(model)
        n_c, m = model.pairs.dofs.shape
        counted = np.arange(m)[None, :] < model.pairs.dof_count[:, None]
        self._columns = np.zeros((n_c, m, model.tree.dof_body.shape[0]))
        c, k = np.nonzero(counted)
        self._columns[c, k, model.pairs.dofs[c, k]] = 1.0
        update_kinematics(model.tree, q, self.workspace.kin)
        self._plane_normal = find_plane_normal(model, self.workspace)

    def build(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> StepProblem:
        """Return the problem at q (n_q,), u (n_a,) with offset (n_c,), m, added to the gaps."""
        ws = self.workspace
        prepare_step(self.model, ws, q, u, offset)
        pair = np.flatnonzero(ws.phi < self.model.activation)
        n = ws.con.n[pair]
        reference, is_planar = self._references(pair, n)
        return StepProblem(
            ws.Q.copy(),
            ws.b.copy(),
            ws.phi[pair],
            n,
            np.einsum("cki,ckv->civ", ws.con.J[pair], self._columns[pair]),
            self.model.mu[pair],
            reference,
            is_planar,
            pair,
        )

    def _references(self, pair: IntArray, n: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        tree, kin = self.model.tree, self.workspace.kin
        geometry = self.model.pairs.geom_b[pair]
        body = tree.geom_body[geometry]
        R = np.where((body < 0)[:, None, None], np.eye(3), kin.R[body]) @ tree.R_BG[geometry]
        axis = np.argmax(np.abs(np.einsum("kij,ki->kj", R, n)) < MOST_ALIGNED, axis=1)
        reference = R[np.arange(len(pair)), :, axis]
        if self._plane_normal is None:
            return reference, np.zeros(len(pair), dtype=bool)
        is_planar = np.abs(n @ self._plane_normal) < PARALLEL_TOLERANCE
        return np.where(is_planar[:, None], self._plane_normal, reference), is_planar


def find_plane_normal(model: Model, ws: Newton) -> FloatArray | None:
    """Return the normal of the plane in which everything moves, or None where motion is spatial.

    Planar: no free bodies, all revolute axes parallel to the normal, all prismatic ones across it. For a system that
    only slides along one line the normal is one of the many across it.
    """
    tree = model.tree
    if np.any(tree.joint == FREE):
        return None
    turning = ws.kin.axes[tree.axis_kind == REVOLUTE]
    sliding = ws.kin.axes[tree.axis_kind != REVOLUTE]
    normal = turning[0] if len(turning) else np.linalg.svd(sliding)[2][2]
    if not np.any(tree.dof_kind == REVOLUTE):  # the axis of a mimic joint has its ratio as length
        normal = normal / np.linalg.norm(normal)
    is_parallel = np.all(np.abs(np.cross(turning, normal)) < PARALLEL_TOLERANCE)
    is_across = np.all(np.abs(sliding @ normal) < PARALLEL_TOLERANCE)
    return np.array(normal) if is_parallel and is_across else None
