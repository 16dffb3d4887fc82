"""One contact followed over time by a particle filter: while the robot moves, only the true minimum keeps explaining.

A particle is a place on a surface. From one set of torques to the next it walks on the surface by `walk_m` (standard
deviation), and its weight is multiplied by exp(-chi^2 / (2 INFLATION^2)) with chi^2 the squared residual of its best
force. INFLATION stands for errors of torques that stay (bias, friction of joints): single torques show them as noise,
many in a row would take them for evidence. The filter begins at the minima of the global search, and at each update a
share `fresh` of the particles begins there again, so that a contact that moves on or jumps is found.

Wrong where the place of the contact on its link changes faster than it walks, or where there are two contacts.

Source: seeds/001 "Contact discrimination": "the best we can do from joint torque measurements (without tracking) is
finding the local minima"; contact particle filter: L. Manuelli, R. Tedrake, IROS 2016.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.errors import InputError
from contact_mpc.estimation.contact_location.locator import Chain, ContactLocator
from contact_mpc.estimation.contact_location.surfaces import Surfaces, retract
from contact_mpc.estimation.contact_location.torque_map import Arm, fit_at, to_force, to_world
from contact_mpc.geometry.vectors import rotate
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

IntArray = NDArray[np.int64]
INFLATION = 2.0  # of the torques' noise
NEAR_M = 0.03  # particles that close to the heaviest one are one contact


@dataclass(frozen=True)
class TrackedContact:
    """Where the particles gather.

    Attributes
    ----------
    link : str
        Link of the heaviest particle.
    body : int
        Body that carries it.
    p, f : (3,) arrays
        Weighted means of place, m, and force on the link, N, of the particles near it, world frame.
    share : float
        Their share of all weights: 1 where nothing else explains what was felt.
    """

    link: str
    body: int
    p: FloatArray
    f: FloatArray
    share: float


@njit(**COMPILED)
def _walk_and_weigh(
    arm: Arm, surfaces: Surfaces, surface: IntArray, x: FloatArray, steps: FloatArray, mu: float, out: FloatArray
) -> None:
    """Move particles x (n, 3) on their surfaces by steps (n, 3), m; write chi^2, place and force to out (n, 7)."""
    for i in range(surface.shape[0]):
        s = surface[i]
        moved, n_G = retract(surfaces, s, (x[i, 0] + steps[i, 0], x[i, 1] + steps[i, 1], x[i, 2] + steps[i, 2]))
        p, n = to_world(arm, s, moved), rotate(arm.R_WG, s, n_G)
        chi2, f, _ = fit_at(arm, surfaces.body[s], p, n, mu)
        force = to_force(n, f)
        out[i, 0] = chi2
        for k in range(3):
            x[i, k], out[i, 1 + k], out[i, 4 + k] = moved[k], p[k], force[k]


class ContactTracker:
    """Follows one contact on one chain of a locator.

    Parameters
    ----------
    chain : int
        Which of the locator's chains.
    particles : int
        How many.
    walk_m : float
        How far a particle walks from one set of torques to the next, standard deviation per axis, m.
    fresh : float
        Share of the particles that begin again at the minima of the global search.
    seed : int
        Of all random numbers.
    """

    def __init__(
        self,
        locator: ContactLocator,
        chain: int = 0,
        particles: int = 500,
        walk_m: float = 0.002,
        fresh: float = 0.05,
        seed: int = 0,
    ) -> None:
        if particles < 10 or not 0.0 <= fresh < 1.0 or walk_m <= 0.0:
            raise InputError(
                f"particles = {particles}, fresh = {fresh}, walk_m = {walk_m}: allowed are 10 and more, 0 to below 1, "
                "and more than 0"
            )
        self._locator, self._chain_index = locator, chain
        self._count, self._walk_m, self._fresh = particles, walk_m, fresh
        self._rng = np.random.default_rng(seed)
        self.reset()

    @property
    def _chain(self) -> Chain:
        return self._locator.chains[self._chain_index]

    def reset(self) -> None:
        """Forget everything."""
        self._surface = np.zeros(0, dtype=np.int64)
        self._x, self._weights = np.zeros((0, 3)), np.zeros(0)

    def update(self, q_a: FloatArray, tau_ext: FloatArray) -> TrackedContact | None:
        """Take one set of torques as `ContactLocator.locate` does; None while nothing is felt, or explained."""
        found = self._locator.locate(q_a, tau_ext)[self._chain_index]
        if found.status == "free" or (found.status == "unexplained" and not len(self._surface)):
            self.reset()
            return None
        rows = self._locator.minima(self._chain)
        self._begin(rows)
        arm = self._locator.set_torques(self._chain, tau_ext)
        out, steps = np.zeros((self._count, 7)), self._walk_m * self._rng.standard_normal((self._count, 3))
        friction = self._locator.config.friction
        _walk_and_weigh(arm, self._locator.surfaces, self._surface, self._x, steps, friction, out)
        logs = np.log(self._weights) - 0.5 * out[:, 0] / INFLATION**2
        weights = np.exp(logs - logs.max())
        self._weights = weights / weights.sum()
        contact = self._gather(out)
        if 1.0 / np.sum(self._weights**2) < 0.5 * self._count:
            self._choose(self._draw_by_weight(self._count))
        return contact

    def _begin(self, minima: tuple[IntArray, FloatArray]) -> None:
        """Place particles at the minima (surface (n,), x (n, 3)): all at first, then the share `fresh`."""
        surface, x = minima
        if not len(surface):
            return
        first = not len(self._surface)
        number = self._count if first else int(self._fresh * self._count)
        chosen = self._rng.integers(len(surface), size=number)
        if first:
            self._surface, self._x = surface[chosen], x[chosen].copy()
            self._weights = np.full(self._count, 1.0 / self._count)
            return
        self._choose(self._draw_by_weight(self._count))
        self._surface[:number], self._x[:number] = surface[chosen], x[chosen]

    def _draw_by_weight(self, count: int) -> IntArray:
        """Return places in the particles, each as often as its weight says (systematic resampling)."""
        at = (self._rng.uniform() + np.arange(count)) / count
        return np.minimum(np.searchsorted(np.cumsum(self._weights), at), count - 1)

    def _choose(self, chosen: IntArray) -> None:
        self._surface, self._x = self._surface[chosen].copy(), self._x[chosen].copy()
        self._weights = np.full(self._count, 1.0 / self._count)

    def _gather(self, out: FloatArray) -> TrackedContact:
        surfaces, p = self._locator.surfaces, out[:, 1:4]
        bodies = surfaces.body[self._surface]
        heaviest = int(np.argmax(self._weights))
        near = (bodies == bodies[heaviest]) & (np.linalg.norm(p - p[heaviest], axis=1) < NEAR_M)
        share = float(self._weights[near].sum())
        w = self._weights[near] / share
        item = self._locator.system.geometries[surfaces.geometry[self._surface[heaviest]]]
        return TrackedContact(item.link, int(bodies[heaviest]), w @ p[near], w @ out[near, 4:7], share)
