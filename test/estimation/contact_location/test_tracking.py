"""A contact that stays on its link while the arm moves: the particles gather there."""

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import PinocchioTorques
from contact_mpc.estimation.contact_location.surfaces import retract
from contact_mpc.estimation.contact_location.tracking import ContactTracker
from contact_mpc.model.system_builder import load_system

START = np.array([0.2, 0.5, 0.3, -1.2, 0.4, 0.8, 0.1])
TOWARD = np.array([0.5, -0.3, 0.7, -0.4, 0.8, -0.6, 0.5])  # rad, from first to last
UPDATES = 25


def test_particles_gather_where_a_moving_arm_is_touched() -> None:
    """On link 4 single torques leave a curve open; along a motion only the true place explains all of them."""
    locator = ContactLocator(load_system("iiwa_box"))
    s = next(k for k, g in enumerate(locator.surfaces.geometry) if locator.system.geometries[g].link == "link_4") + 1
    x, n = (np.array(part) for part in retract(locator.surfaces, s, (0.04, -0.03, 0.03)))
    tracker, truth = ContactTracker(locator, seed=1), PinocchioTorques(locator.system)
    rng, alone, tracked = np.random.default_rng(0), [], []
    for k in range(UPDATES):
        q_a = START + TOWARD * k / UPDATES
        locator.place(q_a)
        truth.place(q_a)
        R, p = locator.arm.R_WG[s].copy(), locator.arm.p_WG[s] + locator.arm.R_WG[s] @ x
        tau = truth.torques("link_4", p, -20.0 * (R @ n)) + 0.05 * rng.standard_normal(7)
        best = locator.locate(q_a, tau)[0].hypotheses[0]
        alone.append(np.linalg.norm(best.points[0] - p))
        contact = tracker.update(q_a, tau)
        assert contact is not None
        tracked.append(np.linalg.norm(contact.p - p))
    assert contact.link == "link_4" and contact.share > 0.5
    assert np.median(tracked[-8:]) < 0.02
    assert np.median(tracked[-8:]) <= np.median(alone)
    assert tracker.update(q_a, np.zeros(7)) is None


def test_parameters_without_sense_are_refused() -> None:
    with pytest.raises(InputError, match="particles = 3"):
        ContactTracker(ContactLocator(load_system("iiwa_box")), particles=3)
