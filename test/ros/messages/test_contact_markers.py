"""Markers of contacts name the links that touch, also where a shape touches with points of its own."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from contact_mpc import load_system
from contact_mpc.estimation.contact_estimate import ContactEstimate
from contact_mpc.ros.messages.contact_markers import ContactMarkers


@pytest.mark.parametrize("name", ["anypulator_block", "allegro_cube", "planar_hand_ball"])
def test_every_contact_of_a_system_has_the_names_of_its_links(name: str) -> None:
    system = load_system(name)
    n = len(system.contacts)
    everything = ContactEstimate(np.arange(n), np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3)), None)
    markers = ContactMarkers(system).fill(0, everything).markers
    links = {f"{item.owner}/{item.link}" for item in system.geometries}
    assert len(markers) == n
    for marker in markers:
        first, second = marker.ns.split()
        assert {first, second} <= links and first != second
