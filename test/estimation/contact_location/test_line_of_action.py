"""The classic method: exact with six joints below the contact and no noise, wrong with fewer."""

import numpy as np

from contact_mpc.estimation.contact_location.line_of_action import LineOfAction
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw
from contact_mpc.model.system_builder import load_system


def test_line_meets_the_contact_where_all_joints_feel_it() -> None:
    """A line enters a ball where a force pushes and leaves it on the other side."""
    locator = ContactLocator(load_system("iiwa_box"))
    line, draw = LineOfAction(locator), ContactDraw(locator, ("link_6",), (10.0, 50.0), seed=2)
    for _ in range(10):
        q_a, contact = draw.configuration(), draw.contact()
        tau = draw.torques([contact])
        (found,) = line.locate(q_a, tau)
        if abs(tau[5]) < 1.0:
            continue
        gaps = [np.linalg.norm(item.p - contact.p) for item in found if item.body == contact.body]
        assert min(gaps) < 1e-6
        assert all(np.linalg.norm(item.f - contact.f) < 1e-6 * np.linalg.norm(contact.f) for item in found)


def test_nothing_felt_has_no_line() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    assert LineOfAction(locator).locate(np.zeros(7), np.zeros(7)) == [[]]
