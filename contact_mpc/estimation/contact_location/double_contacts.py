"""Two contacts at once on one chain: pairs of places on different links that together explain the torques.

From random pairs of samples, by turns, each contact gets the torques that the other leaves: first only the forces,
then place and force by `descent`. Pairs that end within the limit of `search` are kept, the better of those whose two
places are both closer than `apart_m`.

Two contacts have ten unknowns. Seven joints leave a family of at least three parameters, all of which explain the
torques exactly: what is returned are samples of it, and more starts give more of them. Torques alone tell
which links can be meant and where they cannot have been touched, not where they were.

Source: seeds/001 "Contact discrimination".
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.estimation.contact_location.descent import descend, is_covered
from contact_mpc.estimation.contact_location.locator import Chain, ContactLocator
from contact_mpc.estimation.contact_location.surfaces import Samples, Surfaces
from contact_mpc.estimation.contact_location.torque_map import Arm, measure_rest, to_force, to_world
from contact_mpc.geometry.vectors import Vector, dof_velocity, dot, rotate, row
from contact_mpc.model.system import check_vector
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

IntArray = NDArray[np.int64]
FORCE_TURNS, TURNS = 3, 15
STEPS = 2  # of a descent in one turn
LONGEST_M = 0.02
SLOW_SHARE = 0.02  # a turn that gains less, above the limit, is the last
WIDTH = 17  # chi^2, then for each contact surface (1), place (3), force (3) and one spare


class DoubleContact(NamedTuple):
    """Two contacts: links, bodies, points (2, 3), m, forces (2, 3), N, in the world, and chi^2 of all torques."""

    links: tuple[str, str]
    bodies: tuple[int, int]
    points: FloatArray
    forces: FloatArray
    chi2: float


@njit(**INNER)
def _leave_to_other(arm: Arm, whole: FloatArray, body: int, p: Vector, force: Vector) -> None:
    """Set the target to what a contact leaves of the whole (n_v,), in noise."""
    arm.target[:] = whole
    for k in range(arm.chain_count[body]):
        d = arm.chain[body, k]
        v = dof_velocity(arm.kind[d], row(arm.axes, d), row(arm.origins, d), p)
        arm.target[d] -= arm.weight[d] * dot(v, force)
    measure_rest(arm)


@njit(**COMPILED)
def _search_pairs(
    arm: Arm,
    surfaces: Surfaces,
    samples: Samples,
    starts: IntArray,
    mu: float,
    limit: float,
    found: FloatArray,
) -> int:
    """Write pairs that explain the torques to the rows of found (n, WIDTH); return how many. starts: (n, 2) samples."""
    whole, buffer, count = arm.target.copy(), np.zeros((7, 5)), 0
    place, force = np.zeros((2, 3)), np.zeros((2, 3))
    for pair in range(starts.shape[0]):
        hidden = False
        for k in range(2):
            i = starts[pair, k]
            place[k], force[k] = samples.x[i], 0.0
            hidden |= is_covered(
                arm, surfaces, samples.surface[i], to_world(arm, samples.surface[i], row(samples.x, i))
            )
        if hidden:
            continue
        chi2 = np.inf
        for turn in range(TURNS):
            before = chi2
            for k in range(2):
                s, other = samples.surface[starts[pair, k]], samples.surface[starts[pair, 1 - k]]
                _leave_to_other(
                    arm, whole, surfaces.body[other], to_world(arm, other, row(place, 1 - k)), row(force, 1 - k)
                )
                steps = 0 if turn < FORCE_TURNS else STEPS
                x, n, chi2, f = descend(arm, surfaces, s, row(place, k), mu, LONGEST_M, steps, np.inf, buffer)
                f_W = to_force(rotate(arm.R_WG, s, n), f)
                for axis in range(3):
                    place[k, axis], force[k, axis] = x[axis], f_W[axis]
            if chi2 <= 0.5 * limit or (turn > FORCE_TURNS and chi2 > limit and before - chi2 < SLOW_SHARE * before):
                break
        if chi2 > limit or np.all(force[0] == 0.0) or np.all(force[1] == 0.0):
            continue
        found[count, 0] = chi2
        for k in range(2):
            s, at = samples.surface[starts[pair, k]], 1 + 8 * k
            p = to_world(arm, s, row(place, k))
            found[count, at] = s
            for axis in range(3):
                found[count, at + 1 + axis], found[count, at + 4 + axis] = p[axis], force[k, axis]
        count += 1
    arm.target[:] = whole
    measure_rest(arm)
    return count


class DoubleContacts:
    """Looks for pairs of contacts on the chains of a locator.

    Parameters
    ----------
    starts : int
        Random pairs to begin from.
    apart_m : float
        Of two pairs whose places are both closer the better one is kept, m.
    seed : int
        Of the starts.
    """

    def __init__(self, locator: ContactLocator, starts: int = 2000, apart_m: float = 0.015, seed: int = 0) -> None:
        self._locator, self._starts, self._apart_m = locator, starts, apart_m
        self._rng = np.random.default_rng(seed)

    def locate(self, q_a: FloatArray, tau_ext: FloatArray) -> list[list[DoubleContact]]:
        """Return, for each chain, pairs of contacts that explain its torques, the best first.

        q_a, tau_ext : (n_a,) arrays, rad (m) and N m (N), as for `ContactLocator.locate`.
        """
        self._locator.place(q_a)
        tau = check_vector("tau_ext", tau_ext, self._locator.system.n_a)
        return [self._locate_chain(chain, tau) for chain in self._locator.chains]

    def _locate_chain(self, chain: Chain, tau: FloatArray) -> list[DoubleContact]:
        locator = self._locator
        arm = locator.set_torques(chain, tau)
        starts = self._draw_starts(chain, arm)
        found = np.zeros((len(starts), WIDTH))
        friction = locator.config.friction
        count = _search_pairs(arm, locator.surfaces, locator.samples, starts, friction, chain.limit, found)
        return [self._read(item) for item in self._thin(found[:count][np.argsort(found[:count, 0])])]

    def _draw_starts(self, chain: Chain, arm: Arm) -> IntArray:
        """Return pairs (n, 2) on different links: the outer one where no torque beyond it is felt."""
        locator = self._locator
        body = locator.surfaces.body[locator.samples.surface[chain.members]]
        outer = self._rng.choice(chain.members[arm.rest[body] <= chain.limit], self._starts)
        inner = self._rng.choice(chain.members, self._starts)
        bodies = locator.surfaces.body[locator.samples.surface]
        return np.column_stack([outer, inner])[bodies[outer] != bodies[inner]]

    def _thin(self, rows: FloatArray) -> list[FloatArray]:
        kept: list[FloatArray] = []
        for item in rows:
            if not any(self._is_same(item, other) for other in kept):
                kept.append(item)
        return kept

    def _is_same(self, a: FloatArray, b: FloatArray) -> bool:
        def near(i: int, k: int) -> bool:
            return float(np.sum((a[i : i + 3] - b[k : k + 3]) ** 2)) < self._apart_m**2

        return (near(2, 2) and near(10, 10)) or (near(2, 10) and near(10, 2))

    def _read(self, item: FloatArray) -> DoubleContact:
        surfaces, geometries = self._locator.surfaces, self._locator.system.geometries
        s, t = int(item[1]), int(item[9])
        first, second = geometries[surfaces.geometry[s]], geometries[surfaces.geometry[t]]
        points, forces = np.array([item[2:5], item[10:13]]), np.array([item[5:8], item[13:16]])
        return DoubleContact((first.link, second.link), (first.body, second.body), points, forces, float(item[0]))
