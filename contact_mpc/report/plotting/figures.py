"""Pieces of plotly figures as plain data: traces with few enough points, axes, panels, marks of the task's phases."""

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contact_mpc.bags.object_track import ObjectEvaluation
from contact_mpc.bags.poses import IntArray
from contact_mpc.settings.arrays import FloatArray

MAX_POINTS = 2000
INK, GRID = "#30363d", "#e6e9ed"
TRUE, ESTIMATED, REFERENCE, LIMIT = "#d1495b", "#5b9bc4", "#343a42", "#b45309"
PANEL_GAP = 0.05


@dataclass
class Figure:
    """One plot of the report: title, what it shows, traces and layout for plotly.js."""

    key: str
    title: str
    caption: str
    traces: list[dict[str, Any]] = field(default_factory=list)
    layout: dict[str, Any] = field(default_factory=dict)
    is_wide: bool = False

    def line(self, t_s: FloatArray, values: FloatArray, name: str, colour: str, **more: Any) -> None:
        """Add a line of at most `MAX_POINTS` points that keeps extremes; `panel` chooses the panel (from 1)."""
        panel, dash, width = more.pop("panel", 1), more.pop("dash", "solid"), more.pop("width", 1.6)
        t_kept, kept = decimate(t_s, values, more.pop("points", MAX_POINTS))
        self.traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": packed(t_kept),
                "y": packed(kept),
                "line": {"color": colour, "dash": dash, "width": width},
                **axes_of(panel),
                **more,
            }
        )

    def level(self, value: float, label: str, colour: str = LIMIT, panel: int = 1) -> None:
        """Draw a dashed horizontal line across one panel."""
        suffix = str(panel) if panel > 1 else ""
        line = {"type": "line", "xref": f"x{suffix} domain", "x0": 0, "x1": 1, "yref": f"y{suffix}", "y0": value}
        self._shapes().append({**line, "y1": value, "line": {"color": colour, "width": 1.2, "dash": "dash"}})
        if label:
            note = {"xref": f"x{suffix} domain", "yref": f"y{suffix}", "x": 1, "y": value, "text": label}
            style = {"showarrow": False, "xanchor": "right", "yanchor": "bottom", "font": {"size": 10, "color": colour}}
            self._notes().append({**note, **style})

    def phases(self, evaluation: ObjectEvaluation, panels: int = 1) -> None:
        """Shade the hold and mark the start of the motion in every panel."""
        motion_s = (evaluation.motion_end_ns - evaluation.start_ns) * 1e-9
        end_s = (evaluation.end_ns - evaluation.start_ns) * 1e-9
        for panel in range(1, panels + 1):
            suffix = str(panel) if panel > 1 else ""
            across = {"xref": f"x{suffix}", "yref": f"y{suffix} domain", "y0": 0, "y1": 1, "layer": "below"}
            hold = {"type": "rect", "x0": motion_s, "x1": end_s, "fillcolor": "#e8f3ec", "line": {"width": 0}}
            start = {"type": "line", "x0": 0, "x1": 0, "line": {"color": "#c3c9d1", "width": 1}}
            self._shapes().extend([{**across, **hold}, {**across, **start}])

    def panels(self, titles: list[str], y_title: str) -> None:
        """Lay out one panel per title, side by side, with a common scale."""
        width = (1.0 - PANEL_GAP * (len(titles) - 1)) / len(titles)
        for index, title in enumerate(titles):
            suffix, left = str(index + 1) if index else "", index * (width + PANEL_GAP)
            self.layout[f"xaxis{suffix}"] = axis(title="time, s", domain=[left, left + width], anchor=f"y{suffix}")
            self.layout[f"yaxis{suffix}"] = axis(title=y_title if not index else "", anchor=f"x{suffix}")
            if index:
                self.layout[f"yaxis{suffix}"]["matches"] = "y"
                self.layout[f"xaxis{suffix}"]["matches"] = "x"
            note = {
                "xref": f"x{suffix} domain",
                "yref": f"y{suffix} domain",
                "x": 0,
                "y": 1.02,
                "text": f"<b>{title}</b>",
            }
            style = {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
            self._notes().append({**note, **style})

    def legend_below(self) -> None:
        """Put the legend below the axes, where it lies on no panel's title."""
        self.layout["legend"] = {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0, "font": {"size": 11}}
        self.layout["margin"] = {"l": 58, "r": 14, "t": 30, "b": 62}

    def axes(self, y_title: str, **y_more: Any) -> None:
        """Give a single panel its axes: time in s and `y_title`."""
        self.layout["xaxis"] = axis(title="time, s")
        self.layout["yaxis"] = axis(title=y_title, **y_more)

    def to_json(self) -> dict[str, Any]:
        """Return data and layout for plotly.js."""
        base = {
            "margin": {"l": 58, "r": 14, "t": 26, "b": 44},
            "height": 300,
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "hovermode": "x unified",
            "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 11}},
        }
        return {"data": self.traces, "layout": {**base, **self.layout}}

    def _shapes(self) -> list[dict[str, Any]]:
        shapes: list[dict[str, Any]] = self.layout.setdefault("shapes", [])
        return shapes

    def _notes(self) -> list[dict[str, Any]]:
        notes: list[dict[str, Any]] = self.layout.setdefault("annotations", [])
        return notes


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with the report's look."""
    look = {"gridcolor": GRID, "zerolinecolor": "#d5dae0", "linecolor": "#c3c9d1", "showline": True, "ticks": "outside"}
    return {**look, "ticklen": 3, "tickcolor": "#c3c9d1", "title": {"text": title, "standoff": 6}, **more}


def log_axis(title: str, **more: Any) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at 1, 2 and 5 of each decade: its own of a short one are such as 0.764."""
    return axis(title, type="log", dtick="D2", **more)


def axes_of(panel: int) -> dict[str, str]:
    """Return the axis names of a panel, counted from 1."""
    return {} if panel == 1 else {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}


def decimate(t_s: FloatArray, values: FloatArray, limit: int = MAX_POINTS) -> tuple[FloatArray, FloatArray]:
    """Return at most `limit` samples: the least and the greatest of each stretch, so that peaks stay visible."""
    if len(values) <= limit:
        return t_s, values
    kept = [0, len(values) - 1]
    edges = np.linspace(0, len(values), limit // 2).astype(int)
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        stretch = np.nan_to_num(values[first:last])
        kept += [first + int(np.argmin(stretch)), first + int(np.argmax(stretch))]
    indices = np.unique(kept)
    return t_s[indices], values[indices]


def packed(values: FloatArray) -> dict[str, str]:
    """Return an array as plotly.js reads it: base64 of 32-bit floats, 5 bytes a number."""
    return {"dtype": "f4", "bdata": base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()}


def seconds(t_ns: IntArray, evaluation: ObjectEvaluation) -> FloatArray:
    """Return stamps as seconds after the start of the motion."""
    return np.asarray((t_ns - evaluation.start_ns) * 1e-9, dtype=np.float64)
