"""Plans that go over into one another: no jump at the seam, the same before it, at rest after a stop."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.task.plan import Plan
from contact_mpc.task.spliced_plan import splice_plans, stop_plan

SYSTEM = load_system("planar_hand_ball")
FIRST, N_A = SYSTEM.n_q_u, SYSTEM.n_a


def straight(start: float, slope: float, duration_s: float, rows: int = 11) -> Plan:
    times_s = np.linspace(0.0, duration_s, rows)
    u = np.tile((start + slope * times_s)[:, None], (1, N_A))
    q = np.tile(SYSTEM.q_default, (rows, 1))
    q[:, FIRST:] = u
    return Plan(times_s, q, u, np.zeros_like(u), np.zeros((rows, 0, 3)))


@pytest.mark.parametrize("switch_s", [0.333, 1.0, 2.0])
def test_a_spliced_plan_is_the_first_until_the_switch_and_the_second_after(switch_s: float) -> None:
    first = straight(0.1, 0.2, 2.0)
    second = straight(float(first.sample_u(switch_s)[0]), -0.1, 1.0)
    both = splice_plans(first, switch_s, second, SYSTEM)
    for t_s in (0.05, 0.5 * switch_s, switch_s):
        np.testing.assert_allclose(both.sample_u(t_s), first.sample_u(t_s), atol=1e-12)
    np.testing.assert_allclose(both.sample_u(switch_s + 0.4), second.sample_u(0.4), atol=1e-12)
    assert both.times_s[-1] == pytest.approx(switch_s + 1.0)


def test_a_stop_is_the_plan_until_then_and_comes_to_rest_half_the_time_further() -> None:
    plan = straight(0.1, 0.2, 2.0)
    stopped = stop_plan(plan, 0.7, 0.4, SYSTEM)
    np.testing.assert_allclose(stopped.sample_u(0.69), plan.sample_u(0.69), atol=1e-12)
    np.testing.assert_allclose(stopped.u[-1], plan.sample_u(0.9), atol=1e-12)
    speeds = np.diff(stopped.u[:, 0]) / np.diff(stopped.times_s)
    assert np.all(np.diff(speeds[-7:]) < 0.0) and speeds[-1] < 0.02
