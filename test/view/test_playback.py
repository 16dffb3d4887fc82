"""A recorded motion on the page: it goes on at the chosen speed, stops, begins again, and goes where a hand puts it."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("viser")
from contact_mpc.model.system import System
from contact_mpc.view.live_scene import LiveScene
from contact_mpc.view.playback import Playback

from .test_live_scene import free_port

TIMES_S = np.linspace(3.0, 5.0, 21)


@pytest.fixture(scope="module")
def scene(allegro: System) -> Iterator[LiveScene]:
    made = LiveScene(allegro, free_port())
    yield made
    made.stop()


@pytest.fixture
def playback(scene: LiveScene, allegro: System) -> Playback:
    q = np.tile(allegro.q_default, (len(TIMES_S), 1))
    q[:, 4] += 0.01 * np.arange(len(TIMES_S))
    return Playback(scene, TIMES_S, q)


def offset_m(scene: LiveScene, system: System) -> float:
    name = system.object_names[0]
    (ball,) = [handle for link, handle in zip(scene._links, scene._handles, strict=True) if link.owner == name]
    return float(ball.position[0] - system.q_default[4])


def test_time_goes_on_at_the_chosen_speed(playback: Playback, scene: LiveScene, allegro: System) -> None:
    assert offset_m(scene, allegro) == pytest.approx(0.0)
    playback.advance(0.5)
    assert offset_m(scene, allegro) == pytest.approx(0.05)
    playback.speed.value = "2"
    playback.advance(0.25)
    assert offset_m(scene, allegro) == pytest.approx(0.10)
    assert playback.time.value == pytest.approx(1.0, abs=2e-3)


def test_it_stands_when_it_is_not_played_and_goes_where_a_hand_puts_it(
    playback: Playback, scene: LiveScene, allegro: System
) -> None:
    playback.play.value = False
    playback.advance(1.0)
    assert offset_m(scene, allegro) == pytest.approx(0.0)
    playback._seek(1.5)
    assert offset_m(scene, allegro) == pytest.approx(0.15)


def test_from_its_end_it_begins_again(playback: Playback, scene: LiveScene, allegro: System) -> None:
    playback.advance(1.9)
    playback.advance(0.2)
    assert offset_m(scene, allegro) == pytest.approx(0.0)
