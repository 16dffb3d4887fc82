"""What differs between the plant and the model of the controller: friction, mass, size, start, imperfect drives."""

from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class PlantPerturbation:
    """Deviations of the plant from its system; the defaults are the nominal plant.

    Attributes
    ----------
    friction : float or None
        Friction coefficient of every contact pair in place of the system's.
    friction_scale : float
        Factor on the system's friction coefficients (when `friction` is None).
    mass_scale : float
        Factor on mass and inertia of the objects.
    size_scale : float
        Factor on the collision shapes of the objects, about the frames of their links; the mass stays, inertias
        follow.
    object_offset_m : (3,) tuple
        Added to the position of every object at reset, in W, m.
    object_yaw_rad : float
        Turn of every object about the vertical through its origin at reset, rad.
    torque_ripple_fraction : float
        Amplitude of the ripple, as a fraction of the effort limit.
    torque_ripple_periods_per_turn : int
        Periods of the ripple in one turn of the joint.
    hysteresis_fraction : float
        Coulomb friction of the drives, as a fraction of the effort limit.
    hysteresis_width_rad : float
        Joint motion over which that friction turns round (by 1 - 1/e), rad.
    seed : int
        Seed of the phases of the ripple.
    """

    friction: float | None = None
    friction_scale: float = 1.0
    mass_scale: float = 1.0
    size_scale: float = 1.0
    object_offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    object_yaw_rad: float = 0.0
    torque_ripple_fraction: float = 0.0
    torque_ripple_periods_per_turn: int = 24
    hysteresis_fraction: float = 0.0
    hysteresis_width_rad: float = 0.002
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("mass_scale", "size_scale", "hysteresis_width_rad", "torque_ripple_periods_per_turn"):
            self._require(name, getattr(self, name) > 0.0, "> 0")
        for name in ("friction_scale", "torque_ripple_fraction", "hysteresis_fraction"):
            self._require(name, getattr(self, name) >= 0.0, ">= 0")
        self._require("friction", self.friction is None or self.friction >= 0.0, ">= 0, or None")
        offset = np.array(self.object_offset_m)
        self._require("object_offset_m", offset.shape == (3,) and bool(np.all(np.isfinite(offset))), "three finite m")

    def _require(self, name: str, is_valid: bool, allowed: str) -> None:
        if not is_valid:
            raise InputError(f"plant perturbation {name} = {getattr(self, name)}; allowed: {allowed}")

    def pair_friction(self, system: System) -> FloatArray:
        """Return the friction coefficient of each of system.pairs in the plant."""
        nominal = np.array([pair.mu for pair in system.pairs])
        return nominal * self.friction_scale if self.friction is None else np.full_like(nominal, self.friction)

    def displace_objects(self, system: System, q: FloatArray) -> FloatArray:
        """Return q (n_q,) with every object moved by object_offset_m and turned, as far as its joints allow."""
        q = np.array(q, dtype=np.float64)
        if not any(self.object_offset_m) and not self.object_yaw_rad:
            return q
        turn = rotation_exp(np.array([0.0, 0.0, self.object_yaw_rad]))
        for index in range(len(system.object_names)):
            R_WB, p_WB = system.object_pose(q, index)
            q[: system.n_q_u] = system.q_from_object_pose(turn @ R_WB, p_WB + np.array(self.object_offset_m), q, index)
        return q


class DriveDisturbance:
    """Torques that imperfect drives add, unseen by motor currents: ripple and friction with memory.

    Ripple: tau_r = A sin(n q + phase), one seeded phase per joint. Friction with hysteresis: tau_h = -F z with the
    state z in [-1, 1] of Dahl's model, dz = (1 - z sign(dq)) dq / w, integrated exactly over each step:
    z' = s + (z - s) exp(-|dq| / w), s = sign(dq). It opposes motion, and holds the joint when the motion ends.

    Source: P. Dahl, "A solid friction model", Aerospace Corporation TOR-0158, 1968.
    """

    def __init__(self, system: System, perturbation: PlantPerturbation) -> None:
        self._ripple_nm = perturbation.torque_ripple_fraction * system.tau_max_nm
        self._friction_nm = perturbation.hysteresis_fraction * system.tau_max_nm
        self._periods = perturbation.torque_ripple_periods_per_turn
        self._width_rad = perturbation.hysteresis_width_rad
        self._phase = np.random.default_rng(perturbation.seed).uniform(0.0, 2.0 * np.pi, system.n_a)
        self.is_active = bool(np.any(self._ripple_nm > 0.0) or np.any(self._friction_nm > 0.0))
        self.reset(system.q_default[system.n_q_u :])

    def reset(self, q_a: FloatArray) -> None:
        """Forget the past; the friction is relaxed at q_a (n_a,)."""
        self._q_a = np.array(q_a, dtype=np.float64)
        self._z = np.zeros_like(self._q_a)

    def compute_torque(self, q_a: FloatArray) -> FloatArray:
        """Return the torque (n_a,), N m, with the joints now at q_a (n_a,), rad."""
        dq = q_a - self._q_a
        sign = np.sign(dq)
        self._z = sign + (self._z - sign) * np.exp(-np.abs(dq) / self._width_rad)
        self._q_a = np.array(q_a)
        return self._ripple_nm * np.sin(self._periods * q_a + self._phase) - self._friction_nm * self._z
