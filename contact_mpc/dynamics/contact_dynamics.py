"""The core's face: one step of contact dynamics and its linearisation, whatever the formulation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.derivatives import solve_derivatives, tangent_derivatives
from contact_mpc.dynamics.log_barrier import CONVERGED, INFEASIBLE, ITERATION_LIMIT, make_newton, solve_step
from contact_mpc.dynamics.quadratic import Model
from contact_mpc.errors import InputError
from contact_mpc.geometry.contacts import build_pairs
from contact_mpc.model.system import System, check_vector

FloatArray = NDArray[np.float64]
FORMULATIONS = ("log_barrier",)
DEFAULT_TOLERANCE = 1e-14  # on kappa * decrement^2; B is then exact to about 1e-9
STATUS = {
    CONVERGED: "converged",
    ITERATION_LIMIT: "iteration_limit",
    INFEASIBLE: "infeasible",
}
NOT_DEFINITE_STATUS = "not_definite"


@dataclass(frozen=True)
class StepResult:
    """One step.

    Attributes
    ----------
    q_next : (n_q,) array
        Next configuration.
    impulses : (n_c, 3) array
        lam = h f on the object at each contact, world frame, N s.
    gaps : (n_c,) array
        Signed distances phi at q, m.
    status : str
        "converged", "iteration_limit", "infeasible" (no displacement resolves the penetrations) or "not_definite".
    residual : float
        kappa * decrement^2 at the end, -.
    iterations : int
        Newton iterations over all stages.
    """

    q_next: FloatArray
    impulses: FloatArray
    gaps: FloatArray
    status: str
    residual: float
    iterations: int

    @property
    def is_converged(self) -> bool:
        """Whether q_next solves the step to the tolerance."""
        return self.status == STATUS[CONVERGED]


@dataclass(frozen=True)
class Linearisation:
    """q_next ⊖ (nominal q_next) = A dq + B du to first order, tangent space; c (n_v,) is the nominal displacement."""

    A: FloatArray
    B: FloatArray
    c: FloatArray
    step: StepResult


def build_model(
    system: System, h_s: float | None = None, friction: float | None = None, mass_scale: float = 1.0
) -> Model:
    """Lay out a system for the compiled step; h_s and friction replace the system's own where given.

    Raises
    ------
    InputError
        h_s is not positive, friction is negative or a joint has no stiffness.
    """
    pairs = build_pairs(system)
    h = system.config.h_s if h_s is None else float(h_s)
    mu = pairs.mu if friction is None else np.full_like(pairs.mu, friction)
    if not (np.isfinite(h) and h > 0.0):
        raise InputError(f"h_s = {h}; expected a positive time step in s, e.g. 0.1")
    if not np.all(np.isfinite(mu)) or np.any(mu < 0.0):
        raise InputError(f"friction = {friction}; expected a coefficient >= 0")
    if np.any(system.kp <= 0.0):
        raise InputError(f"joint stiffness {system.kp} N m/rad; every joint needs a positive stiffness")
    tree = system.tree._replace(mass=system.tree.mass * mass_scale, inertia_BC=system.tree.inertia_BC * mass_scale)
    gravity = np.array(system.config.gravity_m_s2)
    return Model(tree, pairs, system.kp, gravity, mu, h, system.config.activation_distance_m, system.n_v_u)


class ContactDynamics:
    """Quasi-dynamic contact dynamics of a system.

    Parameters
    ----------
    system : System
    formulation : str
        "log_barrier": smoothed, see `contact_mpc.dynamics.log_barrier`.
    h_s, kappa, friction : float, optional
        Time step s, barrier weight 1/J, friction coefficient of all pairs; the system's where None.
    tolerance : float
        On kappa * decrement^2.
    """

    def __init__(
        self, system: System, formulation: str = "log_barrier", h_s: float | None = None,
        kappa: float | None = None, friction: float | None = None, tolerance: float = DEFAULT_TOLERANCE,
    ) -> None:
        if formulation not in FORMULATIONS:
            raise InputError(f"formulation '{formulation}'; allowed: {', '.join(FORMULATIONS)}")
        self.system = system
        self.model = build_model(system, h_s, friction)
        self.kappa = float(system.config.kappa_per_j if kappa is None else kappa)
        if not (np.isfinite(self.kappa) and self.kappa > 0.0):
            raise InputError(f"kappa = {kappa}; expected a positive log-barrier weight in 1/J, e.g. 1e4")
        self.tolerance = tolerance
        self._workspace = make_newton(self.model)
        self._no_offset = np.zeros(len(self.model.mu))

    def step(self, q: FloatArray, u: FloatArray, offset: FloatArray | None = None) -> StepResult:
        """Return the next configuration for the command u (n_a,) at q (n_q,).

        offset (n_c,), m, is added to the gaps (contact by contact, e.g. to take out penetrations of a measured q).

        Raises
        ------
        InputError
            q or u have a wrong shape, non-finite values or a quaternion that is not of unit norm.
        """
        q, u = self.system.check_q(q), self.system.check_u(u)
        offset = self._no_offset if offset is None else check_vector("offset", offset, len(self._no_offset))
        ws = self._workspace
        code, iterations, residual = solve_step(
            self.model, ws, q, u, offset, self.kappa, self.tolerance, False
        )
        force = -ws.w * self.model.pairs.sign[:, None]
        q_next = self.system.integrate(q, ws.dq)
        return StepResult(
            q_next, self.model.h * force, ws.con.phi.copy(), STATUS.get(code, NOT_DEFINITE_STATUS), float(residual),
            int(iterations),
        )

    def linearize(self, q: FloatArray, u: FloatArray, offset: FloatArray | None = None) -> Linearisation:
        """Return A (n_v, n_v), B (n_v, n_a) and the displacement c (n_v,) at (q, u), in tangent space."""
        result = self.step(q, u, offset)
        n_v, n_a = self.system.n_v, self.system.n_a
        X, A, B = np.empty((n_v, n_v + n_a)), np.empty((n_v, n_v)), np.empty((n_v, n_a))
        if not solve_derivatives(self.model, self._workspace, self.kappa, X):
            A.fill(np.nan)
            B.fill(np.nan)
            return Linearisation(A, B, self._workspace.dq.copy(), result)
        tangent_derivatives(self.model, self._workspace, X, A, B)
        return Linearisation(A, B, self._workspace.dq.copy(), result)
