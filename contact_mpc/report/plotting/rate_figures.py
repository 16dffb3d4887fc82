"""Figures about success rates: bars of groups, lines over a value, a matrix; errors of single trials."""

from typing import Any

from contact_mpc.report.plotting.figures import ESTIMATED, LIMIT, TRUE, Figure, axis, log_axis

STRICT, LOOSE = ESTIMATED, "#9db8c9"
MATRIX_INK = "#1f2429"  # on the colours of the matrix, which a dark page keeps
LEVELS = (("success", "goal met", STRICT), ("loose_success", "within looser limits", LOOSE))


def rate_bars(
    key: str, title: str, caption: str, groups: dict[str, dict[str, Any]], *, is_wide: bool = False
) -> Figure:
    """Return bars of both success rates for groups of trials, by name."""
    figure = Figure(key, title, caption, is_wide=is_wide)
    names = [name for name, group in groups.items() if group["trials"]]
    for level, label, colour in LEVELS:
        bar = {"type": "bar", "name": label, "x": names, "marker": {"color": colour}}
        figure.traces.append({**bar, **_heights([groups[name] for name in names], level)})
    figure.layout.update(xaxis=axis(title="", type="category"), yaxis=_percent(), barmode="group", hovermode="closest")
    return figure


def rate_lines(key: str, title: str, caption: str, values: list[float], groups: list[dict[str, Any]]) -> Figure:
    """Return both success rates over a varied value."""
    figure = Figure(key, title, caption)
    kept = [(value, group) for value, group in zip(values, groups, strict=True) if group["trials"]]
    for level, label, colour in LEVELS:
        line = {"type": "scatter", "mode": "lines+markers", "name": label, "x": [value for value, _ in kept]}
        heights = _heights([group for _, group in kept], level)
        figure.traces.append({**line, "line": {"color": colour}, **heights})
    figure.layout.update(xaxis=axis(title=title), yaxis=_percent())
    return figure


def error_scatter(key: str, trials: list[dict[str, Any]], tolerance_deg: float, tolerance_mm: float) -> Figure:
    """Return the final errors of single trials, those that met the goal and the others."""
    figure = Figure(key, "Errors at the end", "True pose of the object against the goal, trial by trial.")
    for is_met, label, colour in ((True, "goal met", STRICT), (False, "goal missed", TRUE)):
        chosen = [item for item in trials if item["goal_met"] == is_met and item["angle_error_deg"] is not None]
        figure.traces.append(
            {
                "type": "scatter", "mode": "markers", "name": label, "marker": {"color": colour, "size": 6},
                "x": [item["angle_error_deg"] for item in chosen],
                "y": [item["position_error_mm"] for item in chosen],
                "text": [f"seed {item['seed']} {item['axis']}" for item in chosen],
            }
        )  # fmt: skip
    figure.layout.update(
        xaxis=log_axis("angle error, deg"),
        yaxis=log_axis("position error, mm"),
        hovermode="closest",
    )  # fmt: skip
    line = {"type": "line", "line": {"color": LIMIT, "width": 1.2, "dash": "dash"}}
    across = {"xref": "x domain", "x0": 0, "x1": 1, "y0": tolerance_mm, "y1": tolerance_mm}
    along = {"yref": "y domain", "y0": 0, "y1": 1, "x0": tolerance_deg, "x1": tolerance_deg}
    figure.layout["shapes"] = [{**line, **across}, {**line, **along}]
    return figure


def rate_matrix(cells: list[dict[str, Any]]) -> Figure:
    """Return success by hand (columns) and object (rows) as colours; cells without trials count 0 and say so."""
    texts = [f"{100.0 * cell['success_rate']:.0f}" if cell["trials"] else "no trial" for cell in cells]
    figure = Figure("matrix", "Goal met, %", "Disturbed trials of each cell.", is_wide=True)
    scale = [[0.0, "#f4d6d9"], [0.6, "#f5e7c8"], [1.0, STRICT]]
    heat = [100.0 * cell["success_rate"] if cell["trials"] else 0.0 for cell in cells]
    squares = {"symbol": "square", "size": 44, "color": heat, "cmin": 0, "cmax": 100, "colorscale": scale}
    figure.traces.append({
        "type": "scatter", "mode": "markers+text", "x": [cell["hand"] for cell in cells],
        "y": [cell["object"] for cell in cells], "text": texts, "marker": squares, "textfont": {"color": MATRIX_INK},
        "hovertemplate": "%{x}, %{y}: %{text}<extra></extra>",
    })  # fmt: skip
    rows = len({cell["object"] for cell in cells})
    figure.layout.update(
        xaxis=axis(title="", type="category"), yaxis=axis(title="", type="category", autorange="reversed"),
        height=110 + 52 * rows, margin={"l": 90, "r": 14, "t": 26, "b": 44}, hovermode="closest",
    )  # fmt: skip
    return figure


def _heights(groups: list[dict[str, Any]], level: str) -> dict[str, Any]:
    rates = [100.0 * group[f"{level}_rate"] for group in groups]
    intervals = [group[f"{level}_interval_95"] for group in groups]
    above = [100.0 * high - rate for (_, high), rate in zip(intervals, rates, strict=True)]
    below = [rate - 100.0 * low for (low, _), rate in zip(intervals, rates, strict=True)]
    bars = {"type": "data", "array": above, "arrayminus": below, "thickness": 1, "width": 3, "color": "#57606a"}
    return {"y": rates, "error_y": bars}


def _percent() -> dict[str, Any]:
    return axis(title="success, %", range=[0, 104])
