"""The steps with exact contact laws behind the face of a formulation: socp, qp, lcp."""

from abc import abstractmethod

import numpy as np

from contact_mpc.dynamics.exact.active_set import ActivePoint
from contact_mpc.dynamics.exact.cone_derivatives import linearise_cones
from contact_mpc.dynamics.exact.cone_solution import StepSolution
from contact_mpc.dynamics.exact.lcp import solve_step_lcp
from contact_mpc.dynamics.exact.qp import solve_qp
from contact_mpc.dynamics.exact.socp import solve_socp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.dynamics.formulation import Derivatives, Formulation, SolvedStep
from contact_mpc.settings.arrays import FloatArray


class ExactFormulation(Formulation):
    """A step as a `StepProblem` that some solver takes."""

    _last: tuple[StepProblem, StepSolution] | None = None

    @abstractmethod
    def solve_problem(self, problem: StepProblem, start: ActivePoint | None) -> StepSolution:
        """Return the solution; the laws of `start` may be tried first."""

    def solve(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """See `Formulation.solve`."""
        solved, self._last = self._solve(q, u, offset, None)
        return solved

    def solve_near(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """See `Formulation.solve_near`: the laws that were active there go first."""
        return self._solve(q, u, offset, self._last)[0]

    def solve_next(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """See `Formulation.solve_next`: the laws that were active there go first."""
        solved, self._last = self._solve(q, u, offset, self._last)
        return solved

    def derivatives(self) -> Derivatives | None:
        """See `Formulation.derivatives`: by the implicit function theorem on the active laws."""
        return None if self._last is None else linearise_cones(self.builder, *self._last)

    def margin(self) -> float:
        """See `Formulation.margin`."""
        return 0.0 if self._last is None else self._last[1].margin

    def _solve(
        self, q: FloatArray, u: FloatArray, offset: FloatArray, near: tuple[StepProblem, StepSolution] | None
    ) -> tuple[SolvedStep, tuple[StepProblem, StepSolution]]:
        problem = self.build(q, u, offset)
        is_near = near is not None and np.array_equal(near[0].pair, problem.pair)
        found = self.solve_problem(problem, near[1].point if near is not None and is_near else None)
        model = self.builder.model
        force = np.zeros((len(model.mu), 3))
        force[problem.pair] = found.force * model.pairs.sign[problem.pair, None]
        solved = SolvedStep(found.dq, force, found.status, found.residual, found.iterations, problem.Q, problem.b)
        return solved, (problem, found)


class Socp(ExactFormulation):
    """Anitescu's convex program with friction cones, see `dynamics.exact.socp`."""

    def solve_problem(self, problem: StepProblem, start: ActivePoint | None) -> StepSolution:
        """See `ExactFormulation.solve_problem`."""
        return solve_socp(problem, start)


class Qp(ExactFormulation):
    """The same with polyhedral cones, see `dynamics.exact.qp`."""

    def solve_problem(self, problem: StepProblem, start: ActivePoint | None) -> StepSolution:
        """See `ExactFormulation.solve_problem`."""
        return solve_qp(problem, self.setup.ray_count, start)


class Lcp(ExactFormulation):
    """Stewart-Trinkle, see `dynamics.exact.lcp`; solutions need not be unique, so there are no derivatives."""

    is_differentiable = False
    is_coulomb = True
    default_regularization = "quasistatic"

    def solve_problem(self, problem: StepProblem, start: ActivePoint | None) -> StepSolution:
        """See `ExactFormulation.solve_problem`."""
        return solve_step_lcp(problem, self.setup.ray_count)
