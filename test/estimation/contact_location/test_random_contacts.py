"""Contacts that are drawn: on the surface, within the cone, repeatable."""

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw
from contact_mpc.model.system_builder import load_system


def test_drawn_forces_push_inwards_within_the_cone_and_repeat() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    first, second = (ContactDraw(locator, ("link_4", "link_7"), (5.0, 50.0), seed=1) for _ in range(2))
    for _ in range(20):
        assert (first.configuration() == second.configuration()).all()
        a, b = first.contact(), second.contact()
        assert (a.p == b.p).all() and a.link in ("link_4", "link_7")
        normal = float(-a.f @ a.n)
        assert 5.0 <= normal <= 50.0
        assert np.linalg.norm(a.f + normal * a.n) <= locator.config.friction * normal + 1e-9


def test_a_link_that_nothing_can_touch_is_named() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    with pytest.raises(InputError, match="link_9"):
        ContactDraw(locator, ("link_9",), (5.0, 50.0), seed=1)
