"""What a slide tells, against slides whose friction and travel are known."""

import numpy as np
import pytest

from contact_mpc.planning.push.program.settings import ReplanConfig
from contact_mpc.planning.push.replan.slide_observer import SlideObserver

PERIOD_S = 0.05
MODEL_SLOWING = 2.943  # m/s^2, friction 0.3


def slide(speed: float, slowing: float, samples: int) -> SlideObserver:
    """Return an observer that saw a slide from 0 with a speed at t = 0, to its rest if it lasts."""
    observer = SlideObserver(MODEL_SLOWING)
    for t in PERIOD_S * np.arange(samples):
        moving = min(t, speed / slowing)
        observer.add(t, speed * moving - 0.5 * slowing * moving**2)
    return observer


@pytest.mark.parametrize("slowing", [0.6 * MODEL_SLOWING, MODEL_SLOWING, 1.5 * MODEL_SLOWING])
def test_a_slide_gives_its_friction_and_where_and_when_it_will_stop(slowing: float) -> None:
    observer = slide(2.0, slowing, 7)
    assert observer.slowing == pytest.approx(slowing, rel=1e-9)
    assert observer.stop() == pytest.approx((2.0 / slowing, 0.5 * 4.0 / slowing), rel=1e-9)
    assert observer.is_settled and not observer.is_resting


def test_an_object_at_rest_has_stopped_where_it_is() -> None:
    observer = slide(1.0, MODEL_SLOWING, 20)
    stop = observer.stop()
    assert observer.is_resting and stop is not None
    assert stop[1] == pytest.approx(0.5 / MODEL_SLOWING, abs=1e-12)
    assert stop[0] == pytest.approx(1.0 / MODEL_SLOWING, abs=2.0 * PERIOD_S)


def test_the_effect_of_a_hit_is_the_speed_that_it_gave_over_the_planned_one() -> None:
    planned_speed, speed, slowing = 2.0, 1.7, 1.2 * MODEL_SLOWING
    travel, planned = 0.5 * speed**2 / slowing, 0.5 * planned_speed**2 / MODEL_SLOWING
    assert slide(speed, slowing, 7).effect_of_hit(travel, planned) == pytest.approx(speed / planned_speed, rel=1e-9)


def test_friction_far_from_the_model_is_not_believed() -> None:
    observer = slide(2.0, 0.1 * MODEL_SLOWING, 7)
    assert observer.fit() is None and observer.slowing == MODEL_SLOWING
    assert not observer.is_settled


def test_too_few_samples_say_nothing() -> None:
    observer = slide(2.0, MODEL_SLOWING, 2)
    assert observer.stop() is None and observer.fit() is None and not observer.is_settled


def test_friction_of_a_slide_that_is_too_short_is_that_of_the_model() -> None:
    observer = slide(2.0, 1.3 * MODEL_SLOWING, ReplanConfig().least_samples - 1)
    assert observer.fit() is None and observer.slowing == MODEL_SLOWING and not observer.is_settled
