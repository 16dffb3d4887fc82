"""The log-barrier step behind the face of a formulation."""

import numpy as np

from contact_mpc.dynamics.formulation import Derivatives, Formulation, SolvedStep
from contact_mpc.dynamics.smoothed.derivatives import differentiate_step
from contact_mpc.dynamics.smoothed.log_barrier import CONVERGED, INFEASIBLE, ITERATION_LIMIT, solve_step
from contact_mpc.dynamics.smoothed.round_off import UNBALANCED, is_balanced
from contact_mpc.settings.arrays import FloatArray

STATUS = {
    CONVERGED: "converged",
    ITERATION_LIMIT: "iteration_limit",
    INFEASIBLE: "infeasible",
    UNBALANCED: "failed",
}
NOT_DEFINITE_STATUS = "not_definite"


class LogBarrier(Formulation):
    """Smoothed by a log barrier, see `dynamics.smoothed.log_barrier`."""

    def solve(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """See `Formulation.solve`."""
        ws, setup, model = self.workspace, self.setup, self.builder.model
        code, iterations, residual = solve_step(model, ws, q, u, offset, setup.kappa, setup.tolerance, False)
        force = -ws.w * model.pairs.sign[:, None]
        status = STATUS.get(code, NOT_DEFINITE_STATUS)
        if code == CONVERGED and residual > setup.tolerance and not is_balanced(ws, setup.tolerance, residual):
            status = STATUS[UNBALANCED]
        return SolvedStep(ws.dq.copy(), force, status, float(residual), int(iterations), ws.Q, ws.b)

    def derivatives(self) -> Derivatives | None:
        """See `Formulation.derivatives`: by the implicit function theorem on the stationarity of the barrier."""
        n_v, n_a, model = self.system.n_v, self.system.n_a, self.builder.model
        X, A, B = np.empty((n_v, n_v + n_a)), np.empty((n_v, n_v)), np.empty((n_v, n_a))
        differentiate_step(model, self.workspace, self.setup.kappa, X, A, B)
        return A, B
