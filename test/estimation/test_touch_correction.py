"""A ball that is predicted beside the fingers that feel it is put back onto them."""

import numpy as np

from contact_mpc.estimation.touch_correction import TouchCorrection
from contact_mpc.loop.holding_effort import holding_effort
from contact_mpc.task.task import load_task

TASK = load_task("allegro_ball")
SYSTEM = TASK.system
POSITION = slice(4, 7)  # of the ball in q
DRIFT_M = 0.004


def test_a_drifted_ball_returns_towards_the_fingers_that_hold_it() -> None:
    touch, q = TouchCorrection(SYSTEM, 0.02, 0.001), TASK.start_q.copy()
    tau = holding_effort(SYSTEM, TASK, "bridge")
    P = np.diag([0.01**2] * 3 + [0.005**2] * 3)
    for direction in np.eye(3):
        q[POSITION] = TASK.start_q[POSITION] + DRIFT_M * direction
        corrected, left = touch.correct(q, P, tau)
        before = np.linalg.norm(q[POSITION] - TASK.start_q[POSITION])
        assert np.linalg.norm(corrected[POSITION] - TASK.start_q[POSITION]) < 0.6 * before
        assert np.trace(left[3:, 3:]) < np.trace(P[3:, 3:])
        assert (corrected[7:] == q[7:]).all()


def test_without_torques_or_without_contact_nothing_changes() -> None:
    touch, P = TouchCorrection(SYSTEM, 0.02, 0.001), 1e-4 * np.eye(6)
    q, left = touch.correct(TASK.start_q, P, np.full(SYSTEM.n_a, np.nan))
    assert q is TASK.start_q and left is P
    far = TASK.start_q.copy()
    far[6] += 0.2
    assert touch.correct(far, P, holding_effort(SYSTEM, TASK, "bridge"))[0] is far
