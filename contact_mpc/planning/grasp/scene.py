"""What every step of a grasp search measures with: model, workspace and fingers of one system, laid out once.

Laying out a system of 60 contacts takes 24 ms, a balance of forces 3 ms.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import IntArray, Newton, make_newton, measure_gaps
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.fingers import finger_of_pairs, link_rows
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class Scene:
    """A system's model, a workspace that whoever measures overwrites; finger and links of each contact (n_c,)."""

    model: Model
    newton: Newton
    fingers: IntArray
    links: IntArray

    def gaps(self, q: FloatArray) -> FloatArray:
        """Return the signed distances (n_c,), m, at q (n_q,), until something else is measured."""
        return np.asarray(measure_gaps(self.model, self.newton, q))

    @property
    def supports(self) -> IntArray:
        """Contacts (n,) that no finger moves: what the object can lie on."""
        return np.flatnonzero(self.fingers < 0)

    def part(self, rows: IntArray) -> "Scene":
        """Return the scene of some contacts: indices (n,) in ascending order, of a pair of shapes all or none."""
        pairs = self.model.pairs
        arrays = {name: value for name, value in pairs._asdict().items() if isinstance(value, np.ndarray)}
        kept: dict[str, Any] = {name: value[rows] for name, value in arrays.items()}
        model = self.model._replace(pairs=pairs._replace(**kept), mu=self.model.mu[rows])
        return Scene(model, make_newton(model), self.fingers[rows], self.links[rows])


def make_scene(system: System) -> Scene:
    """Lay out a system."""
    model = build_model(system)
    return Scene(model, make_newton(model), finger_of_pairs(system), link_rows(system))
