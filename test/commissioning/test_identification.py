"""Fits against motions whose parameters are known."""

import numpy as np
import pytest

from contact_mpc.commissioning.identification import friction_and_offset, onset_s, stiffness, sweep


@pytest.mark.parametrize("latency_s", [0.0, 0.004, 0.02])
@pytest.mark.parametrize("step", [0.03, -0.03])
def test_onset_of_a_critically_damped_step_is_when_it_begins(latency_s: float, step: float) -> None:
    t = np.arange(-0.1, 0.2, 1e-3)
    x = 40.0 * np.maximum(t - latency_s, 0.0)
    q = 1.0 + step * (1.0 - (1.0 + x) * np.exp(-x))
    assert onset_s(t, q, 0.0, step) == pytest.approx(latency_s, abs=1e-3)


def test_a_joint_that_stands_has_no_onset() -> None:
    t = np.arange(-0.1, 0.2, 1e-3)
    assert np.isnan(onset_s(t, np.ones_like(t), 0.0, 0.03))
    assert np.isnan(onset_s(t[t > 0.0], np.ones((t > 0.0).sum()), 0.0, 0.03))


def test_friction_is_half_of_what_both_ways_differ_by() -> None:
    direction = np.repeat([1, -1, 0], 50)
    torque = 0.3 + 0.05 * direction
    assert friction_and_offset(torque, direction) == pytest.approx((0.05, 0.3))
    assert np.isnan(friction_and_offset(torque[:3], direction[:3])).all()


def test_stiffness_is_found_beside_damping_and_a_constant() -> None:
    rng = np.random.default_rng(0)
    deflection, speed = rng.normal(0.0, 0.01, 300), rng.normal(0.0, 0.05, 300)
    torque = 7.0 * deflection - 0.3 * speed + 0.1 + rng.normal(0.0, 1e-4, 300)
    assert stiffness(torque, deflection, speed) == pytest.approx(7.0, rel=0.01)
    assert np.isnan(stiffness(torque, np.zeros(300), speed))


def test_a_sweep_is_a_triangle_about_zero_with_its_direction() -> None:
    t = np.arange(0.0, 4.0, 1e-3)
    rows = [sweep(item, 0.05, 4.0) for item in t]
    offset, direction = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    assert (
        offset[0] == 0.0
        and offset.max() == pytest.approx(0.05, rel=1e-2)
        and offset.min() == pytest.approx(-0.05, rel=1e-2)
    )
    np.testing.assert_array_equal(np.sign(np.diff(offset))[10:900], direction[10:900])
    assert np.abs(np.diff(offset)).max() < 1.1 * 0.05 * 4 / 4.0 * 1e-3
