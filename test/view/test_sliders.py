"""Sliders of parameters: their scale covers the declared range, and a refusal brings the former value back."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from free_port import free_port

pytest.importorskip("viser")
import viser

from contact_mpc.view.address import LOOPBACK
from contact_mpc.view.sliders import Scale, Sliders

RANGES = [(0.0, 1e5), (0.0, 1.0), (0.1, 1.0), (1.0, 1e7), (0.0, 100.0)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_scale_covers_its_range_and_grows(low: float, high: float) -> None:
    scale = Scale(low, high)
    values = [scale.value(0.01 * k) for k in range(101)]
    assert values == sorted(values) and (values[0], values[-1]) == (low, high)
    for value in (low, 0.3 * high, high):
        assert scale.value(scale.place(value)) == pytest.approx(value, rel=1e-2)


def test_a_weight_of_decades_has_the_same_step_everywhere() -> None:
    scale = Scale(0.0, 1e5)
    assert scale.place(1e3) - scale.place(1e2) == pytest.approx(scale.place(1e1) - scale.place(1.0))
    linear = Scale(0.1, 1.0)
    assert linear.value(0.5) == pytest.approx(0.55)


@pytest.fixture
def server() -> Iterator[Any]:
    made = viser.ViserServer(host=LOOPBACK, port=free_port(), verbose=False)
    yield made
    made.stop()


def test_who_moves_a_slider_sets_the_value_and_a_refusal_brings_the_former_back(server: Any) -> None:
    wanted: list[tuple[str, float]] = []
    item = SimpleNamespace(name="rate_weight", description="cost [1/rad^2]", low=0.0, high=1e5, value=40.0)
    sliders = Sliders(server, "tracker", [item], lambda name, value: wanted.append((name, value)))
    ((scale, slider),) = sliders._sliders.values()
    assert slider.label == "rate_weight = 40 1/rad^2" and slider.hint == "cost [1/rad^2]" and not wanted
    for callback in slider._impl.update_cb:
        slider.value = scale.place(300.0)
        callback(SimpleNamespace(client=object(), target=slider))
    assert wanted == [("rate_weight", pytest.approx(300.0, rel=1e-2))]
    sliders.settle("rate_weight", None)
    assert slider.label == "rate_weight = 40 1/rad^2" and scale.value(slider.value) == pytest.approx(40.0, rel=1e-2)
    sliders.settle("rate_weight", 300.0)
    assert slider.label == "rate_weight = 300 1/rad^2"
