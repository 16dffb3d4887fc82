"""A torque whose rate is limited below the swing of stiffness and inertia keeps a saturated joint swinging."""

import numpy as np
import pytest

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.limits import describe_slow_torque
from contact_mpc.model.system_builder import load_system

HAND = load_system("allegro_door")  # three slides without a reflected inertia, fingers of 100 N m/rad on 1e-3 kg m^2
STEP_S = 1e-3


def config(**values: object) -> BridgeConfig:
    return BridgeConfig(gravity_compensation="robot", **values)


def swing_rad(torque_rate_per_s: float) -> float:
    """Return the amplitude that is left after 2 s of one finger joint that starts 0.1 rad from its setpoint."""
    joint = 4
    J, kp, kd = HAND.reflected_inertia[joint], HAND.kp[joint], HAND.kd[joint]
    tau_max = 0.9 * HAND.tau_max_nm[joint]
    most = torque_rate_per_s * HAND.tau_max_nm[joint] * STEP_S
    angle, rate, tau, seen = 0.1, 0.0, 0.0, []
    for _ in range(2000):
        tau += np.clip(np.clip(-kp * angle - kd * rate, -tau_max, tau_max) - tau, -most, most)
        rate += STEP_S * tau / J
        angle += STEP_S * rate
        seen.append(abs(angle))
    return max(seen[-200:])


def test_a_joint_that_is_told_of_swings_on_and_the_others_come_to_rest() -> None:
    assert "index_0" in describe_slow_torque(HAND, config()) and swing_rad(100.0) > 0.02
    assert describe_slow_torque(HAND, config(torque_rate_per_s=1000.0)) == "" and swing_rad(1000.0) < 1e-6


@pytest.mark.parametrize("task", ["allegro_ball", "iiwa_bimanual_box", "fr3_box", "leap_ball"])
def test_the_hands_and_arms_that_ship_keep_the_default(task: str) -> None:
    assert describe_slow_torque(load_system(task), config()) == ""


def test_a_robot_that_runs_the_impedance_itself_is_not_told_of() -> None:
    assert describe_slow_torque(HAND, config(command_interface="position")) == ""
    said = describe_slow_torque(HAND, config())
    assert "base_x" not in said and "316 rad/s" in said
