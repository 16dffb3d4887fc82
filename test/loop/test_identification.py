"""The plant that explains motions best: the right candidate of drawn errors, and the size of a box from one push."""

import numpy as np
import pytest

from contact_mpc.loop.confirmation import MujocoConfirmation
from contact_mpc.loop.identification import IdentificationConfig, PlantIdentification
from contact_mpc.loop.plant_world import PlantWorld
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.task.plan import Plan


def test_nothing_learned_is_the_nominal_plant() -> None:
    assert PlantIdentification().best == (1.0, 1.0)


def test_candidate_of_the_least_errors_is_found_and_the_worst_are_given_up() -> None:
    known = PlantIdentification()
    right = known.config.candidates.index((0.75, 0.985))
    for _ in range(3):
        errors = np.full((len(known.config.candidates), 4), 0.1)
        errors[right] = 1e-3
        known.learn(errors[known.alive], 0.2)
    assert known.best == (0.75, 0.985)
    assert len(known.alive) < len(known.config.candidates) and right in known.alive


def test_one_part_does_not_outweigh_what_was_learned_before() -> None:
    known = PlantIdentification(IdentificationConfig(frictions=(1.0,), sizes=(1.0, 0.97), dropped=np.inf))
    for _ in range(2):
        known.learn(np.array([[0.0], [0.05]]), 0.0)
    known.learn(np.array([[100.0], [0.0]]), 0.0)
    assert known.best == (1.0, 1.0)


@pytest.mark.parametrize("size", [0.97, 1.015])
def test_size_of_a_box_is_learned_from_a_push_in_another_engine_and_corrections_reach_it(size: float) -> None:
    problem = load_problem("planar_pushing")
    n_q_u = problem.system.n_q_u
    q = np.tile(problem.configuration(problem.start_u, problem.start_a), (2, 1))
    u = q[:, n_q_u:].copy()
    u[1, 1] += 0.06
    plan = Plan(np.array([0.0, 2.0]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)), {})
    world = PlantWorld("drake", problem.system, q[0], PlantPerturbation(size_scale=size))
    seen = world.ways(world.q, plan)
    physics = MujocoConfirmation(problem.system)
    box_m = [abs(physics.ways(q[0], plan).q[0, -1, 1] - seen.q[0, -1, 1])]
    physics.learn(problem, q[0], plan, seen)
    box_m.append(abs(physics.ways(q[0], plan).q[0, -1, 1] - seen.q[0, -1, 1]))
    assert (physics.identified[1] - 1.0) * (size - 1.0) > 0.0
    assert box_m[1] < 0.3 * box_m[0]
