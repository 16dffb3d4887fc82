"""Tasks whose start belongs to the tests: bounds that were measured at one posture do not move with shipped ones."""

from pathlib import Path

from contact_mpc.task.task import TaskConfig, load_task

FOLDER = Path(__file__).parents[1] / "systems" / "held"


def held_task(name: str) -> TaskConfig:
    """Return the task of this name from `test/systems/held`, the shipped one where there is none."""
    path = FOLDER / f"{name}.yaml"
    return load_task(path if path.is_file() else name)
