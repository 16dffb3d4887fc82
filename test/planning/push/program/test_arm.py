"""The casadi kinematics and inverse dynamics are those of pinocchio."""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.push.program.arm import build_arm

AGREEMENT = 1e-10  # the same sums in another order


def test_inverse_dynamics_and_tool_are_those_of_pinocchio() -> None:
    system = load_system("anypulator_block")
    arm, model = build_arm(system), pin.buildModelFromUrdf(str(system.urdfs["anypulator"].path))
    data, frame = model.createData(), model.getFrameId("tool")
    q, v, a = (ca.SX.sym(name, 5) for name in "qva")
    p_L = np.array([0.01, -0.02, 0.03])
    mine = ca.Function("arm", [q, v, a], [arm.inverse_dynamics(q, v, a), arm.point("tool", p_L, q)])
    rng = np.random.default_rng(1)
    for _ in range(20):
        state = [rng.uniform(-2.0, 2.0, 5), rng.uniform(-10.0, 10.0, 5), rng.uniform(-50.0, 50.0, 5)]
        tau, p = (np.array(item).ravel() for item in mine(*state))
        np.testing.assert_allclose(tau, pin.rnea(model, data, *state), rtol=0.0, atol=AGREEMENT)
        pin.framesForwardKinematics(model, data, state[0])
        np.testing.assert_allclose(p, data.oMf[frame].act(p_L), rtol=0.0, atol=AGREEMENT)


def test_a_robot_that_branches_is_refused() -> None:
    with pytest.raises(ModelError, match="one robot whose joints form one chain"):
        build_arm(load_system("planar_hand_ball"))
