"""Parameters of the plant node."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.ros.runtime.realtime import RealtimeConfig

Finite = Annotated[float, Field(allow_inf_nan=False)]


class PerturbationConfig(BaseModel):
    """How the plant deviates from the system; the defaults are the nominal plant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    friction: Finite | None = Field(
        default=None, description="friction coefficient of every contact; unset: the system's"
    )
    friction_scale: Finite = Field(default=1.0, ge=0.0, description="factor on the system's friction coefficients")
    mass_scale: Finite = Field(default=1.0, gt=0.0, description="factor on mass and inertia of the objects")
    size_scale: Finite = Field(default=1.0, gt=0.0, description="factor on the collision shapes of the objects")
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
        description="motion over which that friction turns round",
        json_schema_extra={"unit": "rad"},
    )

    def to_perturbation(self, seed: int) -> PlantPerturbation:
        """Return the perturbation of the simulator."""
        return PlantPerturbation(**self.model_dump(), seed=seed)


class PlantRealtimeConfig(RealtimeConfig):
    """Scheduling of the plant: it stands for a robot, which keeps time, and comes after the bridge."""

    priority: int = Field(default=10, ge=0, le=98, description="SCHED_FIFO priority, 0: none; see the bridge's")


class PlantConfig(NodeConfig):
    """Parameters of the plant node."""

    task: str = Field(min_length=1, description="task whose start configuration the plant begins in")
    engine: Literal["drake", "mujoco", "gazebo"] = Field(default="drake", description="physics engine")
    command_interface: Literal["effort", "position"] = Field(
        default="effort", description="effort: commands are joint torques; position: the plant runs the joint impedance"
    )
    gravity_compensation: Literal["robot", "bridge"] = Field(
        description="robot: the plant carries the robot's own weight; bridge: the command bridge does"
    )
    seed: int = Field(default=0, ge=0, description="seed of sensor noise and torque ripple")
    run_for_s: Finite = Field(
        default=0.0,
        ge=0.0,
        description="lockstep: time after which the clock stops; 0: never",
        json_schema_extra={"unit": "s"},
    )
    rate_hz: int = Field(
        default=1000, ge=100, le=1000, json_schema_extra={"unit": "Hz"},
        description="rate of joint states and commands, a divisor of 1000; below it only in realtime; as the bridge's",
    )  # fmt: skip
    clock_rate_hz: int = Field(
        default=100, ge=1, le=1000, description="rate of /clock, a divisor of 1000", json_schema_extra={"unit": "Hz"}
    )
    truth_rate_hz: int = Field(
        default=200,
        ge=1,
        le=1000,
        description="rate of plant/object_odom, divides 1000",
        json_schema_extra={"unit": "Hz"},
    )
    command_timeout_s: Finite = Field(
        default=30.0, gt=0.0, le=600.0, description="lockstep: wall time to wait for the command of a step",
        json_schema_extra={"unit": "s"},
    )  # fmt: skip
    realtime: PlantRealtimeConfig = PlantRealtimeConfig()
    sensors: SensorConfig = SensorConfig()
    perturbation: PerturbationConfig = PerturbationConfig()
