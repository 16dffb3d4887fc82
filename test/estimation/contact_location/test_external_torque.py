"""External torques from what is known: a report, measured torques, the error of joint impedance, or nothing."""

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.estimation.contact_location.external_torque import FRESH_NS, ExternalTorque
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system_builder import load_system
from contact_mpc.task.loop_records import EstimatedState

SYSTEM = load_system("iiwa_box")
Q_A = SYSTEM.q_default[SYSTEM.n_q_u :] + 0.1
PUSH = np.array([1.0, -2.0, 0.5, 3.0, 0.1, -0.2, 0.0])


def state(tau: np.ndarray, t_ns: int = 0) -> EstimatedState:
    q = np.concatenate([SYSTEM.q_default[: SYSTEM.n_q_u], Q_A])
    return EstimatedState(t_ns, q, np.zeros(SYSTEM.n_v), tau, np.zeros((SYSTEM.n_v_u, SYSTEM.n_v_u)))


def test_drives_hold_the_weight_less_what_the_world_pushes() -> None:
    g = np.zeros(SYSTEM.n_a)
    GravityTorque(SYSTEM).compute(Q_A, g)
    found = ExternalTorque(SYSTEM).compute(state(g - PUSH))
    assert found is not None and found[1] == "measured"
    np.testing.assert_allclose(found[0], PUSH, atol=1e-12)


def test_an_impedance_that_is_pushed_away_shows_the_torque() -> None:
    """At rest Kp (q - u) = tau_ext: seeds/001."""
    torque = ExternalTorque(SYSTEM)
    torque.take_command(0, Q_A - PUSH / SYSTEM.kp)
    found = torque.compute(state(np.full(SYSTEM.n_a, np.nan)))
    assert found is not None and found[1] == "impedance"
    np.testing.assert_allclose(found[0], PUSH, atol=1e-9)


def test_a_fresh_report_comes_first_and_an_old_one_is_left_out() -> None:
    torque, unknown = ExternalTorque(SYSTEM), np.full(SYSTEM.n_a, np.nan)
    torque.take_report(0, PUSH)
    found = torque.compute(state(np.zeros(SYSTEM.n_a), FRESH_NS))
    assert found is not None and found[1] == "reported" and (found[0] == PUSH).all()
    assert torque.compute(state(unknown, FRESH_NS + 1)) is None


def test_a_report_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InputError, match="tau_ext has non-finite values"):
        ExternalTorque(SYSTEM).take_report(0, np.full(SYSTEM.n_a, np.nan))
