"""The classic method: the line of action of the external wrench, intersected with the links.

The last joint whose torque is more than noise says on which link the contact is: the one that it moves, since joints
after the contact feel nothing. With J (6, k) the geometric Jacobian of that link about the world's origin and k joints
below it,

    (f, m) = pinv(J') tau,        line: p_0 + t f / |f|,   p_0 = f x m / |f|^2

and the contact is where the line enters the surface of the link, or of one further down (a torque-free joint whose
axis the line meets feels nothing either). With k < 6 the pseudo-inverse takes the smallest wrench of many, and the line
is wrong by what it leaves out; m along f, which no line has, is left out as well.

Source: seeds/001 "Contact discrimination"; S. Haddadin, A. De Luca, A. Albu-Schaeffer, "Robot collisions: a survey on
detection, isolation, and identification", IEEE T-RO 33 (6), 2017.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.estimation.contact_location.locator import Chain, ContactLocator
from contact_mpc.estimation.contact_location.surfaces import Surfaces, height_over, retract
from contact_mpc.geometry.vectors import Vector, axpy
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import check_vector
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

FELT_SIGMAS = 3.0  # a torque beyond that is more than noise
SECTIONS = 48  # golden sections: to 1e-10 of the range
BISECTIONS = 40
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Crossing(NamedTuple):
    """Where the line enters a link: p (3,), m, outward normal n (3,) and force f (3,), N, in the world frame."""

    owner: str
    link: str
    body: int
    p: FloatArray
    n: FloatArray
    f: FloatArray


@njit(**COMPILED)
def enter(surfaces: Surfaces, s: int, start: Vector, along: Vector, reach: float) -> float:
    """Return t where start + t along enters the surface, for |t| <= reach, or inf where it does not.

    The height over a convex shape is convex along a line: its minimum by golden sections, then bisection before it.
    """
    low, high = -reach, reach
    for _ in range(SECTIONS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if height_over(surfaces, s, axpy(a, along, start)) < height_over(surfaces, s, axpy(b, along, start)):
            high = b
        else:
            low = a
    inside, outside = 0.5 * (low + high), -reach
    if height_over(surfaces, s, axpy(inside, along, start)) >= 0.0:
        return np.inf
    for _ in range(BISECTIONS):
        middle = 0.5 * (inside + outside)
        if height_over(surfaces, s, axpy(middle, along, start)) < 0.0:
            inside = middle
        else:
            outside = middle
    return 0.5 * (inside + outside)


class LineOfAction:
    """The classic method on the chains and surfaces of a locator."""

    def __init__(self, locator: ContactLocator) -> None:
        self._locator = locator

    def locate(self, q_a: FloatArray, tau_ext: FloatArray) -> list[list[Crossing]]:
        """Return, for each chain, the entries of the line into the links, the nearest to the last felt joint first.

        q_a, tau_ext : (n_a,) arrays, rad (m) and N m (N), as for `ContactLocator.locate`.
        """
        locator = self._locator
        locator.place(q_a)
        tau = check_vector("tau_ext", tau_ext, locator.system.n_a)
        return [self._locate_chain(chain, tau) for chain in locator.chains]

    def _locate_chain(self, chain: Chain, tau: FloatArray) -> list[Crossing]:
        locator = self._locator
        felt = chain.rows[np.abs(tau[chain.rows]) > FELT_SIGMAS * locator.config.sigma_nm]
        if not len(felt):
            return []
        last = int(felt[-1]) + locator.system.n_v_u
        first_body = int(locator.system.tree.dof_body[last])
        f, m = self._wrench(first_body, tau)
        size = float(np.linalg.norm(f))
        if size < 1e-9:
            return []
        start, along = np.cross(f, m) / size**2, f / size
        found = [self._crossing(s, start, along, f) for s in self._below(last)]
        return [item for item in found if item is not None]

    def _below(self, last: int) -> list[int]:
        """Return the surfaces of links that the joint moves."""
        tree, bodies = self._locator.system.tree, self._locator.surfaces.body
        return [s for s, body in enumerate(bodies) if last in tree.chain[body, : tree.chain_count[body]]]

    def _wrench(self, body: int, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return force, N, and moment about the world's origin, N m, on a body."""
        system, arm = self._locator.system, self._locator.arm
        dofs = system.tree.chain[body, : system.tree.chain_count[body]]
        axes, origins = arm.axes[dofs], arm.origins[dofs]
        is_revolute = (arm.kind[dofs] == REVOLUTE)[:, None]
        J = np.hstack([np.where(is_revolute, np.cross(origins, axes), axes), np.where(is_revolute, axes, 0.0)])
        wrench = np.linalg.pinv(J) @ tau[dofs - system.n_v_u]
        return wrench[:3], wrench[3:]

    def _crossing(self, s: int, start: FloatArray, along: FloatArray, f: FloatArray) -> Crossing | None:
        locator = self._locator
        R, p = locator.arm.R_WG[s], locator.arm.p_WG[s]
        centre = locator.surfaces.centre[s]
        local, d = R.T @ (start - p), R.T @ along
        local = local + d * float(d @ (centre - local))  # the point of the line nearest to the shape
        t = enter(locator.surfaces, s, _vector(local), _vector(d), 1.0)
        if not np.isfinite(t):
            return None
        x, n = retract(locator.surfaces, s, _vector(local + t * d))
        item = locator.system.geometries[locator.surfaces.geometry[s]]
        return Crossing(item.owner, item.link, item.body, p + R @ np.array(x), R @ np.array(n), f)


def _vector(x: FloatArray) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])
