"""The global search: minima kept apart, neighbours in one hypothesis, and none of them lost by skipping samples."""

import numpy as np
import pytest

from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw
from contact_mpc.estimation.contact_location.search import KEEP_SPACINGS, WIDTH, P, search
from contact_mpc.model.system_builder import load_system


def test_minima_are_apart_and_sorted_into_hypotheses() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    draw = ContactDraw(locator, ("link_3", "link_4"), (5.0, 10.0), seed=9)
    q_a, contact = draw.configuration(), draw.contact()
    (found,) = locator.locate(q_a, draw.torques([contact]) + draw.noise(0.05))
    best = [item.chi2[0] for item in found.hypotheses]
    assert best == sorted(best)
    assert sum(item.likelihood for item in found.hypotheses) == pytest.approx(1.0)
    for item in found.hypotheses:
        assert (np.diff(item.chi2) >= 0.0).all()
        gaps = np.linalg.norm(item.points[:, None] - item.points[None], axis=2) + np.eye(len(item.points))
        assert gaps.min() >= KEEP_SPACINGS * 0.99 * locator.spacing.min()
        assert item.extent_m == np.linalg.norm(item.points - item.points[0], axis=1).max()


def test_skipped_samples_would_not_have_led_anywhere_else() -> None:
    """With a cone that keeps every sample (a limit on skipping without effect) no new place turns up."""
    locator = ContactLocator(load_system("iiwa_box"))
    draw, chain = ContactDraw(locator, ("link_5", "link_6"), (10.0, 30.0), seed=10), locator.chains[0]
    draw.configuration()
    contact = draw.contact()
    arm = locator.set_torques(chain, draw.torques([contact]) + draw.noise(0.05))
    places = []
    for reach in (1.0, 4.0):  # samples that are that many times further away are tried
        out = np.zeros((len(chain.members), WIDTH))
        spacing, friction = reach * locator.spacing, locator.config.friction
        arguments = (arm, locator.surfaces, locator.samples, chain.members, spacing, friction, locator.wide)
        count, _ = search(*arguments, chain.limit, out)
        places.append(out[:count, P : P + 3])
    few, many = places
    assert len(many) >= len(few) > 0
    assert np.linalg.norm(many[:, None] - few[None], axis=2).min(axis=1).max() < 0.02
