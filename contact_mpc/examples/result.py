"""What an example hands back: figures for tables and JSON, arrays for a data file, plots drawn on demand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

H_MIN_S = 1e-5  # a run would otherwise take hours


@dataclass(frozen=True)
class Row:
    """One line of an example's table; is_met is None where nothing is expected."""

    quantity: str
    found: str
    expected: str = ""
    is_met: bool | None = None


@dataclass(frozen=True)
class Settings:
    """What a user may choose; None for the example's own.

    formulation and time step, s; gripper, object and duration, s, of a grasp.
    """

    formulation: str | None = None
    h_s: float | None = None
    gripper: str | None = None
    thing: str | None = None
    duration_s: float | None = None


@dataclass(frozen=True)
class ExampleResult:
    """Result of one example.

    Attributes
    ----------
    rows : list of Row
        Lines of the table.
    figures : dict
        Values of the JSON result, snake_case keys with units.
    arrays : dict of arrays
        Time series for the data file.
    plots : mapping to functions
        One function that draws a matplotlib figure per file name.
    pages : mapping to functions
        One function per page that writes it into a folder and returns its file.
    """

    rows: list[Row]
    figures: dict[str, Any]
    arrays: dict[str, FloatArray]
    plots: Mapping[str, Callable[[], "Figure"]] = field(default_factory=dict)
    pages: Mapping[str, Callable[[Path], Path]] = field(default_factory=dict)

    @property
    def goal_met(self) -> bool:
        """Whether every expectation of the table is met."""
        return all(row.is_met is not False for row in self.rows)


def check_allowed(settings: Settings, example: str, allowed: tuple[str, ...], h_max_s: float) -> None:
    """Raise InputError where the formulation is none that the example can use, or h is out of its range."""
    if settings.formulation is not None and settings.formulation not in allowed:
        names = ", ".join(allowed) or "none: leave it out"
        raise InputError(f"formulation '{settings.formulation}' in example {example}; allowed: {names}")
    if settings.h_s is not None and not (H_MIN_S <= settings.h_s <= h_max_s):
        raise InputError(
            f"h = {settings.h_s} s in example {example}; expected a time step from {H_MIN_S:g} to {h_max_s:g} s"
        )


def relative_row(quantity: str, found: float, expected: float, tolerance: float, unit: str) -> Row:
    """Return a line that compares two numbers within a relative tolerance."""
    is_met = bool(abs(found - expected) <= tolerance * abs(expected))
    return Row(quantity, f"{found:.5g} {unit}", f"{expected:.5g} {unit} within {100 * tolerance:g} %", is_met)


def prepare_folder(path: Path) -> Path:
    """Create the output folder and prove that it can be written to; raises ConfigError otherwise."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(
            f"--out {path}: cannot be written to ({error.strerror}); give a folder that can, e.g. --out out/example"
        ) from error
    return path
