"""Parameters of contact location: what is known of torques and friction, and how fine the search is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LocationConfig(BaseModel):
    """Noise of torques, friction and resolution.

    The standard deviation of a torque is taken as sqrt(noise^2 + bias^2 + resolution^2 / 12): a bias that is not known
    counts as noise, and a torque that is rounded has the variance of its step.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    torque_noise_nm: float = Field(
        default=0.05,
        gt=0,
        le=100,
        description="standard deviation of an external joint torque",
        json_schema_extra={"unit": "N m"},
    )
    torque_bias_nm: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="standard deviation of the constant error of an external joint torque",
        json_schema_extra={"unit": "N m"},
    )
    torque_resolution_nm: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="step to which torques are rounded",
        json_schema_extra={"unit": "N m"},
    )
    friction: float = Field(
        default=0.5,
        gt=0,
        le=10,
        description="largest friction coefficient of what may touch a link",
        json_schema_extra={"unit": "1"},
    )
    spacing_m: float = Field(
        default=0.012,
        gt=1e-4,
        le=0.5,
        description="distance of neighbouring samples on links; small shapes have 60 samples at least",
        json_schema_extra={"unit": "m"},
    )
    confidence: float = Field(
        default=0.999,
        gt=0.5,
        lt=1,
        description="share of the true contacts whose place counts as explaining the torques",
        json_schema_extra={"unit": "1"},
    )

    @property
    def sigma_nm(self) -> float:
        """Standard deviation of an external torque with all that is known to disturb it, N m."""
        variance = self.torque_noise_nm**2 + self.torque_bias_nm**2 + self.torque_resolution_nm**2 / 12.0
        return float(variance**0.5)
