"""Pairs of contacts: they explain the torques, by pinocchio, and come near the true pair where starts do."""

import numpy as np

from contact_mpc.estimation.contact_location.double_contacts import DoubleContacts
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw, PinocchioTorques
from contact_mpc.model.system_builder import load_system


def test_pairs_explain_the_torques_and_one_has_the_true_links() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    draw, truth = ContactDraw(locator, ("link_3", "link_7"), (20.0, 40.0), seed=11), PinocchioTorques(locator.system)
    q_a = draw.configuration()
    drawn = [draw.contact() for _ in range(12)]
    pair = [next(item for item in drawn if item.link == link) for link in ("link_3", "link_7")]
    tau = draw.torques(pair)
    truth.place(q_a)
    (found,) = DoubleContacts(locator, starts=600).locate(q_a, tau)
    assert {"link_3", "link_7"} in [set(item.links) for item in found]
    for item in found:
        left = -tau
        for link, p, f in zip(item.links, item.points, item.forces, strict=True):
            left = left + truth.torques(link, p, f)
        assert left @ left <= locator.chains[0].limit * locator.config.sigma_nm**2
        assert item.bodies[0] != item.bodies[1]
    assert [item.chi2 for item in found] == sorted(item.chi2 for item in found)


def test_nothing_to_explain_needs_no_pair() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    assert DoubleContacts(locator, starts=50).locate(np.zeros(7), np.zeros(7)) == [[]]
