"""Plots with one look: matplotlib, imported when the first figure is drawn."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contact_mpc.errors import ConfigError
from contact_mpc.settings.file_access import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Readable in grey and with the common colour blindnesses (Okabe and Ito).
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#777777"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE)
STYLE = {
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "savefig.dpi": 150,
    "svg.hashsalt": "contact_mpc",
}


def new_figure(rows: int, columns: int, title: str, width_in: float = 10.0, height_in: float = 2.4) -> Any:
    """Return (figure, (rows, columns) array of axes); height_in is per row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure, axes


def require_matplotlib() -> None:
    """Raise ConfigError where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise ConfigError("plots need matplotlib; install it with: pip install 'contact_mpc[examples]'")


def label(axis: "Axes", title: str, x: str, y: str) -> None:
    """Give an axis its title and its quantities with units."""
    axis.set_title(title)
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def mark_times(axis: "Axes", times: Iterable[float], names: Iterable[str] = ()) -> None:
    """Draw dotted vertical lines, named at the top of the axis where names are given."""
    times, names = list(times), list(names)
    for index, time in enumerate(times):
        axis.axvline(time, color=GREY, linewidth=0.9, linestyle=":")
        if index < len(names):
            axis.annotate(
                names[index],
                (time, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(2, -2),
                textcoords="offset points",
                va="top",
                fontsize=7,
                color=GREY,
                rotation=90,
            )


def save(draw: Callable[[], "Figure"], folder: Path, name: str) -> list[Path]:
    """Draw a figure and write it as PNG and SVG; return both paths.

    Raises
    ------
    ConfigError
        matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib import rc_context

    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with rc_context(STYLE):
        figure = draw()
        for path in paths:
            kind = path.suffix.removeprefix(".")
            with replacing(path) as file:
                figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return paths
