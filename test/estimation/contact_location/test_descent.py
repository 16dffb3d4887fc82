"""Sliding down: never up, onto the true place where torques are exact, and never under another link."""

import numpy as np

from contact_mpc.estimation.contact_location.descent import is_covered
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw
from contact_mpc.model.system_builder import load_system


def test_a_place_beside_the_contact_slides_onto_it() -> None:
    locator = ContactLocator(load_system("iiwa_box"))
    draw, chain = ContactDraw(locator, ("link_6", "link_7"), (20.0, 50.0), seed=8), locator.chains[0]
    ends = []
    for _ in range(12):
        draw.configuration()
        contact = draw.contact()
        tau, s = draw.torques([contact]), contact.surface
        aside = contact.p + 0.008 * np.cross(contact.n, [0.6, 0.0, 0.8])
        before = locator.slide(chain, s, contact.p, tau)
        assert before[1] < 1e-6 and np.linalg.norm(before[0] - contact.p) < 1e-6
        end, chi2 = locator.slide(chain, s, aside, tau)
        n = aside - locator.arm.p_WG[s]
        n /= np.linalg.norm(n)
        on_surface = locator.arm.p_WG[s] + locator.surfaces.size[s, 0] * n
        assert chi2 <= locator.chi2_at(chain, s, on_surface, n, tau) + 1e-9
        if not is_covered(locator.arm, locator.surfaces, s, tuple(on_surface)):
            assert not is_covered(locator.arm, locator.surfaces, s, tuple(end))
        ends.append(np.linalg.norm(end - contact.p))
    assert np.median(ends) < 1e-4
