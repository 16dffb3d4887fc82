"""Sliders for parameters that may change while a node runs, made from their declared ranges.

Weights span decades, so a slider is logarithmic: its right end is the upper end of the range, its left end the lower,
and between them lie seven decades, or what the range has of them. A range within two decades is linear.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import viser

DECADES = 7.0
LINEAR_RATIO = 100.0
STEP = 1e-3


class Scale:
    """Maps a slider's place, 0 to 1, to a value of the range [low, high], high > low >= 0."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._is_linear = low > 0.0 and high / low <= LINEAR_RATIO
        self._floor = max(low, high * 10.0**-DECADES)

    def value(self, place: float) -> float:
        """Return the value at a place, to three digits."""
        if place <= 0.0:
            return self._low
        if place >= 1.0:
            return self._high
        if self._is_linear:
            raw = self._low + place * (self._high - self._low)
        else:
            raw = self._floor * (self._high / self._floor) ** place
        return min(max(float(f"{raw:.3g}"), self._low), self._high)

    def place(self, value: float) -> float:
        """Return the place of a value."""
        if self._is_linear:
            return (value - self._low) / (self._high - self._low)
        if value <= self._floor:
            return 0.0
        return math.log(value / self._floor) / math.log(self._high / self._floor)


class Sliders:
    """A folder of sliders.

    Parameters
    ----------
    server : ViserServer
        The page.
    title : str
        Of the folder, which is closed at first.
    parameters : sequence
        What may change: name, description, low, high, value.
    act : callable
        Called with name and value where somebody moved a slider.
    """

    def __init__(
        self, server: viser.ViserServer, title: str, parameters: Sequence[Any], act: Callable[[str, float], None]
    ) -> None:
        self._sliders: dict[str, tuple[Scale, Any]] = {}
        self._units = {item.name: item.description.rpartition("[")[2].rstrip("]") for item in parameters}
        self._values: dict[str, float] = {}
        with server.gui.add_folder(title, expand_by_default=False):
            for item in parameters:
                self._add(server, item, act)

    def _add(self, server: viser.ViserServer, item: Any, act: Callable[[str, float], None]) -> None:
        scale = Scale(item.low, item.high)
        slider = server.gui.add_slider(item.name, min=0.0, max=1.0, step=STEP, initial_value=0.0, hint=item.description)
        self._sliders[item.name] = scale, slider
        self.settle(item.name, item.value)

        @slider.on_update
        def moved(event: Any) -> None:
            if event.client is not None:
                act(item.name, scale.value(float(slider.value)))

    def settle(self, name: str, value: float | None) -> None:
        """Show the value that a parameter has now; None: what it had before."""
        value = self._values.setdefault(name, 0.0) if value is None else value
        self._values[name] = value
        scale, slider = self._sliders[name]
        slider.value = scale.place(value)
        unit = self._units[name]
        slider.label = f"{name} = {value:.3g}{'' if unit == '1' else f' {unit}'}"
