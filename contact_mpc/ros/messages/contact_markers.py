"""Contacts as markers: an arrow along the force, or a dot where no torques are known; RViz and Foxglove show them."""

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import NDArray
from visualization_msgs.msg import Marker, MarkerArray

from contact_mpc.estimation.contact_estimate import ContactEstimate
from contact_mpc.model.system import System
from contact_mpc.ros.messages import conversions as messages

ARROW_M_PER_N = 0.02
SHAFT_M, HEAD_M, DOT_M = 0.002, 0.004, 0.004
LIFETIME_S = 0.2  # a contact that is not published again vanishes
COLOUR = (0.85, 0.33, 0.1, 1.0)  # red, green, blue, alpha


class ContactMarkers:
    """Turns contacts of one system into a MarkerArray in the world frame.

    The namespace of a marker names the two links; its text holds the size of the force, N, and the gap, mm. An arrow
    begins at the contact point, shows the force on the first link, and is ARROW_M_PER_N long per newton.
    """

    def __init__(self, system: System) -> None:
        pairs = [system.pairs[item.pair] for item in system.contacts]  # contacts may have points of shapes
        self._names = [f"{_name(system, pair.geometry_a)} {_name(system, pair.geometry_b)}" for pair in pairs]

    def fill(self, t_ns: int, estimate: ContactEstimate) -> MarkerArray:
        """Return the markers of the contacts at a time."""
        markers = []
        for i, c in enumerate(estimate.contacts):
            marker = Marker(ns=self._names[c], id=int(c), action=Marker.ADD)
            marker.header.frame_id = "world"
            messages.set_stamp(marker.header.stamp, t_ns)
            marker.lifetime = messages.to_duration(LIFETIME_S)
            marker.color.r, marker.color.g, marker.color.b, marker.color.a = COLOUR
            gap_mm = 1e3 * estimate.gaps_m[i]
            if estimate.forces is None:
                _fill_dot(marker, estimate.points[i])
                marker.text = f"gap {gap_mm:.2f} mm"
            else:
                _fill_arrow(marker, estimate.points[i], estimate.forces[i])
                marker.text = f"{np.linalg.norm(estimate.forces[i]):.2f} N, gap {gap_mm:.2f} mm"
            markers.append(marker)
        return MarkerArray(markers=markers)


def _name(system: System, geometry: int) -> str:
    return f"{system.geometries[geometry].owner}/{system.geometries[geometry].link}"


def _fill_dot(marker: Marker, p: NDArray[np.float64]) -> None:
    marker.type = Marker.SPHERE
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = p.tolist()
    marker.scale.x = marker.scale.y = marker.scale.z = DOT_M


def _fill_arrow(marker: Marker, p: NDArray[np.float64], f: NDArray[np.float64]) -> None:
    marker.type = Marker.ARROW
    for end in (p, p + ARROW_M_PER_N * f):
        x, y, z = end.tolist()
        marker.points.append(Point(x=x, y=y, z=z))
    marker.scale.x, marker.scale.y = SHAFT_M, HEAD_M
