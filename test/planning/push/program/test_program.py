"""The assembled derivatives are those of the whole program."""

import casadi as ca
import numpy as np

from contact_mpc.planning.push.program.model import build_model
from contact_mpc.planning.push.program.program import Program
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.program.stage import SHARED, build_stage
from contact_mpc.task.task import TaskConfig

ROUND_OFF = 1e-9  # relative: the same derivatives, summed in another order
STAGES = 6


def test_assembled_derivatives_are_those_of_the_whole_program(task: TaskConfig) -> None:
    model = build_model(task.system, ContactImplicitSettings(stages=STAGES, horizon_s=0.2))
    program = Program(build_stage(model), STAGES)
    functions = program.functions()
    rng = np.random.default_rng(3)
    z, p = rng.normal(0.0, 0.3, program.n_z), rng.uniform(0.1, 1.0, len(SHARED))
    lam = rng.normal(size=program.n_g)
    x, parameters = ca.SX.sym("x", program.n_z), ca.SX.sym("p", len(SHARED))
    f, g = functions["nlp"].expand()(x, parameters)
    hessian, slope = ca.hessian(1.3 * f + ca.dot(lam, g), x)
    whole = ca.Function("whole", [x, parameters], [ca.gradient(f, x), ca.jacobian(g, x), slope, hessian])
    expected = [np.array(item.full()) for item in whole(z, p)]
    found = [functions["nlp_grad_f"](z, p), functions["nlp_jac_g"](z, p)[1], *functions["nlp_hess_l"](z, p, 1.3, lam)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.full(), theirs, rtol=ROUND_OFF, atol=ROUND_OFF * np.abs(theirs).max())
