"""Pages that play an example: its bodies over time with a bar for each force."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contact_mpc.model.system import System
from contact_mpc.report.page import write_text
from contact_mpc.report.scene.animation import scene_of_configurations
from contact_mpc.report.scene.force_bars import add_force_bars
from contact_mpc.report.shown_page import render_animation
from contact_mpc.settings.arrays import FloatArray

MOST_FRAMES, BAR_SHARE = 300, 0.4  # length of the longest bar over the extent of where forces act
LEAST_EXTENT_M = 0.1  # of where forces act: a single point has none
OBJECT_ALPHA = 0.35
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
CONTACT_FORCES = "contact forces on the object"


@dataclass(frozen=True)
class Film:
    """Configurations over time, and forces in them.

    Attributes
    ----------
    times_s : (N,) array
        Of each configuration, s.
    q : (N, n_q) array
    point, force : (N, n_f, 3) array
        Where each force acts, m, and the force, N; world frame.
    """

    times_s: FloatArray
    q: FloatArray
    point: FloatArray
    force: FloatArray


def write_animation(name: str, system: System, film: Film, folder: Path, *, shown: str = CONTACT_FORCES) -> Path:
    """Write NAME.html, which plays a film with a bar for each force; return its path. shown tells which forces."""
    frames = np.unique(np.linspace(0, len(film.times_s) - 1, min(len(film.times_s), MOST_FRAMES)).round().astype(int))
    places = film.point[frames].reshape(-1, 3)
    middle = 0.5 * (places.min(axis=0) + places.max(axis=0))
    scene = scene_of_configurations(system, film.times_s[frames], film.q[frames], (IDENTITY, middle), places)
    scene["markers"] = []
    for index, body in enumerate(scene["bodies"]):
        if body["is_object"]:  # bars begin at its surface and run into it
            look = {"body": index, "color": [*body["color"], OBJECT_ALPHA], "shapes": body["shapes"]}
            scene["markers"].append(look)
            body["shapes"] = []
    size = max(float(np.linalg.norm(np.ptp(places, axis=0))), LEAST_EXTENT_M)
    played = add_force_bars(scene, film.point[frames], film.force[frames], BAR_SHARE * size)
    largest = float(np.linalg.norm(film.force[frames], axis=2).max())
    caption = f"Red bars: {shown}, the longest {largest:.3g} N; a stub where there is none."
    return write_text(folder / f"{name}.html", render_animation(name.replace("_", " "), caption, played))
