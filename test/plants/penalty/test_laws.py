"""The laws of the penalty method against what their equations say; parameters that are refused."""

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.plants.penalty.laws import filter_rates, friction_force, impact_gain, normal_force
from contact_mpc.plants.penalty.parameters import PenaltyParameters

PLAIN = PenaltyParameters()


def test_steady_force_is_stiffness_times_volume_and_contacts_do_not_pull() -> None:
    values = PLAIN.as_array()
    assert normal_force(values, 1e-8, 0.0, 0.0) == pytest.approx(7.4)
    assert normal_force(values, 1e-8, 0.0, 0.5) == pytest.approx(1.5 * 7.4)
    assert normal_force(values, 1e-8, -1e-4, 0.0) == 0.0


def test_gain_has_the_impulse_of_the_equation_and_its_bump_after_the_contact() -> None:
    """The integral of (5) over time is i_v = g_i (m_A + m_B) Delta v_c, about t_v = g_t d_t / Delta v_c."""
    values = PenaltyParameters(gain_cap=np.finfo(float).max, gain_delay=5.0).as_array()
    t = np.linspace(0.0, 0.4, 4001)
    gain = np.array([impact_gain(values, 0.3, since, 0.1) for since in t])
    assert np.trapezoid(gain, t) == pytest.approx(250.0 * 0.3 * 0.1, rel=1e-6)
    assert t[np.argmax(gain)] == pytest.approx(5.0 * 2e-3 / 0.1, abs=1e-3)
    assert max(impact_gain(PLAIN.as_array(), 0.3, since, 0.1) for since in t) == 1.0  # the cap


def test_friction_opposes_slip_and_stays_within_coulombs_limit() -> None:
    values, out = PenaltyParameters(viscous_ns_per_m=0.0).as_array(), np.zeros(3)
    for speed in (1e-14, 1e-6, 1e-3, 1.0):
        velocity = speed * np.array([0.6, 0.0, 0.8])
        friction_force(values, 0.5, 4.0, *velocity, 1.0, out)
        np.testing.assert_allclose(out, -2.0 * np.tanh(1e3 * speed) * velocity / speed, atol=1e-15)


def test_filter_follows_a_ramp_at_its_rate() -> None:
    values = PenaltyParameters(rate="filter", filter_rad_per_s=500.0).as_array()
    state, h = np.zeros(2), 1e-5
    for k in range(10_000):
        state = state + h * np.array(filter_rates(values, 3.0 * k * h, *state))
    assert state[1] == pytest.approx(3.0, rel=1e-3)


def test_filter_bound_is_where_the_linear_contact_begins_to_grow() -> None:
    """Eigenvalues of m x'' = -k x - c xf' with (4) cross the imaginary axis at the bound."""
    p = PenaltyParameters(rate="filter", filter_damping=0.7)
    mass, area = 0.2, 1e-4
    k, c, zeta = p.stiffness_n_per_m3 * area, p.damping_ns_per_m3 * area, p.filter_damping
    bound = p.least_filter_rad_per_s(mass, area)
    growth = []
    for w in (0.99 * bound, 1.01 * bound):
        A = np.array([[0, 1, 0, 0], [-k / mass, 0, 0, -c / mass], [0, 0, 0, 1], [w**2, 0, -(w**2), -2 * zeta * w]])
        growth.append(np.max(np.linalg.eigvals(A).real))
    assert growth[0] > 0.0 > growth[1]
    slow = PenaltyParameters(rate="filter", filter_damping=0.7, filter_rad_per_s=0.99 * bound)
    with pytest.raises(InputError, match=f"ball unstable; above {bound:.4g} rad/s"):
        slow.check_filter(mass, area, "ball")
    PenaltyParameters(rate="filter", filter_damping=0.7, filter_rad_per_s=1.01 * bound).check_filter(mass, area, "b")


@pytest.mark.parametrize(
    "bad",
    [
        {"stiffness_n_per_m3": 0.0}, {"damping_ns_per_m3": -1.0}, {"gain_depth_m": 0.0}, {"scaling_s_per_m": np.nan},
        {"filter_rad_per_s": np.inf}, {"rate": "guess"}, {"direction": "up"}, {"friction": "none"},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(bad: dict) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        PenaltyParameters(**bad)
