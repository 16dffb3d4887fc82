"""Global search: every place on the links of one chain that explains the torques within noise, as local minima.

Over even samples of all surfaces the best force in a slightly wider cone is found first (wider by the angle that
normals turn between neighbours). With chi the residual in noise, |f| the force and s the spacing, no point within s
of a sample can explain the torques where

    chi > sqrt(limit) + |f| s sqrt(sum of weights^2),

since a torque changes by no more than |f| s. From every other sample the point slides down (`descent`). What ends
within the limit is kept, the best of those closer together than half a spacing; points that are connected through
neighbours are one hypothesis. limit is the quantile of chi^2 with as many degrees of freedom as torques: at the true
place the best force leaves no more than the noise itself, so that it is below with the probability `confidence`.

Source: seeds/001 "Contact discrimination": rejection sampling (global), gradient descent (local), all local minima.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.estimation.contact_location.descent import descend, is_covered
from contact_mpc.estimation.contact_location.surfaces import Samples, Surfaces
from contact_mpc.estimation.contact_location.torque_map import Arm, fit_at, to_force, to_world
from contact_mpc.geometry.vectors import rotate, row
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

IntArray = NDArray[np.int64]
STEPS = 8
TRUST_SPACINGS = 2.0  # longest step
KEEP_SPACINGS = 0.5  # of two minima closer than that the better one is kept
JOIN_SPACINGS = 2.0  # minima closer than that are one hypothesis
CHI2, SURFACE, X, P, N, F, SLOT, WIDTH = 0, 1, 2, 5, 8, 11, 14, 15  # columns of a minimum


@njit(**COMPILED)
def _reach(arm: Arm, body: int) -> float:
    """Return sqrt(sum of weights^2) of the joints below a body: largest change of chi per newton and metre."""
    total = 0.0
    for k in range(arm.chain_count[body]):
        total += arm.weight[arm.chain[body, k]] ** 2
    return float(np.sqrt(total))


@njit(**COMPILED)
def search(
    arm: Arm,
    surfaces: Surfaces,
    samples: Samples,
    members: IntArray,
    spacing: FloatArray,
    mu: float,
    wide: FloatArray,
    limit: float,
    found: FloatArray,
) -> tuple[int, float]:
    """Write the minima that explain the torques to the rows of found (n, WIDTH), unsorted; return how many.

    Also the smallest chi^2 met anywhere, or, where every link leaves more than the limit to joints that it does not
    move (a hand on an arm, touched on two fingers), the least that a link leaves to them. members: samples of the
    chain; spacing (n_s,), m, and wide (n_s,), the friction with which samples are tried, by surface.
    """
    buffer = np.zeros((7, 5))
    count, least, least_rest = 0, np.inf, np.inf
    for i in members:
        s = samples.surface[i]
        body = surfaces.body[s]
        if arm.rest[body] > limit:
            least_rest = min(least_rest, arm.rest[body])
            continue
        x = row(samples.x, i)
        p = to_world(arm, s, x)
        n = rotate(arm.R_WG, s, row(samples.normal, i))
        chi2, f, _ = fit_at(arm, body, p, n, wide[s])
        size = np.sqrt(f[0] ** 2 + f[1] ** 2 + f[2] ** 2)
        if np.sqrt(chi2) > np.sqrt(limit) + size * spacing[s] * _reach(arm, body):
            least = min(least, chi2)
            continue
        if is_covered(arm, surfaces, s, p):
            continue
        x, n_G, chi2, f = descend(arm, surfaces, s, x, mu, TRUST_SPACINGS * spacing[s], STEPS, 4.0 * limit, buffer)
        least = min(least, chi2)
        if chi2 > limit or f[0] <= 0.0:
            continue
        n = rotate(arm.R_WG, s, n_G)
        p, force = to_world(arm, s, x), to_force(n, f)
        found[count, CHI2], found[count, SURFACE] = chi2, s
        for k in range(3):
            found[count, X + k], found[count, P + k] = x[k], p[k]
            found[count, N + k], found[count, F + k] = n[k], force[k]
        count += 1
    return count, least if least < np.inf else least_rest


@njit(**COMPILED)
def _distance(found: FloatArray, i: int, j: int) -> float:
    dx, dy, dz = found[i, P] - found[j, P], found[i, P + 1] - found[j, P + 1], found[i, P + 2] - found[j, P + 2]
    return float(np.sqrt(dx * dx + dy * dy + dz * dz))


@njit(**COMPILED)
def thin(found: FloatArray, count: int, surfaces: Surfaces, spacing: FloatArray) -> tuple[FloatArray, int]:
    """Return the kept minima (n, WIDTH), the best first, with the number of their hypothesis in SLOT, and how many."""
    order = np.argsort(found[:count, CHI2])
    kept, n = np.empty((count, WIDTH)), 0
    for i in order:
        s = int(found[i, SURFACE])
        kept[n] = found[i]
        is_new = True
        for k in range(n):
            other = int(kept[k, SURFACE])
            same = surfaces.body[other] == surfaces.body[s]
            if same and _distance(kept, k, n) < KEEP_SPACINGS * min(spacing[s], spacing[other]):
                is_new = False
                break
        n += is_new
    return kept[:n], _number_groups(kept, n, surfaces, spacing)


@njit(**INNER)
def _number_groups(kept: FloatArray, n: int, surfaces: Surfaces, spacing: FloatArray) -> int:
    """Write the number of the connected group of each row to SLOT; groups are numbered by their best row."""
    kept[:n, SLOT] = -1.0
    waiting, groups = np.empty(n, dtype=np.int64), 0
    for i in range(n):
        if kept[i, SLOT] >= 0.0:
            continue
        kept[i, SLOT], waiting[0], left = float(groups), i, 1
        while left > 0:
            left -= 1
            k = waiting[left]
            s = int(kept[k, SURFACE])
            for j in range(n):
                other = int(kept[j, SURFACE])
                if kept[j, SLOT] < 0.0 and surfaces.body[other] == surfaces.body[s]:
                    if _distance(kept, k, j) < JOIN_SPACINGS * max(spacing[s], spacing[other]):
                        kept[j, SLOT], waiting[left] = float(groups), j
                        left += 1
        groups += 1
    return groups
