"""The Shadow hand with an object: what is refused, and, where its files are installed, a grasp that carries."""

from importlib.util import find_spec

import numpy as np
import pytest

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.examples.grasp import shadow
from contact_mpc.examples.registry import run_example
from contact_mpc.examples.result import Settings
from contact_mpc.examples.shadow_grasp import PARTS, simulate_shadow

needs_hand = pytest.mark.skipif(
    find_spec(shadow.PACKAGE) is None, reason="the Shadow hand: pip install --no-deps gymnasium-robotics"
)


def test_missing_files_of_the_hand_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="pip install --no-deps gymnasium-robotics"):
        run_example("shadow_grasp", Settings())


def test_what_does_not_apply_is_refused() -> None:
    for settings, message in (
        (Settings(thing="egg"), "allowed: sphere, box, bunny"),
        (Settings(gripper="2"), "belongs to the example penalty_grasp"),
        (Settings(duration_s=1e9), "0.2 to 60"),
    ):
        with pytest.raises(InputError, match=message):
            run_example("shadow_grasp", settings)


@needs_hand
def test_five_fingers_close_on_the_ball_and_the_palm_is_pressed_too() -> None:
    grasp = shadow.build_shadow_grasp("sphere")
    assert grasp.system.n_a == 24 and grasp.fingers == shadow.FINGERS
    grasp.engine.reset(grasp.q)
    assert not np.any(grasp.engine.work.rows[:, 0])
    run, _ = simulate_shadow(grasp, 0.05)
    assert not run.error and run.forces_n[-1][0] > 1.0 and np.sum(run.forces_n[-1][1:] > 1.0) >= 2
    assert run.forces_n[-1].shape == (len(PARTS),)
