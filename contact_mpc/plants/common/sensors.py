"""Sensors of a simulated robot: joint encoders, and a camera that sees the objects late and inexactly.

The camera takes a picture at the stamps s_k = T0 - delay + round(k / rate) on the grid of 1 ms, and its pose is
delivered at s_k + delay; so the first one arrives at T0. Before T0 the world is at rest in its first state. Errors of
different pictures are independent: real pose estimates also drift slowly, which is not modelled here. What cameras do
beside noise is drawn by `contact_mpc.plants.common.camera_faults`: pictures without a pose, and poses far off.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System
from contact_mpc.plants.common.camera_faults import CameraFaults
from contact_mpc.plants.common.plant import STEP_NS, T0_NS
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S


class SensorConfig(BaseModel):
    """Rates, delay and noise (standard deviations) of the simulated sensors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    pose_rate_hz: float = Field(
        default=60.0, gt=0.0, le=1000.0, description="rate of object poses", json_schema_extra={"unit": "Hz"}
    )
    pose_delay_s: float = Field(
        default=0.02, ge=0.0, le=1.0, description="from the picture to its pose", json_schema_extra={"unit": "s"}
    )
    pose_noise_mm: float = Field(
        default=0.5, ge=0.0, le=100.0, description="position noise, per axis", json_schema_extra={"unit": "mm"}
    )
    pose_noise_deg: float = Field(
        default=0.5, ge=0.0, le=90.0, description="rotation vector noise, per axis", json_schema_extra={"unit": "deg"}
    )
    pose_dropout_s: float = Field(
        default=0.0,
        ge=0.0,
        le=60.0,
        description="length of a time in which no picture gives a pose; 0: none",
        json_schema_extra={"unit": "s"},
    )
    pose_dropout_every_s: float = Field(
        default=4.0,
        gt=0.0,
        le=600.0,
        description="one such time, at random, in each span of this length",
        json_schema_extra={"unit": "s"},
    )
    pose_outlier_share: float = Field(default=0.0, ge=0.0, le=1.0, description="share of the poses that are far off")
    pose_outlier_mm: float = Field(
        default=20.0, ge=0.0, le=1000.0, description="how far those are off", json_schema_extra={"unit": "mm"}
    )
    pose_outlier_deg: float = Field(
        default=20.0, ge=0.0, le=180.0, description="how far those are turned", json_schema_extra={"unit": "deg"}
    )
    joint_position_noise_rad: float = Field(
        default=0.0, ge=0.0, description="joint position noise", json_schema_extra={"unit": "rad"}
    )
    joint_velocity_noise_rad_s: float = Field(
        default=0.0, ge=0.0, description="joint velocity noise", json_schema_extra={"unit": "rad/s"}
    )
    joint_torque_noise_nm: float = Field(
        default=0.0, ge=0.0, description="joint torque noise", json_schema_extra={"unit": "N m"}
    )


class JointReading(NamedTuple):
    """Measured joint state: time (ns), position (rad), velocity (rad/s), torque of the drives (N m), each (n_a,)."""

    t_ns: int
    q_a: FloatArray
    v_a: FloatArray
    tau: FloatArray


class PoseReading(NamedTuple):
    """Measured object pose in W: stamp of the picture (ns), rotation (3, 3), position (3,) m."""

    stamp_ns: int
    R_WB: FloatArray
    p_WB: FloatArray


class SensorModel:
    """Noisy joint readings every millisecond, noisy delayed object poses at the camera's rate.

    Per picture, R = Exp(e) R_WB with e ~ N(0, pose_noise_deg^2 I) a rotation vector in W, so the angle of the error is
    about 1.6 times pose_noise_deg on average; p = p_WB + N(0, pose_noise_mm^2 I). Joints and every object have random
    streams of their own, so that switching one noise off leaves the others as they are.
    """

    def __init__(self, system: System, config: SensorConfig, seed: int = 0) -> None:
        self._system, self._config = system, config
        self._delay_ns = round(config.pose_delay_s * NS_PER_S / STEP_NS) * STEP_NS
        n = len(system.object_names)
        streams = np.random.SeedSequence(seed).spawn(1 + 2 * n)
        self._joint_rng, *rngs = (np.random.default_rng(stream) for stream in streams)
        self._pose_rngs = rngs[:n]
        self._faults = [
            CameraFaults(
                rng, config.pose_dropout_s, config.pose_dropout_every_s, config.pose_outlier_share,
                1e-3 * config.pose_outlier_mm, np.deg2rad(config.pose_outlier_deg),
            )
            for rng in rngs[n:]
        ]  # fmt: skip
        self._queues: list[deque[PoseReading]] = [deque() for _ in system.object_names]
        self._picture = 0

    def _next_stamp_ns(self) -> int:
        period_steps = NS_PER_S / (self._config.pose_rate_hz * STEP_NS)
        return T0_NS - self._delay_ns + round(self._picture * period_steps) * STEP_NS

    def sample(self, t_ns: int, q: FloatArray, v: FloatArray, tau: FloatArray) -> JointReading:
        """Read the joints at t_ns and take the pictures that are due; called once a millisecond, from T0 on.

        q (n_q,), v (n_v,) and tau (n_a,) are the true state and the torques of the drives.
        """
        while self._next_stamp_ns() <= t_ns:
            self._take_picture(self._next_stamp_ns(), q)
            self._picture += 1
        system, config, rng = self._system, self._config, self._joint_rng
        noise = rng.standard_normal((3, system.n_a))
        return JointReading(
            t_ns,
            q[system.n_q_u :] + config.joint_position_noise_rad * noise[0],
            v[system.n_v_u :] + config.joint_velocity_noise_rad_s * noise[1],
            tau + config.joint_torque_noise_nm * noise[2],
        )

    def _take_picture(self, stamp_ns: int, q: FloatArray) -> None:
        for index, (queue, rng) in enumerate(zip(self._queues, self._pose_rngs, strict=True)):
            R_WB, p_WB = self._system.object_pose(q, index)
            noise = rng.standard_normal((2, 3))
            R_noise = rotation_exp(np.deg2rad(self._config.pose_noise_deg) * noise[0])
            p = p_WB + 1e-3 * self._config.pose_noise_mm * noise[1]
            R, p = self._faults[index].displace(R_noise @ R_WB, p)
            if self._faults[index].sees(1e-9 * (stamp_ns - T0_NS)):
                queue.append(PoseReading(stamp_ns, R, p))

    def object_poses_due(self, t_ns: int, object_index: int = 0) -> list[PoseReading]:
        """Return the poses of one object that are delivered by t_ns, oldest first; each pose is returned once."""
        queue, due = self._queues[object_index], []
        while queue and queue[0].stamp_ns + self._delay_ns <= t_ns:
            due.append(queue.popleft())
        return due
