"""Mass matrix and bias of the compiled tree against Pinocchio's, on the same URDFs."""

import numpy as np
import pinocchio
import pytest

from contact_mpc.model.system import System
from contact_mpc.plants.penalty.engine import PenaltyEngine


def test_mass_matrix_and_bias_are_pinocchios(allegro: System) -> None:
    robot = allegro.config.robots[0]
    model = pinocchio.buildModelFromXML(allegro.urdfs[robot.name].text)
    R_WR = pinocchio.rpy.rpyToMatrix(*robot.base_rpy_rad)
    model.gravity.linear = R_WR.T @ np.array(allegro.config.gravity_m_s2)
    order = np.array([model.joints[model.getJointId(name)].idx_q for name in allegro.joint_names])
    data, rng, n = model.createData(), np.random.default_rng(0), allegro.n_v_u
    engine = PenaltyEngine(allegro)
    for _ in range(3):
        q, v = allegro.q_default.copy(), rng.normal(size=allegro.n_v)
        q[4:7] = 1.0
        q[allegro.n_q_u :] = rng.uniform(allegro.q_min, allegro.q_max)
        engine.reset(q, v)
        M, bias = engine._mass_and_bias(at_rest=False)
        q_pin, v_pin = np.zeros(model.nq), np.zeros(model.nv)
        q_pin[order], v_pin[order] = q[allegro.n_q_u :], v[n:]
        expected = pinocchio.crba(model, data, q_pin)
        expected = np.triu(expected) + np.triu(expected, 1).T
        armature = np.diag(allegro.reflected_inertia)
        np.testing.assert_allclose(M[n:, n:], expected[np.ix_(order, order)] + armature, atol=1e-12)
        np.testing.assert_allclose(bias[n:], pinocchio.nonLinearEffects(model, data, q_pin, v_pin)[order], atol=1e-12)
        # The ball, homogeneous: M is constant, and nothing but its weight acts (omega x I omega = 0).
        np.testing.assert_allclose(bias[:n], [0.0, 0.0, 0.0, 0.0, 0.0, 0.1 * 9.81], atol=1e-12)
        rest = pinocchio.computeGeneralizedGravity(model, data, q_pin)[order]
        np.testing.assert_allclose(engine.gravity_torques()[n:], rest, atol=1e-12)
        kinetic, _ = engine.energy()
        assert kinetic == pytest.approx(0.5 * v @ M @ v)
