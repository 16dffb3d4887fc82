"""The plant that explains motions best: the right candidate of given errors, whatever one part says."""

import numpy as np

from contact_mpc.loop.parts.identification import IdentificationConfig, PlantIdentification


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


def test_what_would_not_rest_where_the_object_does_is_not_corrected_in() -> None:
    known = PlantIdentification(IdentificationConfig(frictions=(1.0,), sizes=(1.0, 0.97)))
    known.learn_rest(np.array([0.4, 0.001]))
    assert known.best == (1.0, 0.97)
    known.learn_rest(np.array([0.001, 0.001]))  # of the present rest alone
    assert known.best == (1.0, 1.0)
