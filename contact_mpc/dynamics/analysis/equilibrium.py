"""Where an impedance-controlled arm comes to rest in contact, for a command u, with the objects held in place.

Linearised (last slides of seeds/001, "The steady state joint angle is the solution of"):

    min over dq   1/2 (dq - dq_cmd)' K (dq - dq_cmd)   s.t.   J_f dq = 0       =>   K (dq - dq_cmd) = J_f' f

True equilibrium: K (q_a - u) = J_a(q)' f with the contacts closed and f in the friction cones, found by steps of

    min over dq   1/2 dq' H dq - (K (u - q_a))' dq   s.t.   phi_i + n_i . d_i >= mu_i |d_t_i|

until dq vanishes; whatever H, no step is left at an equilibrium only. H = K with friction; without friction H is K
plus the curvature of the contacts under load (Newton's method), as long as that is definite. With friction there are
many equilibria: the result is the one that is reached from the given start while u is kept.
"""

from dataclasses import dataclass, replace

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.exact.active_set import solve_kkt
from contact_mpc.dynamics.exact.socp import solve_socp
from contact_mpc.dynamics.exact.step_problem import ProblemBuilder, StepProblem
from contact_mpc.dynamics.smoothed.derivatives import contact_motion
from contact_mpc.errors import InputError
from contact_mpc.model.system import System, check_vector
from contact_mpc.settings.arrays import FloatArray

TOLERANCE = 1e-10  # rad or m: of the last step
MAX_STEPS = 200
LARGEST_STEP = 0.3  # rad or m: what one linearisation is trusted for


@dataclass(frozen=True)
class Equilibrium:
    """Rest in contact.

    Attributes
    ----------
    q : (n_q,) array
        Configuration; objects as they were.
    forces : (n_c, 3) array
        Contact forces on the object, world frame, N.
    torque : (n_a,) array
        External joint torque J_a' f = K (q_a - u), positive when it pushes along +q, N m.
    gaps : (n_c,) array
        Signed distances at q, m.
    status : str
        "converged", "iteration_limit", or of a step that has no solution.
    residual : float
        Largest entry of K (q_a - u) - J_a' f, N m.
    iterations : int
        Steps.
    """

    q: FloatArray
    forces: FloatArray
    torque: FloatArray
    gaps: FloatArray
    status: str
    residual: float
    iterations: int


def linearised_equilibrium(stiffness: FloatArray, J_f: FloatArray, dq_cmd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return dq (n,) and the contact forces f (m,) on the arm along the rows of J_f (m, n).

    Parameters
    ----------
    stiffness : (n,) array
        Joint stiffness, N m/rad, positive.
    J_f : (m, n) array
        Velocities of the contact points along the constrained directions; rows may depend on each other, then f is
        the least of those that fit.
    dq_cmd : (n,) array
        Change of the command, rad.
    """
    n = np.asarray(stiffness).size
    K, dq_cmd = check_vector("stiffness", stiffness, n), check_vector("dq_cmd", dq_cmd, n)
    J_f = np.asarray(J_f, dtype=np.float64)
    if np.any(K <= 0.0):
        raise InputError(f"stiffness {K} N m/rad; every joint needs a positive stiffness")
    if J_f.ndim != 2 or J_f.shape[1] != n or not np.all(np.isfinite(J_f)):
        raise InputError(f"J_f has shape {J_f.shape}; expected (m, {n}) finite values")
    kkt = np.block([[np.diag(K), J_f.T], [J_f, np.zeros((len(J_f), len(J_f)))]])
    x = solve_kkt(kkt, n, np.concatenate([K * dq_cmd, np.zeros(len(J_f))])).x
    return x[:n], -x[n:]


def solve_equilibrium(system: System, q: FloatArray, u: FloatArray, friction: float | None = None) -> Equilibrium:
    """Return where the robots come to rest from q (n_q,) under the command u (n_a,).

    friction replaces the coefficients of all pairs; 0 leaves the normal forces only.

    Raises
    ------
    InputError
        q, u or friction are not valid, as for `ContactDynamics`.
    """
    q, u = system.check_q(q), system.check_u(u)
    model = build_model(system, friction=friction)
    builder = ProblemBuilder(model, q)
    offset = np.zeros(len(model.mu))
    force, status, iterations, size = np.zeros((len(model.mu), 3)), "converged", 0, np.inf
    while size > TOLERANCE:
        if iterations == MAX_STEPS:
            status = "iteration_limit"
            break
        iterations += 1
        problem = builder.build(q, u, offset)
        solution = solve_socp(_robots_only(builder, problem, force))
        if solution.status != "converged":
            status = solution.status
            break
        force = np.zeros_like(force)
        force[problem.pair] = solution.force
        size = float(np.abs(solution.dq).max())
        dq = np.concatenate([np.zeros(system.n_v_u), solution.dq * min(1.0, LARGEST_STEP / max(size, TOLERANCE))])
        q = system.integrate(q, dq)
    problem = builder.build(q, u, offset)
    torque = np.einsum("kiv,ki->v", problem.J, force[problem.pair])[system.n_v_u :]
    residual = float(np.abs(problem.b[system.n_v_u :] - torque).max())
    gaps = builder.workspace.con.phi.copy()
    return Equilibrium(q, force * model.pairs.sign[:, None], torque, gaps, status, residual, iterations)


def _robots_only(builder: ProblemBuilder, problem: StepProblem, force: FloatArray) -> StepProblem:
    """Return the problem in the robots' coordinates, with H as its quadratic part; force (n_c, 3) on A, N."""
    n_v_u = builder.model.n_v_u
    K, H = np.diag(builder.model.K), None
    if not np.any(problem.mu):
        H = K + _curvature_of_contacts(builder, force)
    is_definite = H is not None and np.linalg.eigvalsh(H).min() > 1e-3 * builder.model.K.min()
    return replace(
        problem,
        Q=H if H is not None and is_definite else K,
        b=problem.b[n_v_u:],
        J=np.ascontiguousarray(problem.J[:, :, n_v_u:]),
    )


def _curvature_of_contacts(builder: ProblemBuilder, force: FloatArray) -> FloatArray:
    """Return -d(J_a' f)/dq_a (n_a, n_a) for normal forces of constant size, N m/rad, symmetric."""
    model, ws = builder.model, builder.workspace
    n_v = model.tree.dof_body.shape[0]
    G, rows = np.zeros((n_v, n_v)), np.empty((model.pairs.dofs.shape[1], 2, 3))
    ws.dq[:] = 0.0
    for c in np.flatnonzero(np.any(force != 0.0, axis=1)):
        ws.w[c] = -force[c]
        motion, count = np.zeros((len(rows), 7)), model.pairs.dof_count[c]
        contact_motion(model, ws, c, G, rows, motion)
        dofs = model.pairs.dofs[c, :count]
        turned = -np.linalg.norm(force[c]) * motion[:count, 1:4]  # the normal force turns with the normal
        np.add.at(G, np.ix_(dofs, dofs), ws.con.J[c, :count] @ turned.T)
    curvature = G[model.n_v_u :, model.n_v_u :]
    return 0.5 * (curvature + curvature.T)
