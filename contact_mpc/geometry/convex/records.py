"""Contacts of one pair while they are collected: a row of numbers each, since not all of them are kept.

Columns: of the feature of A x (3), rank, tangents (6), bend (3), radius; the same of B; n (3), s, the point (3), gap.
"""

from numba import njit

from contact_mpc.geometry.convex.motion import Feature
from contact_mpc.geometry.convex.support import part
from contact_mpc.geometry.vectors import Vector, axpy, dot, minus
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

OF_B, NORMAL, DISTANCE, POINT, GAP = 14, 28, 31, 32, 35
SAME_POINT_M = 1e-9


@njit(inline="always", **COMPILED)
def _write_feature(records: FloatArray, c: int, first: int, f: Feature) -> None:
    for k in range(3):
        records[c, first + k], records[c, first + 4 + k] = f.x[k], f.t_0[k]
        records[c, first + 7 + k], records[c, first + 10 + k] = f.t_1[k], f.bend[k]
    records[c, first + 3], records[c, first + 13] = f.rank, f.radius


@njit(inline="always", **COMPILED)
def read_feature(records: FloatArray, c: int, first: int) -> Feature:
    """Return the feature of A (first = 0) or of B (first = OF_B)."""
    return Feature(
        part(records, c, first), int(records[c, first + 3]), part(records, c, first + 4), part(records, c, first + 7),
        part(records, c, first + 10), records[c, first + 13],
    )  # fmt: skip


@njit(**COMPILED)
def _place(records: FloatArray, found: int, count: int, gap: float, x: Vector) -> int:
    """Return the row for a contact at x: a new one, else that of the largest gap (not the first) if larger, else -1.

    None for a point that is there already.
    """
    largest = 1
    for c in range(found):
        r = minus(part(records, c, POINT), x)
        if dot(r, r) < SAME_POINT_M * SAME_POINT_M:
            return -1
        if c > 0 and records[c, GAP] > records[largest, GAP]:
            largest = c
    if found < count:
        return found
    return largest if count > 1 and gap < records[largest, GAP] else -1


@njit(**INNER)
def add_record(records: FloatArray, found: int, count: int, f_A: Feature, f_B: Feature, n: Vector, s: float) -> int:
    """Keep a contact if it is among the `count` nearest; return how many are kept."""
    gap = s - f_A.radius - f_B.radius
    x = axpy(-f_A.radius - 0.5 * gap, n, f_A.x)
    c = _place(records, found, count, gap, x)
    if c < 0:
        return found
    _write_feature(records, c, 0, f_A)
    _write_feature(records, c, OF_B, f_B)
    for k in range(3):
        records[c, NORMAL + k], records[c, POINT + k] = n[k], x[k]
    records[c, DISTANCE], records[c, GAP] = s, gap
    return max(found, c + 1)
