"""What the judge of states believes where messages are lost: a true motion, sampled with gaps, is no lie."""

import numpy as np
import pytest

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.plausibility import Plausibility
from contact_mpc.control.bridge.status import Cause
from contact_mpc.model.system import System

AMPLITUDE_RAD, FREQUENCY_HZ = 0.3, 2.0  # 3.8 rad/s at most, as a hand that starts to move does


@pytest.mark.parametrize("every_ms", [1, 3, 9, 15, 40])
def test_a_true_swing_is_believed_whatever_messages_are_lost(every_ms: int, planar: System) -> None:
    judge = Plausibility(planar, BridgeConfig(gravity_compensation="robot"))
    middle, w = planar.q_default[planar.n_q_u :], 2.0 * np.pi * FREQUENCY_HZ
    share = np.minimum(AMPLITUDE_RAD * w, 0.5 * planar.v_max) / w  # within half of each joint's speed

    def state(t_s: float) -> tuple[np.ndarray, np.ndarray]:
        return middle + share * np.sin(w * t_s), share * w * np.cos(w * t_s)

    before = state(0.0)
    for k in range(1, 2000 // every_ms):
        q, dq = state(1e-3 * every_ms * k)
        assert judge.judge(q, dq, *before, 1e-3 * every_ms) == (Cause.NONE, "")
        before = q, dq


def test_a_constant_lie_is_found_at_the_rate_of_slow_drivers(planar: System) -> None:
    judge, q = Plausibility(planar, BridgeConfig(gravity_compensation="robot")), planar.q_default[planar.n_q_u :].copy()
    dq = np.full(planar.n_a, 2.0)  # rad/s, and nothing moves
    causes = [judge.judge(q, dq, q, dq, 5e-3)[0] for _ in range(40)]
    assert Cause.STATE_MISMATCH in causes
