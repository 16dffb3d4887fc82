"""Which plant was it: the friction and the size of the objects that explain best how they moved, by roll-outs.

After each part in a grasp the motion that was seen is compared with the motions of candidates c = (friction, size)
under the same commands from the same state. With e_k(c) the distance of the objects at row k in the global metric,

    J(c) = sum over parts of min(mean_k e_k(c)^2 / sigma^2, most) + ((size - 1) / sigma_size)^2,

sigma = sigma_0 + share * (way of the objects). A part counts `most` at most: a grasp that slipped tells little of the
size. Candidates whose J is `dropped` above the least are not rolled out any more. Parts are corrected in the plant of
the least J(c) + min(r(c)^2 / sigma_rest^2, most_at_rest), where r(c) is how far the objects move in a roll-out that
begins where they rest now, under the command in force: what is held would fall from between fingers that do not reach a
smaller object, and be pushed away by those that overlap a larger one. What is corrected in such a plant is of no use.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class IdentificationConfig:
    """What is compared, and how.

    Attributes
    ----------
    frictions, sizes : tuple of float
        Factors on the system's friction and on the objects' shapes; every pair is a candidate, 1 and 1 among them.
    sigma_rad : float
        sigma_0: errors of a roll-out with the right friction and size, global metric, rad.
    sigma_share : float
        The same per way of the objects.
    sigma_rest_rad : float
        Way of an object at rest in a roll-out with the right friction and size, global metric, rad.
    sigma_size : float
        Standard deviation of sizes that are expected.
    most : float
        That a part counts at most.
    most_at_rest : float
        That the present rest counts at most.
    dropped : float
        Difference of J from which a candidate is given up.
    """

    frictions: tuple[float, ...] = (1.0, 0.75, 0.55)
    sizes: tuple[float, ...] = (1.0, 0.985, 1.015, 0.97, 1.03)
    sigma_rad: float = 0.005
    sigma_share: float = 0.1
    sigma_rest_rad: float = 0.02
    sigma_size: float = 0.03
    most: float = 10.0
    most_at_rest: float = 40.0
    dropped: float = 12.0

    @property
    def candidates(self) -> tuple[tuple[float, float], ...]:
        """Pairs of friction and size, the nominal one first."""
        return tuple((friction, size) for friction in self.frictions for size in self.sizes)


class PlantIdentification:
    """Costs of the candidates; see the module."""

    def __init__(self, config: IdentificationConfig | None = None) -> None:
        self.config = config or IdentificationConfig()
        sizes = np.array([size for _, size in self.config.candidates])
        self._costs = ((sizes - 1.0) / self.config.sigma_size) ** 2
        self._at_rest = np.zeros(len(sizes))

    @property
    def alive(self) -> NDArray[np.intp]:
        """Indices of the candidates that are not given up."""
        return np.flatnonzero(self._costs <= np.min(self._costs) + self.config.dropped)

    def learn(self, errors_rad: FloatArray, way_rad: float) -> None:
        """Add a part: errors (alive, rows) of the objects in the global metric, and their way in it."""
        sigma = self.config.sigma_rad + self.config.sigma_share * way_rad
        self._costs[self.alive] += np.minimum(np.mean(errors_rad**2, axis=1) / sigma**2, self.config.most)

    def learn_rest(self, ways_rad: FloatArray) -> None:
        """Set how far the objects move in roll-outs from where they rest now (alive,), global metric."""
        self._at_rest[:] = 0.0
        most = self.config.most_at_rest
        self._at_rest[self.alive] = np.minimum((ways_rad / self.config.sigma_rest_rad) ** 2, most)

    @property
    def best(self) -> tuple[float, float]:
        """Friction and size of the least cost; the nominal ones before anything was learned."""
        alive = self.alive
        return self.config.candidates[int(alive[np.argmin(self._costs[alive] + self._at_rest[alive])])]
