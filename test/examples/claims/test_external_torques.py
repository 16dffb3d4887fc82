"""The arm with a load at its last link, and a load beside a contact."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.errors import InputError
from contact_mpc.examples.claims.external_torques import external_torques
from contact_mpc.examples.result import Settings


def test_loaded_arm_rests_where_its_energy_is_least() -> None:
    result = external_torques(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    sag_m = result.figures["sag_m"]
    assert sag_m[0] > 0.0 and sag_m[-1] / sag_m[0] == pytest.approx(20.0, rel=0.1)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_torque_of_a_joint_presses_as_its_spring_would(formulation: str, named_system: Callable) -> None:
    system = named_system("pusher_1d")
    dynamics, q = ContactDynamics(system, formulation), np.array([0.0, -0.1])
    by_torque = dynamics.step(q, q[1:], tau_a=np.array([3.0]))
    by_spring = dynamics.step(q, q[1:] + 3.0 / system.kp)
    np.testing.assert_allclose(by_torque.q_next, by_spring.q_next, atol=1e-15)
    assert np.linalg.norm(by_torque.impulses) > 0.0
    with pytest.raises(InputError, match="tau_a"):
        dynamics.step(q, q[1:], tau_a=np.zeros(3))
