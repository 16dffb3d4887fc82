"""Derived parameters: grasps carry the weight, pushes are not watched for what hands do wrong."""

from dataclasses import replace

import pytest

from contact_mpc.model.system_builder import load_system
from contact_mpc.task.derived import GRIP_N, LEAST_FORCE_N, PUSH_PLANNER, derive_nodes, derive_planner, least_force

PUSH = {"initialisation": "carried"}


def test_a_push_asks_for_no_grasp_and_a_grasp_for_no_push() -> None:
    system = load_system("leap_ball")
    assert derive_planner(system, {})["minimum_force_n"] >= LEAST_FORCE_N
    assert derive_planner(system, PUSH) == PUSH_PLANNER
    assert derive_nodes({}) == {}


@pytest.mark.parametrize(
    ("strength", "least_n", "most_n"), [(0.3, 0.0, LEAST_FORCE_N), (1.0, 0.0, LEAST_FORCE_N), (3.0, 6.0, GRIP_N)]
)
def test_a_hand_grips_with_what_its_effort_limits_allow(strength: float, least_n: float, most_n: float) -> None:
    """With 3 N the D'Claw, whose drives give 3 N m, lost what lay 3 mm beside its place."""
    system = load_system("leap_ball")
    joints = tuple(replace(joint, effort=strength * joint.effort) for joint in system.joints)
    assert least_n < least_force(replace(system, joints=joints)) <= most_n


def test_sliding_does_not_stop_a_push() -> None:
    assert derive_nodes(PUSH)["mpc_tracker"]["slip_speed_m_s"] == 0.0
