"""What a closed loop is made of, from the parameter file that the nodes read too."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.tracking.comparison.config import ComparisonConfig
from contact_mpc.control.tracking.config import TrackerConfig, rename_mode
from contact_mpc.errors import ConfigError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.loop.controllers import CONTROLLERS
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.plants.registry import PLANTS
from contact_mpc.settings.resources import resource
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.node_parameters import apply_setting, core_parameters, load_node_parameters

START_DELAY_S = 0.3
ESTIMATE_RATE_HZ = 200
OTHERS = {  # parameters beside those of the cores, and the nodes that have them
    "rate_hz": "state_estimator", "engine": "plant", "start_delay_s": "trajectory_server", "comparison": "mpc_tracker",
}  # fmt: skip


class _OtherParameters(BaseModel):
    """What the loop takes of nodes' parameters beside those of their cores."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    engine: str = "drake"
    rate_hz: int = Field(default=ESTIMATE_RATE_HZ, ge=1, le=1000)
    start_delay_s: float = Field(default=START_DELAY_S, ge=0.0, le=60.0)
    comparison: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class LoopConfig:
    """Parts of the loop; each is the config of a node's core.

    Attributes
    ----------
    tracker, estimator, bridge, sensors
        Configs of the cores.
    engine : str
        Physics of the plant, "drake" or "mujoco".
    estimate_rate_hz : int
        Rate of the estimates, a divisor of 1000 and a multiple of the tracker's rate.
    start_delay_s : float
        From the start of time to that of the reference.
    comparison : ComparisonConfig
        Parameters of the controllers other than the tracker.
    """

    tracker: TrackerConfig
    estimator: EstimatorConfig
    bridge: BridgeConfig
    sensors: SensorConfig
    engine: str = "drake"
    estimate_rate_hz: int = ESTIMATE_RATE_HZ
    start_delay_s: float = START_DELAY_S
    comparison: ComparisonConfig = field(default_factory=ComparisonConfig)

    @property
    def controller(self) -> str:
        """What follows the reference, of `contact_mpc.loop.controllers`."""
        return self.tracker.controller

    def __post_init__(self) -> None:
        for name in ("mpc_rate_hz", "plan_delay_s", "plan_timeout_s"):
            of_tracker, of_bridge = getattr(self.tracker, name), getattr(self.bridge, name)
            if of_tracker != of_bridge:
                raise ConfigError(f"{name} is {of_tracker} for the tracker, {of_bridge} for the bridge; give one value")
        if 1000 % self.estimate_rate_hz or self.estimate_rate_hz % self.bridge.mpc_rate_hz:
            raise ConfigError(
                f"estimate_rate_hz = {self.estimate_rate_hz} must divide 1000 and be a multiple of mpc_rate_hz = "
                f"{self.bridge.mpc_rate_hz}"
            )


def load_loop_config(
    path: str | Path, engine: str | None = None, settings: Sequence[str] = (), controller: str | None = None
) -> LoopConfig:
    """Read the parts of the loop from a parameter file of the nodes.

    Parameters
    ----------
    path : str or Path
        A name in config/nodes (that of the task) or the path of a parameter file.
    engine : str, optional
        Physics of the plant; that of the file by default.
    settings : sequence of str
        "node.key=value", the last word; the node `comparison` stands for the controllers other than the tracker.
    controller : str, optional
        What follows the reference, of `contact_mpc.loop.controllers`; that of the file by default.

    Raises
    ------
    ConfigError
        No such file or controller, or a key that is unknown, missing or out of range; names file, node and key.
    """
    if engine is not None:
        PLANTS.check(engine)
    file = resource("nodes", path)
    names = ("mpc_tracker", "state_estimator", "command_bridge", "plant", "trajectory_server")
    nodes = {name: load_node_parameters(file, name) for name in names} | {"comparison": {}}
    for setting in settings:
        apply_setting(nodes, setting)
    settled = rename_mode(nodes["mpc_tracker"])
    settled["controller"] = CONTROLLERS.check(controller or settled.get("controller", "tracker"))
    others = {name: nodes[node][name] for name, node in OTHERS.items() if name in nodes[node]}
    given = validate(_OtherParameters, others, f"{file}: one of {', '.join(OTHERS.values())}")
    return LoopConfig(
        tracker=validate(TrackerConfig, core_parameters(settled), f"{file}: mpc_tracker"),
        estimator=validate(EstimatorConfig, nodes["state_estimator"].get("estimator", {}), f"{file}: estimator"),
        bridge=validate(BridgeConfig, core_parameters(nodes["command_bridge"]), f"{file}: command_bridge"),
        sensors=validate(SensorConfig, nodes["plant"].get("sensors", {}), f"{file}: plant.sensors"),
        engine=engine or given.engine,
        estimate_rate_hz=given.rate_hz,
        start_delay_s=given.start_delay_s,
        comparison=validate(ComparisonConfig, {**given.comparison, **nodes["comparison"]}, f"{file}: comparison"),
    )
