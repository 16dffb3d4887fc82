"""Random contacts with the torques that they make, by pinocchio: what contact location is judged with.

Only the place on the surface comes from the package; Jacobians are those of pinocchio, from the URDF. A contact is
drawn evenly over what can be touched of the given links, its normal force log-uniformly, its direction evenly in the
friction cone (over the disk of tangential forces).
"""

from typing import Any, NamedTuple

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.estimation.contact_location.descent import is_covered
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.surfaces import retract
from contact_mpc.estimation.contact_location.torque_map import tangents, to_force, to_world
from contact_mpc.geometry.vectors import axpy, rotate, row, scaled
from contact_mpc.model.gravity_torque import pinocchio_model
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import robot_base
from contact_mpc.settings.arrays import FloatArray

TRIES = 1000


class TrueContact(NamedTuple):
    """Link, its surface s, point p (3,), m, outward normal n (3,) and force f (3,), N, on the link, world frame."""

    link: str
    body: int
    surface: int
    p: FloatArray
    n: FloatArray
    f: FloatArray


class PinocchioTorques:
    """tau_ext = J_p' f of points on links, by pinocchio's frame Jacobians, for a system with one robot at its base."""

    def __init__(self, system: System) -> None:
        import pinocchio  # its import takes a third of a second

        robot = system.config.robots[0]
        self._pin, self._system, self._owner = pinocchio, system, robot.name
        self._model = pinocchio_model(system.urdfs[robot.name])
        self._data = self._model.createData()
        self._columns = [self._model.joints[self._model.getJointId(name)].idx_q for name in system.joint_names]
        self._base = robot_base(robot)

    def place(self, q_a: FloatArray) -> None:
        """Compute kinematics at q_a (n_a,)."""
        q = np.zeros(self._model.nq)
        q[self._columns] = q_a
        self._pin.computeJointJacobians(self._model, self._data, q)
        self._pin.updateFramePlacements(self._model, self._data)

    def torques(self, link: str, p: FloatArray, f: FloatArray) -> FloatArray:
        """Return tau_ext (n_a,), N m, of a force f (3,), N, at p (3,), m, on a link, world frame."""
        frame = self._model.getFrameId(link)
        J: Any = self._pin.getFrameJacobian(self._model, self._data, frame, self._pin.LOCAL_WORLD_ALIGNED)
        arm = self._base.R.T @ (p - self._base.p) - self._data.oMf[frame].translation
        force = self._base.R.T @ f
        tau = J[:3].T @ force + J[3:].T @ np.cross(arm, force)
        return np.asarray(tau[self._columns])


class ContactDraw:
    """Draws configurations and contacts for a locator, from a seed.

    Parameters
    ----------
    links : tuple of str
        Links that may be touched.
    force_n : (float, float)
        Range of the normal force, N; log-uniform.
    """

    def __init__(
        self, locator: ContactLocator, links: tuple[str, ...], force_n: tuple[float, float], seed: int
    ) -> None:
        self._locator, self._system = locator, locator.system
        self._rng, self._force_n = np.random.default_rng(seed), force_n
        names = [self._system.geometries[g].link for g in locator.surfaces.geometry]
        allowed = [s for s, name in enumerate(names) if name in links]
        if not allowed:
            raise InputError(f"links {', '.join(links)}: none can be touched; allowed: {', '.join(sorted(set(names)))}")
        self._names, self._torques = names, PinocchioTorques(self._system)
        self._rows = np.flatnonzero(np.isin(locator.samples.surface, allowed))
        weight = locator.samples.area[self._rows]
        self._share = weight / weight.sum()

    def configuration(self) -> FloatArray:
        """Return q_a (n_a,) drawn evenly within nine tenths of the limits, and move locator and truth there."""
        system = self._system
        middle, half = 0.5 * (system.q_max + system.q_min), 0.45 * (system.q_max - system.q_min)
        q_a = middle + half * self._rng.uniform(-1.0, 1.0, system.n_a)
        self._locator.place(q_a)
        self._torques.place(q_a)
        return np.asarray(q_a)

    def contact(self) -> TrueContact:
        """Return a contact at the configuration that was drawn last."""
        locator, rng = self._locator, self._rng
        surfaces, samples, arm = locator.surfaces, locator.samples, locator.arm
        for _ in range(TRIES):
            i = int(rng.choice(self._rows, p=self._share))
            s = int(samples.surface[i])
            t_1, t_2 = tangents(row(samples.normal, i))
            a, b = locator.spacing[s] * rng.uniform(-0.5, 0.5, 2)
            x, n_G = retract(surfaces, s, axpy(1.0, row(samples.x, i), axpy(a, t_1, scaled(b, t_2))))
            p = to_world(arm, s, x)
            if not is_covered(arm, surfaces, s, p):
                n = rotate(arm.R_WG, s, n_G)
                f = np.array(to_force(n, self._force()))
                return TrueContact(self._names[s], int(surfaces.body[s]), s, np.array(p), np.array(n), f)
        raise InputError(f"links {', '.join(sorted(set(self._names)))}: none of {TRIES} drawn points can be touched")

    def _force(self) -> tuple[float, float, float]:
        low, high = np.log(self._force_n)
        normal = float(np.exp(self._rng.uniform(low, high)))
        around = self._rng.uniform(0.0, 2.0 * np.pi)
        sideways = self._locator.config.friction * normal * float(np.sqrt(self._rng.uniform()))
        return normal, sideways * float(np.cos(around)), sideways * float(np.sin(around))

    def torques(self, contacts: list[TrueContact]) -> FloatArray:
        """Return the exact tau_ext (n_a,), N m, of contacts."""
        tau = np.zeros(self._system.n_a)
        for item in contacts:
            tau += self._torques.torques(item.link, item.p, item.f)
        return tau

    def noise(self, sigma_nm: float) -> FloatArray:
        """Return white noise (n_a,), N m."""
        return np.asarray(sigma_nm * self._rng.standard_normal(self._system.n_a))
