"""Derived parameters: grasps carry the weight, pushes are not watched for what hands do wrong."""

from contact_mpc.model.system_builder import load_system
from contact_mpc.task.derived import LEAST_FORCE_N, PUSH_PLANNER, derive_nodes, derive_planner

PUSH = {"initialisation": "carried"}


def test_a_push_asks_for_no_grasp_and_a_grasp_for_no_push() -> None:
    system = load_system("leap_ball")
    assert derive_planner(system, {})["minimum_force_n"] >= LEAST_FORCE_N
    assert derive_planner(system, PUSH) == PUSH_PLANNER
    assert derive_nodes({}) == {}


def test_sliding_does_not_stop_a_push() -> None:
    assert derive_nodes(PUSH)["mpc_tracker"]["slip_speed_m_s"] == 0.0
