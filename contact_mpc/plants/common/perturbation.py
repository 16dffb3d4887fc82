"""What differs between the plant and the model of the controller: friction, mass, size, start, imperfect drives."""

from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

Finite = Annotated[float, Field(allow_inf_nan=False)]


class PlantPerturbation(BaseModel):
    """Deviations of the plant from its system, parameters of the plant node; the defaults are the nominal plant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    friction: Annotated[Finite, Field(ge=0.0)] | None = Field(
        default=None, description="friction coefficient of every contact; unset: the system's"
    )
    friction_scale: Finite = Field(
        default=1.0, ge=0.0, description="factor on the system's friction coefficients, where friction is unset"
    )
    mass_scale: Finite = Field(default=1.0, gt=0.0, description="factor on mass and inertia of the objects")
    size_scale: Finite = Field(
        default=1.0,
        gt=0.0,
        description="factor on the collision shapes of the objects, about the frames of their links",
    )
    object_offset_m: tuple[Finite, Finite, Finite] = Field(
        default=(0.0, 0.0, 0.0),
        description="offset of the objects at the start, world frame",
        json_schema_extra={"unit": "m"},
    )
    object_yaw_rad: Finite = Field(
        default=0.0,
        description="turn of the objects about the vertical at the start",
        json_schema_extra={"unit": "rad"},
    )
    torque_ripple_fraction: Finite = Field(default=0.0, ge=0.0, le=1.0, description="torque ripple over effort limit")
    torque_ripple_periods_per_turn: int = Field(
        default=24, ge=1, description="periods of the ripple in a turn of the joint"
    )
    hysteresis_fraction: Finite = Field(
        default=0.0, ge=0.0, le=1.0, description="friction of the drives over effort limit"
    )
    hysteresis_width_rad: Finite = Field(
        default=0.002,
        gt=0.0,
        description="motion over which that friction turns round, by 1 - 1/e",
        json_schema_extra={"unit": "rad"},
    )
    seed: int = Field(default=0, ge=0, description="of the ripple's phases; in the plant node its own seed counts")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise InputError(f"plant perturbation {name} = {first['input']!r}: {first['msg']}") from error

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
