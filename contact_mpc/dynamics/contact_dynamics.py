"""The core's face: one step of contact dynamics and its linearisation, whatever the formulation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.exact.step_problem import ProblemBuilder, StepProblem
from contact_mpc.dynamics.formulation import Formulation, Residuals, SolvedStep, StepSetup
from contact_mpc.dynamics.smoothed.derivatives import DERIVATIVES
from contact_mpc.dynamics.smoothed.log_barrier import STEP
from contact_mpc.dynamics.smoothed.newton import make_newton
from contact_mpc.dynamics.smoothed.quadratic import NO_CODES, Codes, Model, assemble_quadratic
from contact_mpc.errors import InputError, ModelError
from contact_mpc.geometry.contacts import ALL_CONTACTS, build_pairs, make_kinematics, update_kinematics
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.system import System, check_number, check_vector
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.registry import Entry, Registry

EXACT = "contact_mpc.dynamics.exact.formulation"
FORMULATIONS: Registry[type[Formulation]] = Registry(
    "formulation",
    {
        "log_barrier": Entry("contact_mpc.dynamics.smoothed.formulation:LogBarrier", "smoothed by a log barrier"),
        "socp": Entry(f"{EXACT}:Socp", "Anitescu's convex program with friction cones"),
        "qp": Entry(f"{EXACT}:Qp", "the same with polyhedral cones"),
        "lcp": Entry(f"{EXACT}:Lcp", "Stewart-Trinkle, by Lemke's pivoting"),
        "second_order": Entry(
            "contact_mpc.dynamics.exact.second_order:SecondOrder", "Stewart-Trinkle with inertia and velocity"
        ),
    },
    error=InputError,
)
DEFAULT_EPSILON = 1e-6  # fraction of M_u that quasi-static objects keep
DEFAULT_RAY_COUNT = 8
DEEPEST_START_M = 0.01
UNBALANCED_FRACTION = 1e-3  # of the forces on an object that its remaining inertia may carry
LEAST_LOAD = 1e-3  # N and N m: an object without weight may miss its balance by this much
UNBALANCED, DEEP_PENETRATION, RUNAWAY = "unbalanced", "deep_penetration", "runaway"
LARGEST_MOVE = 1.0  # m or rad, of an lcp step: with redundant contacts it has solutions beyond, which mean nothing
LEAST_INERTIA = 1e-12  # smallest eigenvalue of the objects' mass matrix with ones on its diagonal
LARGEST_TOLERANCE = 1e-4  # dq is then off by 1 % of the width of the smoothing
DEFAULT_TOLERANCE = 1e-18  # on kappa * decrement^2 before the last direction; A and B are then exact to 2e-8, relative
CONVERGED_STATUS = "converged"


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
        Signed distances phi at q, m; inf for crossings of edges that two boxes do not have.
    status : str
        "converged"; "iteration_limit"; "infeasible" (no displacement resolves the penetrations); "ray_termination" (the
        same for lcp: pivoting found no solution); "runaway" (lcp: its solution moves something by more than 1 m or rad,
        where the linearised geometry says nothing; all: a free body turns by pi or more, which q_next cannot tell);
        "unbalanced" (quasi-static: the contacts cannot balance the forces on the objects, which run away);
        "deep_penetration" (solved, but a gap with its offset is below -1 cm at q, where gaps are no longer linear: move
        the bodies apart or pass an offset); "not_definite" (round-off); "failed" (no point was found that meets all
        conditions within the bounds of `dynamics.exact.residuals`, or for log_barrier balances within those of
        `dynamics.smoothed.round_off`).
    residual : float
        log_barrier: kappa * decrement^2 at the end, -. Others: largest entry of the force balance, N or N m.
    iterations : int
        log_barrier: Newton iterations over all stages. socp, qp: iterations of clarabel. lcp: pivots.

    Where socp, qp and lcp have no solution ("infeasible", "ray_termination", "failed", or stopped at a limit) q_next
    and impulses are NaN.
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
        return self.status == CONVERGED_STATUS


@dataclass(frozen=True)
class Linearization:
    """q_next ⊖ (nominal q_next) = A dq + B du to first order, tangent space; c (n_v,) is the nominal displacement.

    A and B are NaN where the step has no derivative: it did not converge, or a contact of qp or socp changes its mode.
    """

    A: FloatArray
    B: FloatArray
    c: FloatArray
    step: StepResult

    @property
    def is_differentiable(self) -> bool:
        """Whether A and B exist."""
        return bool(np.all(np.isfinite(self.A)))


def build_model(
    system: System, h_s: float | None = None, friction: float | None = None, mass_scale: float = 1.0
) -> Model:
    """Lay out a system for the compiled step, and compile or load that; arguments and errors as `lay_out`."""
    model = lay_out(system, h_s, friction, mass_scale)
    ws, q, u = make_newton(model), np.zeros(system.n_q), np.zeros(system.n_a)
    contacts = ALL_CONTACTS.address(model.tree, model.pairs, ws.kin, ws.con)
    step = STEP.address(model, ws, q, u, np.zeros(len(model.mu)), 1.0, 1.0, True)
    A, B = np.zeros((system.n_v, system.n_v)), np.zeros((system.n_v, system.n_a))
    derivatives = DERIVATIVES.address(model, ws, 1.0, np.hstack([A, B]), A, B)
    return model._replace(codes=Codes(contacts, step, derivatives))


def lay_out(system: System, h_s: float | None = None, friction: float | None = None, mass_scale: float = 1.0) -> Model:
    """Lay out a system without the addresses of the step's code; h_s and friction replace its own where given.

    Raises
    ------
    InputError
        h_s or friction is no number, h_s is not positive, friction is negative or a joint has no stiffness.
    ModelError
        Nothing can touch, or an object can move without inertia.
    """
    pairs = build_pairs(system)
    h = system.config.h_s if h_s is None else check_number("h_s", h_s)
    mu = pairs.mu if friction is None else np.full_like(pairs.mu, check_number("friction", friction))
    if not (np.isfinite(h) and h > 0.0):
        raise InputError(f"h_s = {h}; expected a positive time step in s, e.g. 0.1")
    if not np.all(np.isfinite(mu)) or np.any(mu < 0.0):
        raise InputError(f"friction = {friction}; expected a coefficient >= 0")
    if np.any(system.kp <= 0.0):
        raise InputError(f"joint stiffness {system.kp} N m/rad; every joint needs a positive stiffness")
    tree = system.tree._replace(mass=system.tree.mass * mass_scale, inertia_BC=system.tree.inertia_BC * mass_scale)
    gravity = np.array(system.config.gravity_m_s2)
    activation = system.config.activation_distance_m
    model = Model(tree, pairs, system.kp, gravity, mu, h, activation, system.n_v_u, NO_CODES)
    _check_inertia(system, model)
    return model


def _check_inertia(system: System, model: Model) -> None:
    """Raise ModelError where objects can move without inertia, so that Q is singular."""
    kin, Q, b = make_kinematics(model.tree), np.zeros((system.n_v, system.n_v)), np.zeros(system.n_v)
    update_kinematics(model.tree, system.q_default, kin)
    assemble_quadratic(model, kin, system.q_default, system.q_default[system.n_q_u :], Q, b)
    M = model.h**2 * Q[: system.n_v_u, : system.n_v_u]
    scale = np.sqrt(np.diag(M))
    if np.any(scale == 0.0) or np.linalg.eigvalsh(M / np.outer(scale, scale))[0] < LEAST_INERTIA:
        raise ModelError(
            f"{system.path}: objects {', '.join(system.object_names)} can move without inertia (diagonal of their mass "
            f"matrix: {np.diag(M)} kg, kg m^2): give every moving link a positive <mass> and <inertia>"
        )


class ContactDynamics:
    """Contact dynamics of a system, one step at a time, in one of five formulations.

    Parameters
    ----------
    system : System
    formulation : str
        "log_barrier": smoothed, see `dynamics.smoothed.log_barrier`; "socp", "qp": Anitescu's convex programs, see
        the modules of these names; "lcp": Stewart-Trinkle, see `contact_mpc.dynamics.exact.lcp`; "second_order": the
        same with Newton's second law, see `contact_mpc.dynamics.exact.second_order`.
    h_s, kappa, friction : float, optional
        Time step s, barrier weight 1/J, friction coefficient of all pairs; the system's where None.
    tolerance : float
        log_barrier: on kappa * decrement^2.
    regularization : str, optional
        "quasidynamic": objects start every step at rest and have their inertia M_u / h^2 (default). "quasistatic":
        forces on objects balance (default of lcp); of M_u the fraction `epsilon` is kept, so that of all motions that
        balance the least is taken, and "unbalanced" is reported where it carries more than a thousandth of the forces.
    epsilon : float
        Fraction of M_u under "quasistatic", -.
    ray_count : int
        Rays of the polyhedral cones of qp and lcp in space, even, at least 4; planar systems have two.

    Attributes
    ----------
    kind : type of Formulation
        What holds for its steps: `is_differentiable`, `is_coulomb`, `has_velocity`.
    """

    def __init__(
        self,
        system: System,
        formulation: str = "log_barrier",
        h_s: float | None = None,
        kappa: float | None = None,
        friction: float | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        regularization: str | None = None,
        epsilon: float = DEFAULT_EPSILON,
        ray_count: int = DEFAULT_RAY_COUNT,
    ) -> None:
        kind = FORMULATIONS.load(formulation)
        if regularization is None:
            regularization = kind.default_regularization
        if regularization not in kind.regularizations:
            allowed = ", ".join(kind.regularizations)
            raise InputError(f"regularization '{regularization}' of formulation {formulation}; allowed: {allowed}")
        if not 0.0 < check_number("epsilon", epsilon) <= 1.0:
            raise InputError(f"epsilon = {epsilon}; expected a fraction in (0, 1], e.g. {DEFAULT_EPSILON}")
        if ray_count < 4 or ray_count % 2:
            raise InputError(f"ray_count = {ray_count}; expected an even number of at least 4, e.g. 8")
        self.system, self.kind = system, kind
        self.formulation, self.regularization = formulation, regularization
        self.model = build_model(system, h_s, friction)
        self.h_s = self.model.h
        if regularization == "quasistatic":  # h enters the model as M_u / h^2 only
            self.model = self.model._replace(h=self.h_s / np.sqrt(epsilon))
        self.kappa = system.config.kappa_per_j if kappa is None else check_number("kappa", kappa)
        if not (np.isfinite(self.kappa) and self.kappa > 0.0):
            raise InputError(f"kappa = {kappa}; expected a positive log-barrier weight in 1/J, e.g. 1e4")
        if not 0.0 < check_number("tolerance", tolerance) <= LARGEST_TOLERANCE:
            raise InputError(f"tolerance = {tolerance}; expected more than 0, at most {LARGEST_TOLERANCE}, e.g. 1e-18")
        self.tolerance, self.ray_count = tolerance, ray_count
        builder = ProblemBuilder(self.model, system.q_default)
        self._workspace = builder.workspace
        self._solver = kind(StepSetup(system, builder, self.kappa, tolerance, ray_count))
        self._no_offset = np.zeros(len(self.model.mu))

    def step(
        self,
        q: FloatArray,
        u: FloatArray,
        offset: FloatArray | None = None,
        tau_a: FloatArray | None = None,
        velocity: FloatArray | None = None,
    ) -> StepResult:
        """Return the next configuration for the command u (n_a,) at q (n_q,).

        Parameters
        ----------
        q, u : (n_q,), (n_a,) array
        offset : (n_c,) array, optional
            Added to the gaps, m (contact by contact, e.g. to take out penetrations of a measured q).
        tau_a : (n_a,) array, optional
            External joint torques, N m, positive along +q: b = -[tau_u; K (u - q_a) + tau_a] (seeds/003, "What about
            friction?"), e.g. J' f of a load, or -g(q) where nothing compensates gravity; constant during the step.
        velocity : (n_v,) array, optional
            Of second_order: velocity at the start, rad/s and m/s; at rest where None. The next one is dq / h.

        Raises
        ------
        InputError
            An argument has a wrong shape or non-finite values, q a quaternion that is not of unit norm, or the
            formulation knows no velocity.
        """
        q, u, offset = self._check(q, u, offset, velocity)
        if tau_a is not None:  # the command whose springs pull as much
            u = u + check_vector("tau_a", tau_a, self.system.n_a) / self.model.K
        return self._step(q, u, offset)[0]

    def step_next(self, q: FloatArray, u: FloatArray) -> StepResult:
        """Return the next configuration as `step` does, of a step that follows the last one.

        With qp and socp the laws that were active in that are tried first, which halves the time of a step where they
        are still the right ones. q_next is that of `step` to round-off; so are the forces, where they are unique.
        """
        q, u, offset = self._check(q, u, None)
        return self._result(self._solver.solve_next(q, u, offset), offset, q)

    def residuals(self, q: FloatArray, u: FloatArray, offset: FloatArray | None = None) -> Residuals:
        """Return how far the step at (q, u) is from the laws of contact, in the same units for every formulation."""
        q, u, offset = self._check(q, u, offset)
        return self._solver.residuals(q, u, offset, self._step(q, u, offset)[1])

    def linearize(self, q: FloatArray, u: FloatArray, offset: FloatArray | None = None) -> Linearization:
        """Return A (n_v, n_v), B (n_v, n_a) and the displacement c (n_v,) at (q, u), in tangent space.

        A and B are NaN where the step did not converge.

        Raises
        ------
        InputError
            As `step`; and for lcp, whose solutions need not be unique or differentiable.
        """
        if not self._solver.is_differentiable:
            allowed = ", ".join(name for name in FORMULATIONS if FORMULATIONS.load(name).is_differentiable)
            raise InputError(f"formulation '{self.formulation}' has no derivatives; take one of {allowed}")
        result, solved = self._step(*self._check(q, u, offset))
        n_v, n_a = self.system.n_v, self.system.n_a
        found = self._solver.derivatives() if result.is_converged else None
        A, B = found or (np.full((n_v, n_v), np.nan), np.full((n_v, n_a), np.nan))
        return Linearization(A, B, solved.dq, result)

    def steps_near(self, q: FloatArray, u: FloatArray, moves: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return q_next (N, n_q) from (q, u) moved by the rows of moves (N, n_v + n_a), and if converged.

        As `step` from each, but with qp and socp the laws that are active at (q, u) are tried first, which spares the
        solver wherever they are the right ones: for differences.
        """
        q, u, offset = self._check(q, u, None)
        self._step(q, u, offset)
        n_v, found, is_found = self.system.n_v, np.empty((len(moves), self.system.n_q)), np.empty(len(moves), bool)
        for i, move in enumerate(moves):
            q_i, u_i = self.system.integrate(q, move[:n_v]), u + move[n_v:]
            result = self._result(self._solver.solve_near(q_i, u_i, offset), offset, q_i)
            found[i], is_found[i] = result.q_next, result.is_converged
        return found, is_found

    def margin(self, q: FloatArray, u: FloatArray, offset: FloatArray | None = None) -> float:
        """Return how clearly the laws of a qp or socp step are active or inactive, m; 0 at a change of mode."""
        self._step(*self._check(q, u, offset))
        return self._solver.margin()

    def assemble(
        self, q: FloatArray, u: FloatArray, offset: FloatArray | None = None, velocity: FloatArray | None = None
    ) -> StepProblem:
        """Return the matrices of the step at (q, u), as its solver sees them, or socp's for log_barrier."""
        return self._solver.build(*self._check(q, u, offset, velocity))

    def _check(
        self, q: FloatArray, u: FloatArray, offset: FloatArray | None, velocity: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        self._solver.begin(None if velocity is None else check_vector("velocity", velocity, self.system.n_v))
        q, u = self.system.check_q(q), self.system.check_u(u)
        return q, u, self._no_offset if offset is None else check_vector("offset", offset, len(self._no_offset))

    def _step(self, q: FloatArray, u: FloatArray, offset: FloatArray) -> tuple[StepResult, SolvedStep]:
        solved = self._solver.solve(q, u, offset)
        return self._result(solved, offset, q), solved

    def _result(self, solved: SolvedStep, offset: FloatArray, q: FloatArray) -> StepResult:
        status = self._judge(solved.status, solved.Q, solved.b, solved.dq, offset)
        is_found = bool(np.all(np.isfinite(solved.dq)))
        q_next = self.system.integrate(q, solved.dq) if is_found else np.full(self.system.n_q, np.nan)
        gaps = self._workspace.con.phi.copy()
        return StepResult(q_next, self.h_s * solved.force, gaps, status, solved.residual, solved.iterations)

    def _judge(self, status: str, Q: FloatArray, b: FloatArray, dq: FloatArray, offset: FloatArray) -> str:
        """Return the status of a step, of which a converged one may still not be what it stands for."""
        if status != CONVERGED_STATUS:
            return status
        if np.any(self._workspace.con.phi + offset < -DEEPEST_START_M):
            return DEEP_PENETRATION
        if not self._is_balanced(Q, b, dq):
            return UNBALANCED
        is_far = self.kind.is_coulomb and bool(np.abs(dq).max(initial=0.0) > LARGEST_MOVE)
        return RUNAWAY if is_far or self._turns_over(dq) else status

    def _turns_over(self, dq: FloatArray) -> bool:
        """Whether dq turns a free body by pi or more: its next orientation does not tell by how much."""
        starts = self.system.tree.i_v[self.system.tree.joint == FREE]
        return any(np.linalg.norm(dq[i : i + 3]) >= np.pi for i in starts)

    def _is_balanced(self, Q: FloatArray, b: FloatArray, dq: FloatArray) -> bool:
        """Whether the objects' remaining inertia carries next to nothing; True for quasi-dynamic objects."""
        n = self.model.n_v_u
        carried, load = np.abs(Q[:n, :n] @ dq[:n]), np.abs(b[:n])
        allowed = UNBALANCED_FRACTION * (load + load.max(initial=0.0))
        return self.regularization == "quasidynamic" or bool(np.all(carried <= np.maximum(allowed, LEAST_LOAD)))
