"""Hypotheses of contact location as messages: markers for RViz and Foxglove, a status for programs and people."""

import colorsys

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from contact_mpc.estimation.contact_location.hypothesis import ChainContacts, Hypothesis
from contact_mpc.ros.messages import conversions as messages

ARROW_M_PER_N = 0.02
SHAFT_M, HEAD_M, DOT_M = 0.002, 0.004, 0.006
GOLDEN_RATIO = 0.6180339887  # of neighbouring hues
SOURCES = {
    "reported": "tau_ext as the robot reports it",
    "measured": "no tau_ext reported: joint torques less the robot's own weight",
    "impedance": "no tau_ext and no joint torques: error of joint impedance",
}


def to_markers(t_ns: int, chains: list[ChainContacts], lifetime_s: float) -> MarkerArray:
    """Return a point per minimum and an arrow along the force at the best, in one colour per hypothesis, in the world.

    The namespace of a marker names the link; the text of the arrow holds likelihood and force.
    """
    markers = []
    hypotheses = [item for chain in chains for item in chain.hypotheses]
    for index, item in enumerate(hypotheses):
        for kind in (Marker.POINTS, Marker.ARROW):
            marker = Marker(ns=f"{item.owner}/{item.link}", id=2 * index + (kind == Marker.ARROW), type=kind)
            marker.header.frame_id = "world"
            messages.set_stamp(marker.header.stamp, t_ns)
            marker.lifetime = messages.to_duration(lifetime_s)
            marker.color.r, marker.color.g, marker.color.b = colorsys.hsv_to_rgb(index * GOLDEN_RATIO % 1.0, 0.8, 0.9)
            marker.color.a = 0.3 + 0.7 * item.likelihood
            _fill(marker, item)
            markers.append(marker)
    return MarkerArray(markers=markers)


def _fill(marker: Marker, item: Hypothesis) -> None:
    if marker.type == Marker.POINTS:
        marker.scale.x = marker.scale.y = DOT_M
        ends = item.points
    else:
        ends = np.array([item.points[0] - ARROW_M_PER_N * item.forces[0], item.points[0]])
        marker.scale.x, marker.scale.y = SHAFT_M, HEAD_M
        size_n = float(np.linalg.norm(item.forces[0]))
        marker.text = f"{100.0 * item.likelihood:.0f} %, {size_n:.1f} N, open over {1e3 * item.extent_m:.0f} mm"
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in ends.tolist()]


def to_location_status(chains: list[ChainContacts] | None, source: str | None) -> DiagnosticStatus:
    """Return what was found in words, and every hypothesis as a value; chains is None where no torques are known."""
    if chains is None or source is None:
        text = "no tau_ext, no joint torques, no command to compare with: contacts cannot be located"
        return messages.to_status(DiagnosticStatus.STALE, "contact_location", text, {})
    values: dict[str, object] = {"source": SOURCES[source]}
    for chain in chains:
        for k, item in enumerate(chain.hypotheses):
            p, f = (np.round(part[0], 5).tolist() for part in (item.points, item.forces))
            values[f"{chain.joints[0]}/{k}"] = (
                f"link {item.link}, likelihood {item.likelihood:.3f}, at {p} m, force {f} N, {len(item.points)} "
                f"minima, open over {1e3 * item.extent_m:.0f} mm"
            )
    felt = [chain for chain in chains if chain.status != "free"]
    text = "; ".join(chain.describe() for chain in felt) or "no contact"
    is_odd = any(chain.status == "unexplained" for chain in chains)
    level = DiagnosticStatus.WARN if is_odd else DiagnosticStatus.OK
    return messages.to_status(level, "contact_location", text, values)
