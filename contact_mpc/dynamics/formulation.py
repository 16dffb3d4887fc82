"""The face of every formulation of a contact step, and residuals that mean the same for all of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from contact_mpc.dynamics.exact.step_problem import ProblemBuilder, StepProblem
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

Derivatives = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class StepSetup:
    """What a formulation is built from.

    Attributes
    ----------
    system : System
        What moves.
    builder : ProblemBuilder
        Kinematics, contacts and matrices of a step, with the workspace that they stand in.
    kappa, tolerance : float
        Log-barrier weight, 1/J, and the tolerance on kappa * decrement^2, -.
    ray_count : int
        Rays of polyhedral cones in space.
    """

    system: System
    builder: ProblemBuilder
    kappa: float
    tolerance: float
    ray_count: int


@dataclass(frozen=True)
class SolvedStep:
    """A step as solved.

    Attributes
    ----------
    dq : (n_v,) array
        Displacement in tangent space; NaN where there is none.
    force : (n_c, 3) array
        Contact forces on the object of each pair, world frame, N; 0 beyond the activation distance.
    status : str
        As in `StepResult`.
    residual : float
        The solver's own, see `StepResult`; `residuals` is the one to compare by.
    iterations : int
        Of the solver.
    Q, b : (n_v, n_v), (n_v,) array
        Energy of the step, N/m and N (or per rad).
    """

    dq: FloatArray
    force: FloatArray
    status: str
    residual: float
    iterations: int
    Q: FloatArray
    b: FloatArray


@dataclass(frozen=True)
class Residuals:
    """How far a step is from the laws of Anitescu's convex contact, in the same units whatever solved it.

    Attributes
    ----------
    balance_n : float
        max |Q dq + b - sum_i J_i' f_i|, N or N m: the forces balance.
    friction_n : float
        max (|f_t| - mu f_n)_+, N: forces are in their cones.
    penetration_m : float
        max (-(phi + n' J dq))_+, m: linearised gaps are not negative.
    complementarity_j : float
        max |f_n (phi + n' J dq - mu |d_t|)|, J: forces act at closed gaps, and against the sliding. The smoothed step
        keeps 1/kappa or so of it by design; lcp, whose gap opens without friction, mu |d_t| f_n where it slides.
    """

    balance_n: float
    friction_n: float
    penetration_m: float
    complementarity_j: float

    def is_within(self, balance_n: float, friction_n: float, penetration_m: float, complementarity_j: float) -> bool:
        """Whether all residuals are within limits; never with NaN."""
        pairs = (
            (self.balance_n, balance_n),
            (self.friction_n, friction_n),
            (self.penetration_m, penetration_m),
            (self.complementarity_j, complementarity_j),
        )
        return all(value <= limit for value, limit in pairs)


class Formulation(ABC):
    """One way to solve a contact step; adding one is a file and a line of `FORMULATIONS`."""

    is_differentiable = True
    is_coulomb = False  # contacts stay closed where they slide; in Anitescu's convex programs they open
    has_velocity = False  # whether a step depends on the velocity that it begins with
    default_regularization = "quasidynamic"
    regularizations: tuple[str, ...] = ("quasidynamic", "quasistatic")

    def __init__(self, setup: StepSetup) -> None:
        self.system, self.setup = setup.system, setup
        self.builder, self.workspace = setup.builder, setup.builder.workspace

    def begin(self, velocity: FloatArray | None) -> None:
        """Take the velocity (n_v,), rad/s and m/s, with which the next step begins; None at rest.

        Raises
        ------
        InputError
            The formulation has none: whatever moves comes to rest in every step.
        """
        if velocity is not None:
            raise InputError(f"{type(self).__name__} knows no velocity; take the formulation second_order, or leave it")

    def build(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> StepProblem:
        """Return the step as matrices."""
        return self.builder.build(q, u, offset)

    @abstractmethod
    def solve(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """Return the step from q (n_q,) under the command u (n_a,), with offset (n_c,), m, added to the gaps.

        The builder's workspace is left at q, with the gaps there in `con.phi`.
        """

    @abstractmethod
    def derivatives(self) -> Derivatives | None:
        """Return A (n_v, n_v), B (n_v, n_a) of the last converged step in tangent space; None where it has none."""

    def residuals(self, q: FloatArray, u: FloatArray, offset: FloatArray, solved: SolvedStep) -> Residuals:
        """Return the residuals of a step, recomputed from the matrices of the step; NaN where there is none."""
        problem = self.build(q, u, offset)
        force = solved.force[problem.pair] * self.builder.model.pairs.sign[problem.pair, None]
        dq, n = solved.dq, problem.n
        if not np.all(np.isfinite(dq)):
            return Residuals(np.nan, np.nan, np.nan, np.nan)
        d = problem.J @ dq
        d_n, f_n = np.sum(n * d, axis=1), np.sum(n * force, axis=1)
        d_t = np.linalg.norm(d - d_n[:, None] * n, axis=1)
        f_t = np.linalg.norm(force - f_n[:, None] * n, axis=1)
        balance = problem.force_balance(dq, force)
        gap = problem.phi + d_n
        return Residuals(
            float(np.abs(balance).max(initial=0.0)),
            float(np.maximum(f_t - problem.mu * f_n, 0.0).max(initial=0.0)),
            float(np.maximum(-gap, 0.0).max(initial=0.0)),
            float(np.abs(f_n * (gap - problem.mu * d_t)).max(initial=0.0)),
        )

    def solve_near(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """Return the step, which is near the last one of `solve`: what was active there may be tried first."""
        return self.solve(q, u, offset)

    def solve_next(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> SolvedStep:
        """Return the step that follows the last one of `solve` or of this: what was active there may be tried first."""
        return self.solve(q, u, offset)

    def margin(self) -> float:
        """Return how clearly the laws of the last step are active or inactive, m; 0 at a change of mode.

        Raises
        ------
        InputError
            The formulation has no modes.
        """
        raise InputError(f"{type(self).__name__} has no modes, so no margin to a change of mode")
