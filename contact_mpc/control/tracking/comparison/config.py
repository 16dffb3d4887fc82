"""Parameters of the controllers that have some of their own, by their names."""

from pydantic import BaseModel, ConfigDict

from contact_mpc.control.tracking.comparison.admm import AdmmConfig
from contact_mpc.control.tracking.comparison.sampling import SamplingConfig
from contact_mpc.control.tracking.comparison.torque_tracking import TorqueConfig


class ComparisonConfig(BaseModel):
    """Parameters of the controllers that have some of their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admm_lcs: AdmmConfig = AdmmConfig()
    sampling: SamplingConfig = SamplingConfig()
    torque_tracking: TorqueConfig = TorqueConfig()
