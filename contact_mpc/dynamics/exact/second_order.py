"""Stewart and Trinkle's step with Newton's second law: bodies keep their velocity from one step to the next.

    M (v+ - v) + h C(q, v) v = h (tau_u; K (u - q_a+) - D v_a+) + sum_i J_i' h f_i        dq = h v+
    with the contact laws of `dynamics.exact.lcp` at the end of the step    (seeds/001, "Newton's 2nd law",
                                                                            "Non-penetration", "Coulomb friction")

Divided by h it is a quasi-dynamic step with another matrix and another load (seeds/003, "Impulse-momentum"):

    Q = M / h^2 + diag(0, K + D / h)        b = -[tau_u; K (u - q_a)] + C v - M v / h

Robots are gravity compensated and driven by the springs K and dampers D of their joint impedance, both implicit. M has
the rotors' inertia. Velocities of two steps are of one another's tangent space: dq / h of a step is the next one's v.
Impacts are inelastic, as phi + n . d >= 0 at the end of the step asks for. Of first order in h.
"""

import numpy as np

from contact_mpc.dynamics.exact.formulation import Lcp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.dynamics.formulation import StepSetup
from contact_mpc.model.rigid_tree import inertia_and_velocity_terms
from contact_mpc.settings.arrays import FloatArray


class SecondOrder(Lcp):
    """Stewart-Trinkle with inertia, from the velocity that `begin` is told; at rest without."""

    has_velocity = True
    default_regularization = "quasidynamic"
    regularizations = ("quasidynamic",)

    def __init__(self, setup: StepSetup) -> None:
        super().__init__(setup)
        self._v = np.zeros(setup.system.n_v)

    def begin(self, velocity: FloatArray | None) -> None:
        """See `Formulation.begin`."""
        self._v = np.zeros(self.system.n_v) if velocity is None else velocity

    def build(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> StepProblem:
        """Return the step as matrices, with the inertia of robots and the momentum of all."""
        problem, kin, model = super().build(q, u, offset), self.workspace.kin, self.builder.model
        M, bias = np.empty_like(problem.Q), np.empty_like(problem.b)
        inertia_and_velocity_terms(model.tree, kin.R, kin.p, kin.axes, kin.origins, self._v, M, bias)
        robots = np.arange(model.n_v_u, len(bias))
        M[robots, robots] += self.system.reflected_inertia
        problem.Q[:] = M / model.h**2
        problem.Q[robots, robots] += model.K + self.system.kd / model.h
        problem.b[:] += bias - M @ self._v / model.h
        return problem
