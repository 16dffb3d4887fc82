"""A planning problem that a tree solves at once: a push of 3 cm."""

from pathlib import Path

from contact_mpc.settings.resources import resource


def write_short_push(folder: Path) -> Path:
    """Write the problem `short_push` into a folder and return its path."""
    text = resource("planning", "planar_pushing").read_text(encoding="utf-8")
    for old, new in (
        ("box_x_m: {start: 0.0, goal: 0.5,", "box_x_m: {start: 0.0, goal: 0.0,"),
        ("box_y_m: {start: 0.5, goal: 1.0,", "box_y_m: {start: 0.5, goal: 0.53,"),
        ("goal: -0.7853981633974483,", "goal: 0.0,"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = folder / "short_push.yaml"
    path.write_text(text.replace("name: planar_pushing", "name: short_push"), encoding="utf-8")
    return path
