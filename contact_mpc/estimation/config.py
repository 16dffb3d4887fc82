"""Parameters of the state estimator: one frozen place with type, unit, range and meaning of each."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class EstimatorConfig(BaseModel):
    """Noise, gates and time limits of the state estimator.

    The object filter has the bandwidth omega0 = (S / (sigma^2 T))^(1/4) [rad/s] where S is the squared acceleration
    noise density, sigma the pose noise and T the time between poses. Static noise falls with sqrt(omega0), the error
    under an acceleration a is a / omega0^2. The defaults give 4.7 and 3.3 rad/s (rotation, translation) for poses at
    60 Hz with 1 degree and 1 mm, and 2.3 and 1.6 rad/s while contacts carry the object: the filter then has to follow
    only what they do not explain.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pose_noise_rad: float = Field(
        default=0.0175,
        gt=0,
        le=1,
        description="standard deviation of a measured rotation, each axis",
        json_schema_extra={"unit": "rad"},
    )
    pose_noise_m: float = Field(
        default=0.001,
        gt=0,
        le=1,
        description="standard deviation of a measured position, each axis",
        json_schema_extra={"unit": "m"},
    )
    accel_noise_rad_s2: float = Field(
        default=0.05,
        gt=0,
        le=1000,
        description="density of the white angular acceleration; smaller is smoother and slower",
        json_schema_extra={"unit": "rad/s^2/sqrt(Hz)"},
    )
    accel_noise_m_s2: float = Field(
        default=0.0014,
        gt=0,
        le=1000,
        description="density of the white linear acceleration; smaller is smoother and slower",
        json_schema_extra={"unit": "m/s^2/sqrt(Hz)"},
    )
    contact_carry: bool = Field(
        default=True,
        description="predict objects by the motion of the robots' contacts between and beyond the poses",
    )
    carry_reach_m: float = Field(
        default=0.004,
        gt=0,
        le=0.05,
        description="contact pairs with a larger gap carry nothing",
        json_schema_extra={"unit": "m"},
    )
    touch: bool = Field(
        default=False,
        description="keep objects on the fingers that feel a contact, by contact location from joint torques",
    )
    touch_noise_m: float = Field(
        default=0.001,
        gt=0,
        le=0.1,
        description="standard deviation of the gap of a finger that feels the object",
        json_schema_extra={"unit": "m"},
    )
    touch_torque_noise_nm: float = Field(
        default=0.02,
        gt=0,
        le=100,
        description="standard deviation of joint torques in motion, for contact location",
        json_schema_extra={"unit": "N m"},
    )
    carry_error: float = Field(
        default=0.3,
        ge=0,
        le=10,
        description="standard deviation of a carried displacement, as a share of it",
        json_schema_extra={"unit": "1"},
    )
    carried_accel_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="share of the acceleration noise that is left while contacts carry the object",
        json_schema_extra={"unit": "1"},
    )
    slip_probability: float = Field(
        default=0.999,
        gt=0.5,
        le=1,
        description="share of the times at which a correct filter sees no slip; 1: slip is not looked for",
        json_schema_extra={"unit": "1"},
    )
    slip_window_s: float = Field(
        default=0.25,
        gt=0,
        le=10,
        description="time constant of the mean innovation that shows slip",
        json_schema_extra={"unit": "s"},
    )
    slip_hold_s: float = Field(
        default=0.3,
        ge=0,
        le=10,
        description="so long after slip was seen the filter trusts poses as if nothing carried the object",
        json_schema_extra={"unit": "s"},
    )
    slip_carry_error: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="carry_error while the object slips",
        json_schema_extra={"unit": "1"},
    )
    noise_adaptation: float = Field(
        default=0.03,
        ge=0,
        lt=1,
        description="share by which one pose's innovation changes the assumed pose noise; 0: it stays as given",
        json_schema_extra={"unit": "1"},
    )
    initial_velocity_rad_s: float = Field(
        default=0.05,
        gt=0,
        le=100,
        description="standard deviation of the angular velocity at the first pose",
        json_schema_extra={"unit": "rad/s"},
    )
    initial_velocity_m_s: float = Field(
        default=0.005,
        gt=0,
        le=100,
        description="standard deviation of the linear velocity at the first pose",
        json_schema_extra={"unit": "m/s"},
    )
    gate_probability: float = Field(
        default=0.9999,
        gt=0.5,
        lt=1,
        description="share of the poses that a correct filter accepts; the rest are outliers",
        json_schema_extra={"unit": "1"},
    )
    max_consecutive_outliers: int = Field(
        default=6,
        ge=1,
        le=1000,
        description="after so many outliers in a row the filter starts again at the last one; earlier where three "
        "agree over 0.1 s, or where they outnumber the poses before",
        json_schema_extra={"unit": "1"},
    )
    pose_stale_after_s: float = Field(
        default=0.15,
        gt=0,
        le=10,
        description="age of the newest accepted pose beyond which it is stale; longer for a camera that is slower or "
        "later than this, as its stamps show",
        json_schema_extra={"unit": "s"},
    )
    longest_pose_age_s: float = Field(
        default=0.4,
        gt=0,
        le=10,
        description="beyond this age a pose is stale, however slow and late the camera is",
        json_schema_extra={"unit": "s"},
    )
    carry_through_s: float = Field(
        default=3.5,
        ge=0,
        le=60,
        description="for so long without poses an object is followed by the contacts that carry it; 0: it is held",
        json_schema_extra={"unit": "s"},
    )
    known_rotation_rad: float = Field(
        default=0.3,
        gt=0,
        le=3,
        description="an object without poses is known while its rotation's standard deviation is below this",
        json_schema_extra={"unit": "rad"},
    )
    known_position_m: float = Field(
        default=0.01,
        gt=0,
        le=1,
        description="the same for its position",
        json_schema_extra={"unit": "m"},
    )
    joints_stale_after_s: float = Field(
        default=0.02,
        gt=0,
        le=10,
        description="age of the newest joint state beyond which the joints are called stale",
        json_schema_extra={"unit": "s"},
    )
    joint_velocity_filter_s: float = Field(
        default=0.01,
        gt=0,
        le=1,
        description="time constant of the joint velocity when the driver sends none",
        json_schema_extra={"unit": "s"},
    )
    clock_tolerance_s: float = Field(
        default=0.1,
        gt=0,
        le=10,
        description="poses further ahead of the joints are refused; joints further back restart",
        json_schema_extra={"unit": "s"},
    )
