"""What a solve comes to: a solution that satisfies the equations, or a status that says why there is none."""

from dataclasses import dataclass

from contact_mpc.planning.push.program.bounds import Modes
from contact_mpc.planning.push.program.residuals import Residuals
from contact_mpc.settings.arrays import FloatArray

SOLVED = "solved"
NOT_CONVERGED = "not_converged"


@dataclass(frozen=True)
class Solution:
    """States (N, n_x), inputs (N - 1, n_u), torques (N - 1, n_r) in N m, cost (7), modes."""

    z: FloatArray
    x: FloatArray
    u: FloatArray
    tau: FloatArray
    cost: float
    modes: Modes


@dataclass(frozen=True)
class ContactImplicitResult:
    """Outcome of a solve.

    Attributes
    ----------
    status : str
        "solved": `solution` is within the tolerance. "not_converged": there is none, residuals are of the best try.
    solution : Solution or None
        Never one whose residuals are above the tolerance.
    residuals : Residuals or None
        Of the solution, or of the best try.
    costs : tuple of float
        Cost of each start that ended in a solution.
    iterations : int
        Of all solves together.
    cpu_s : float
        Processor time of everything, s.
    message : str
        What happened and what to do.
    """

    status: str
    solution: Solution | None
    residuals: Residuals | None
    costs: tuple[float, ...]
    iterations: int
    cpu_s: float
    message: str = ""

    @property
    def is_solved(self) -> bool:
        """Whether there is a solution."""
        return self.solution is not None
