"""The start of every task: its commands hold the object by contacts that the task's minimum force presses on."""

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.task.task import load_task

# contacts at the start: fingertips of a hand, two links of each arm
HOLDS = {"allegro_ball": 4, "allegro_cube": 4, "planar_hand_ball": 2, "iiwa_bimanual_box": 4}
STEPS = 10
MOVED_M, TURNED_RAD = 2e-3, 0.02  # of the object in ten steps of the model, which its smoothing and the digits cause


@pytest.mark.parametrize("name", HOLDS)
def test_commands_of_the_start_are_those_that_balance_its_contacts(name: str) -> None:
    task = load_task(name)
    grasp = compute_grasp(task.system, task.start_q, float(task.planner["minimum_force_n"]), friction=0.4)
    assert grasp.is_balanced, grasp.reason
    assert len(grasp.pairs) == HOLDS[name]
    step = ContactDynamics(task.system, kappa=1e5).step(task.start_q, task.start_u)
    forces = np.linalg.norm(step.impulses, axis=1) / task.system.config.h_s
    assert step.is_converged and forces[grasp.pairs].min() > 0.5 * float(task.planner["minimum_force_n"])


@pytest.mark.parametrize("name", HOLDS)
def test_object_stays_where_the_start_holds_it(name: str) -> None:
    task = load_task(name)
    system, q = task.system, task.start_q
    dynamics = ContactDynamics(system, kappa=3e4)
    for _ in range(STEPS):
        q = dynamics.step(q, task.start_u).q_next
    (R0, p0), (R1, p1) = system.object_pose(task.start_q), system.object_pose(q)
    assert np.linalg.norm(p1 - p0) < MOVED_M
    assert np.trace(R0.T @ R1) > 1.0 + 2.0 * np.cos(TURNED_RAD)
