"""Keeps the links of robots apart: a setpoint from which they cannot stop in time comes to rest at once.

What counts is where the setpoint would come to rest if it braked now. As long as no pair of links is nearer there than
the least distance, or no pair that is gets nearer, the setpoint goes on; else it brakes, and so comes to rest about
where it last could. On the way joints do not all brake equally long: the way between is not checked, nor are objects,
nor what the robot itself does between setpoint and position. Links that a joint connects are no pair, nor are those
that are nearer than the least distance in the posture that the system file begins with: they would never be apart.
"""

from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.control.bridge.guard.capsule_cover import Capsule, cover
from contact_mpc.geometry.turning import nearest_on_segments
from contact_mpc.geometry.vectors import Vector
from contact_mpc.model.kinematic_tree import Tree
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

IntArray = NDArray[np.int64]
NEARER_M = 1e-7  # a change of a gap that counts


@njit(**INNER)
def _place(R: FloatArray, p: FloatArray, body: int, x: FloatArray, is_point: bool) -> Vector:
    """Return a point, or else a direction, of a body (-1: the world) in the world."""
    if body < 0:
        return x[0], x[1], x[2]
    y = [0.0, 0.0, 0.0]
    for k in range(3):
        y[k] = R[body, k, 0] * x[0] + R[body, k, 1] * x[1] + R[body, k, 2] * x[2] + (p[body, k] if is_point else 0.0)
    return y[0], y[1], y[2]


@njit(**COMPILED)
def capsule_gaps(
    tree: Tree, q: FloatArray, body: IntArray, centre: FloatArray, axis: FloatArray, half_length: FloatArray,
    radius: FloatArray, first: IntArray, second: IntArray, out: FloatArray,
) -> None:  # fmt: skip
    """Write the gap, m, of every pair of capsules at q (n_q,): distance of the segments less both radii.

    Parameters
    ----------
    body, half_length, radius : (n,) array
        See `Capsule`.
    centre, axis : (n, 3) array
        See `Capsule`.
    first, second : (m,) array
        The two capsules of each pair.
    out : (m,) array
        Receives the gaps, negative where capsules overlap.
    """
    R, p = forward_kinematics(tree, q)
    count = body.shape[0]
    at, along = np.empty((count, 3)), np.empty((count, 3))
    for i in range(count):
        at[i, 0], at[i, 1], at[i, 2] = _place(R, p, body[i], centre[i], True)
        along[i, 0], along[i, 1], along[i, 2] = _place(R, p, body[i], axis[i], False)
    for m in range(first.shape[0]):
        i, j = first[m], second[m]
        a, u = (at[i, 0], at[i, 1], at[i, 2]), (along[i, 0], along[i, 1], along[i, 2])
        b, w = (at[j, 0], at[j, 1], at[j, 2]), (along[j, 0], along[j, 1], along[j, 2])
        s, t = nearest_on_segments(a, u, half_length[i], b, w, half_length[j])
        squares = 0.0
        for k in range(3):
            squares += (a[k] + s * u[k] - b[k] - t * w[k]) ** 2
        out[m] = np.sqrt(squares) - radius[i] - radius[j]


class SelfDistance:
    """The gaps between links of a system's robots.

    Parameters
    ----------
    system : System
        System, for the robots' collision shapes and the posture that it begins with.
    least_m : float
        Least distance of two links, m.

    Attributes
    ----------
    pairs : tuple of (str, str)
        Links that are kept apart.
    left_out : tuple of (str, str)
        Links that no joint connects, but of which capsules are nearer than that in the system's own posture; those
        capsules are left out, others of the same links count.
    """

    def __init__(self, system: System, least_m: float) -> None:
        robots = {robot.name for robot in system.config.robots}
        capsules = [item for shape in system.geometries if shape.owner in robots for item in cover(shape)]
        self._tree, self._least_m = system.tree, least_m
        self._q, self._n_q_u = system.q_default.copy(), system.n_q_u
        self._body = np.array([item.body for item in capsules], dtype=np.int64)
        self._centre = np.array([item.centre for item in capsules]).reshape(-1, 3)
        self._axis = np.array([item.axis for item in capsules]).reshape(-1, 3)
        self._half_length = np.array([item.half_length for item in capsules])
        self._radius = np.array([item.radius for item in capsules])
        indices = np.array(_apart(capsules, system.tree), dtype=np.int64).reshape(-1, 2)
        self._first, self._second = (np.ascontiguousarray(column) for column in indices.T)
        self._gaps = np.zeros(len(indices))
        names = [(capsules[i].link, capsules[j].link) for i, j in indices]
        is_kept = self.gaps(system.q_default[system.n_q_u :]) >= least_m
        self.left_out = tuple(sorted({pair for pair, kept in zip(names, is_kept, strict=True) if not kept}))
        self._first, self._second = self._first[is_kept], self._second[is_kept]
        self.pairs = tuple(pair for pair, kept in zip(names, is_kept, strict=True) if kept)
        self._gaps, self._before = np.zeros(len(self.pairs)), np.zeros(len(self.pairs))

    def gaps(self, u: FloatArray) -> FloatArray:
        """Return the gap of every pair at a posture (n_a,), m; reused by the next call."""
        self._q[self._n_q_u :] = u
        capsule_gaps(
            self._tree, self._q, self._body, self._centre, self._axis, self._half_length, self._radius,
            self._first, self._second, self._gaps,
        )  # fmt: skip
        return self._gaps

    def start_from(self, u: FloatArray) -> None:
        """Begin at rest at a posture (n_a,), rad: pairs that are too near there may only part."""
        self._before[:] = self.gaps(u)

    def find_approach(self, rest: FloatArray) -> int | None:
        """Return the pair that is too near where the setpoint would come to rest (n_a,), and nearer than before."""
        gaps = self.gaps(rest)
        closing = np.flatnonzero((gaps < self._least_m) & (gaps < self._before - NEARER_M))
        return int(closing[np.argmin(gaps[closing])]) if len(closing) else None

    def keep(self) -> None:
        """Take the gaps of the latest `find_approach` for those before the next."""
        self._before[:] = self._gaps

    def describe(self, pair: int) -> str:
        """Name the two links of a pair and their gap."""
        one, other = self.pairs[pair]
        return f"{one} and {other} would be {1e3 * self._gaps[pair]:.1f} mm apart, allowed {1e3 * self._least_m:g} mm"


def _apart(capsules: list[Capsule], tree: Tree) -> list[tuple[int, int]]:
    """Return the pairs of capsules on bodies that move against each other and that no joint connects."""
    parent = tree.parent
    return [
        (i, j)
        for (i, one), (j, other) in combinations(enumerate(capsules), 2)
        if one.body != other.body
        and (one.body < 0 or parent[one.body] != other.body)
        and (other.body < 0 or parent[other.body] != one.body)
    ]
