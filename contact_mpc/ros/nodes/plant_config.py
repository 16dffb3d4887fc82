"""Parameters of the plant node."""

from typing import Annotated, Literal

from pydantic import Field

from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.plants.registry import PLANTS
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.runtime.parameters import NodeConfig
from contact_mpc.ros.runtime.realtime import RealtimeConfig

Finite = Annotated[float, Field(allow_inf_nan=False)]


class PlantRealtimeConfig(RealtimeConfig):
    """Scheduling of the plant: it stands for a robot, which keeps time, and comes after the bridge."""

    priority: int = Field(default=10, ge=0, le=98, description="SCHED_FIFO priority, 0: none; see the bridge's")


class PlantConfig(NodeConfig):
    """Parameters of the plant node."""

    task: str = Field(min_length=1, description="task whose start configuration the plant begins in")
    engine: str = Field(default="drake", description=f"physics engine: {PLANTS.describe()}, or module:name of your own")
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
        description="rate of joint states and commands, in periods of whole ms; under 1000 only realtime; the bridge's",
    )  # fmt: skip
    clock_rate_hz: int = Field(
        default=100,
        ge=1,
        le=1000,
        description="rate of /clock, in periods of whole ms",
        json_schema_extra={"unit": "Hz"},
    )
    truth_rate_hz: int = Field(
        default=200,
        ge=1,
        le=1000,
        description="rate of plant/object_odom, in periods of whole ms",
        json_schema_extra={"unit": "Hz"},
    )
    command_timeout_s: Finite = Field(
        default=30.0, gt=0.0, le=600.0, description="lockstep: wall time to wait for the command of a step",
        json_schema_extra={"unit": "s"},
    )  # fmt: skip
    controller_patience_s: Finite = Field(
        default=1.0, ge=0.0, le=10.0, description="realtime: time stands still for so long at most while a command or "
        "a plan is late, so that a controller that is held up loses nothing; 0: never, as with a robot",
        json_schema_extra={"unit": "s"},
    )  # fmt: skip
    plan_age_s: Finite = Field(
        default=0.0,
        ge=0.0,
        le=10.0,
        description="realtime: age of the tracker's newest plan that is late; 0: none is; runs set it to what comes "
        "shortly before the plan is stale for the bridge",
        json_schema_extra={"unit": "s"},
    )
    driver: DriverConfig = DriverConfig()
    realtime: PlantRealtimeConfig = PlantRealtimeConfig()
    sensors: SensorConfig = SensorConfig()
    perturbation: PlantPerturbation = PlantPerturbation()
