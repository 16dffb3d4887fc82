"""Hypotheses as markers and as a status."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus
from visualization_msgs.msg import Marker

from contact_mpc.estimation.contact_location.hypothesis import ChainContacts, Hypothesis
from contact_mpc.ros.messages.hypothesis_messages import ARROW_M_PER_N, to_location_status, to_markers

POINTS = np.array([[0.1, 0.2, 0.3], [0.1, 0.25, 0.3]])
FORCES = np.array([[0.0, -5.0, 0.0], [0.0, -6.0, 0.0]])
FOUND = Hypothesis("arm", "link_4", 3, POINTS, -FORCES / 5.0, FORCES, np.array([1.0, 2.0]), 0.7, 0.05)
EXPLAINED = ChainContacts(("A1", "A2"), "explained", 0.05, 0.2, (FOUND,))


def test_markers_show_every_minimum_and_the_force_of_the_best() -> None:
    dots, arrow = to_markers(1_500_000_000, [EXPLAINED], 0.3).markers
    assert dots.ns == arrow.ns == "arm/link_4" and dots.id != arrow.id
    assert (dots.type, arrow.type) == (Marker.POINTS, Marker.ARROW)
    assert [(p.x, p.y, p.z) for p in dots.points] == [tuple(p) for p in POINTS.tolist()]
    start, end = arrow.points
    assert (end.x, end.y, end.z) == tuple(POINTS[0]) and start.y == pytest.approx(0.2 + 5.0 * ARROW_M_PER_N)
    assert arrow.text == "70 %, 5.0 N, open over 50 mm" and arrow.header.stamp.nanosec == 500_000_000


def test_status_names_source_links_and_what_nothing_explains() -> None:
    odd = ChainContacts(("B1",), "unexplained", 1.5, 0.2, ())
    status = to_location_status([EXPLAINED, odd], "impedance")
    values = {item.key: item.value for item in status.values}
    assert status.level == DiagnosticStatus.WARN and "no contact explains this, residual 1.5 N m" in status.message
    assert "no tau_ext" in values["source"] and values["A1/0"].startswith("link link_4, likelihood 0.700")
    assert to_location_status([EXPLAINED], "reported").level == DiagnosticStatus.OK
    assert to_location_status(None, None).level == DiagnosticStatus.STALE
