"""Trials: what each run of an evaluation draws at random, from one integer that replays it.

A trial draws start offset and turn of the object in a random direction, friction, size and mass of the object, the
phases of the torque ripple, and the noise of the camera. `Disturbance` holds the ranges; scale 0 is the nominal plant.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.task import TaskConfig


class Disturbance(BaseModel):
    """Ranges that the trials of an evaluation draw from."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    object_offset_mm: float = Field(default=3.0, ge=0, description="start offset in a uniformly random direction")
    offset_upwards: bool = Field(default=True, description="whether that has a vertical part; not for what stands")
    standing_height_m: float = Field(
        default=0.0, ge=0, description="of the object's frame over what it stands on: larger ones stand higher; 0: held"
    )
    object_yaw_deg: float = Field(default=0.0, ge=0, le=45, description="start turn about the vertical, plus and minus")
    friction_fraction: float | None = Field(
        default=None, ge=0, lt=1, description="friction as a factor on the system's, plus and minus; None: its range is"
    )
    friction_min: float = Field(default=0.5, gt=0, description="least friction coefficient of the plant")
    friction_max: float = Field(default=1.0, gt=0, description="greatest friction coefficient of the plant")
    size_fraction: float = Field(default=0.03, ge=0, lt=1, description="size of the object, plus and minus")
    mass_fraction: float = Field(default=0.2, ge=0, lt=1, description="mass of the object, plus and minus")
    torque_ripple_fraction: float = Field(default=0.01, ge=0, description="amplitude, of the effort limit")
    hysteresis_fraction: float = Field(default=0.01, ge=0, description="friction of the drives, of the effort limit")
    pose_noise_mm: float = Field(default=1.0, ge=0, description="pose noise, per axis")
    pose_noise_deg: float = Field(default=1.0, ge=0, description="pose noise, per axis")

    def with_friction(self, share: float) -> "Disturbance":
        """Return the same ranges with so much of the friction at both ends."""
        return self.model_copy(
            update={"friction_min": share * self.friction_min, "friction_max": share * self.friction_max}
        )


def disturbance_of(task: TaskConfig) -> Disturbance:
    """Return the ranges that trials of a task draw from.

    Raises
    ------
    ConfigError
        The task file's section `disturbance` has an unknown key or a value out of range.
    """
    return validate(Disturbance, task.disturbance, f"{task.path}: disturbance")


@dataclass(frozen=True)
class Trial:
    """One run of an evaluation: the seed that draws it again, its plant and its sensors."""

    seed: int
    perturbation: PlantPerturbation
    sensors: SensorConfig


def trial_seeds(seed: int, count: int, cases: int = 1) -> list[int]:
    """Return the seeds of the trials of an evaluation; a longer evaluation begins with the same trials.

    The k-th seed is random but for its remainder, k mod cases: so a seed alone says which case it runs, and all cases
    have equally many trials.
    """
    children = np.random.SeedSequence(seed).spawn(count)
    drawn = [int(child.generate_state(1)[0]) for child in children]
    return [value - value % cases + k % cases for k, value in enumerate(drawn)]


def draw_trial(
    seed: int, disturbance: Disturbance, sensors: SensorConfig, scale: float = 1.0, noise_scale: float = 1.0
) -> Trial:
    """Draw one trial.

    Parameters
    ----------
    seed : int
        Of this trial alone.
    disturbance : Disturbance
        Ranges.
    sensors : SensorConfig
        Rate and delay of the poses; their noise is that of the disturbance times noise_scale.
    scale : float
        Factor on offset, size, mass, ripple and hysteresis; 0 also keeps the friction at that of the system.
    noise_scale : float
        Factor on the pose noise.
    """
    rng = np.random.default_rng(seed)
    direction, draws, turn = rng.standard_normal(3), rng.uniform(size=3), rng.uniform(-1.0, 1.0)
    direction[2] *= disturbance.offset_upwards
    offset = scale * 1e-3 * disturbance.object_offset_mm * direction / np.linalg.norm(direction)
    friction = disturbance.friction_min + draws[0] * (disturbance.friction_max - disturbance.friction_min)
    size, mass = scale * (2.0 * draws[1:] - 1.0) * (disturbance.size_fraction, disturbance.mass_fraction)
    offset[2] += size * disturbance.standing_height_m
    perturbation = PlantPerturbation(
        friction=float(friction) if scale > 0.0 and disturbance.friction_fraction is None else None,
        friction_scale=float(1.0 + scale * (disturbance.friction_fraction or 0.0) * (2.0 * draws[0] - 1.0)),
        mass_scale=float(1.0 + mass),
        size_scale=float(1.0 + size),
        object_offset_m=(float(offset[0]), float(offset[1]), float(offset[2])),
        object_yaw_rad=float(scale * np.deg2rad(disturbance.object_yaw_deg) * turn),
        torque_ripple_fraction=scale * disturbance.torque_ripple_fraction,
        hysteresis_fraction=scale * disturbance.hysteresis_fraction,
        seed=seed,
    )
    noise = {key: noise_scale * getattr(disturbance, key) for key in ("pose_noise_mm", "pose_noise_deg")}
    return Trial(seed, perturbation, sensors.model_copy(update=noise))
