"""The implicit integration of penalty contacts: its Jacobian, and its agreement with the explicit one."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.examples.grasp.grippers import build_grasp
from contact_mpc.examples.grasp.run import GRIP_N, touching_start
from contact_mpc.model.system import System
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.plants.penalty.motion import state_jacobian
from contact_mpc.plants.penalty.parameters import PenaltyParameters

STIFF = PenaltyParameters(gain_per_n=0.0, scaling_s_per_m=1e4)
APART_M = 1e-9  # how far two integrations may part in a millisecond of creep at 25 um/s
CENTRAL = 1e-7  # of central differences


@pytest.fixture(scope="module")
def box_on_ground(named_system: Callable[[str], System]) -> System:
    """The box of 2 kg on the ground; its pusher far away."""
    return named_system("box_pushing")


def start(engine: PenaltyEngine, speed_m_s: float) -> None:
    q, v = engine.q.copy(), np.zeros(engine.n_v)
    q[engine.n_q - 3 :] = [-0.6, 0.0, 0.3]
    q[6] = 0.15 - 1e-6
    v[3] = speed_m_s
    engine.reset(q, v)


@pytest.mark.parametrize("rate", ["exact", "filter"])
def test_jacobian_is_the_derivative_of_the_rate(box_on_ground: System, rate: str) -> None:
    parameters = PenaltyParameters(gain_per_n=0.0, rate=rate, filter_rad_per_s=1e6)
    engine = PenaltyEngine(box_on_ground, parameters)
    start(engine, 3e-4)
    drive, y = np.zeros(engine.n_v), engine.y.copy()
    J = state_jacobian(
        engine.scene, engine.work, parameters.as_array(), engine.latch, drive, engine.n_q, 0.0, y
    )  # fmt: skip
    expected = np.empty_like(J)
    for j in range(len(y)):
        step = CENTRAL * np.eye(len(y))[j]
        expected[:, j] = (engine.rate(0.0, y + step, drive) - engine.rate(0.0, y - step, drive)) / (2.0 * CENTRAL)
    np.testing.assert_allclose(J, expected, atol=1e-3 * np.abs(expected).max())
    assert np.abs(J[engine.n_q + 3, engine.n_q + 3]) > 1e3  # friction is the stiff part


def test_radau_and_rk45_hold_alike_and_radau_needs_fewer_evaluations_of_stiff_friction() -> None:
    """Where a box creeps between two fingers RK45 is held to steps of 3.3 m / (mu f_n gamma)."""
    grasp = build_grasp("2p", "box")
    engines = {name: PenaltyEngine(grasp.system, STIFF, integrator=name, max_step_s=1e-3) for name in ("Radau", "RK45")}
    radau, rk45 = engines["Radau"], engines["RK45"]
    radau.reset(touching_start(radau, grasp))
    drive = np.zeros(radau.n_v)
    for k in range(100):
        drive[6:] = radau.gravity_torques()[6:]
        drive[7:] += GRIP_N * min(1.0, k / 50) - 20.0 * radau.v[7:]
        radau.advance((k + 1) * 1e-3 - radau.t_s, drive)
    rk45.reset(radau.q, radau.v, radau.t_s)
    began = radau.evaluations
    for engine in engines.values():
        engine.advance(1e-3, drive)
    np.testing.assert_allclose(rk45.q, radau.q, atol=APART_M)
    np.testing.assert_allclose(rk45.v[3:6], radau.v[3:6], atol=1e-6)
    capacity = 0.2 * 2.0 * GRIP_N
    creep = np.arctanh(0.2 * 9.81 / capacity) / STIFF.scaling_s_per_m
    assert -radau.v[5] == pytest.approx(creep, rel=0.05)
    assert radau.evaluations - began < 0.5 * rk45.evaluations


def test_an_integrator_that_is_not_there_is_refused(box_on_ground: System) -> None:
    with pytest.raises(InputError, match="allowed: RK45, Radau"):
        PenaltyEngine(box_on_ground, integrator="Euler")
