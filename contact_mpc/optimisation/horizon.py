"""One iteration of tracking on the smoothed linearisation over T steps, in one compiled call.

    roll out    q_{k+1} = f(q_k, u_k), A_k, B_k                                     k = 0 .. T-1
    minimise    sum_{k=1..T} |e_k|^2_{W_e} + sum_{k=0..T-1} |u_k - u_ref_k|^2_{W_u} + |u_k - u_{k-1}|^2_{W_du}
    subject to  u_min <= u_k <= u_max,  |u_k - u_k nominal| <= trust,  |u_0 - u_{-1}| <= first_step
                stretch_min <= u_k - q_a,{k+1} <= stretch_max

with e_k the tangent difference of the object to its reference and its change A .. B du (to first order in e). The
stretch of the joints' springs at the end of a step is bounded about the roll-out's joints, as if these stayed where
they are: exact when iterations have settled. Where the limits contradict each other, that of the first step goes
before the limits, both before the trust region, and this before the stretch, which a solve then only comes nearer.
A `ContactTrust` adds one-sided costs on the contact forces, a `LoadCost` on the stretch of the joints' springs, both
with the same linearisation.
T = 1 with W_du = 0 is the controller of seeds/003, "Controller". The states are eliminated, the box program in du is
solved by `box_qp`, and u is the nominal of the next iteration.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.derivatives import take_derivatives
from contact_mpc.dynamics.smoothed.integration import integrate_into
from contact_mpc.dynamics.smoothed.log_barrier import CONVERGED, take_step
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE, Tree
from contact_mpc.model.rotations import quaternion_log, quaternion_multiply
from contact_mpc.model.system import System
from contact_mpc.optimisation.box_qp import HorizonHessian, solve_box_qp
from contact_mpc.optimisation.contact_trust import ContactTrust, make_contact_trust, record_cones, write_hinges
from contact_mpc.optimisation.hinged_qp import solve_hinged_qp
from contact_mpc.optimisation.load_cost import LoadCost, count_loads, write_loads
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER
from contact_mpc.settings.code.separate_code import NO_CODE, SeparateCode
from contact_mpc.settings.named_arrays import Shape, allocate


class Weights(NamedTuple):
    """Cost of the object's error W_e (n_v_u,), of the last one W_T, of commands W_u, changes W_du (n_a,), and loads."""

    W_e: FloatArray
    W_T: FloatArray
    W_u: FloatArray
    W_du: FloatArray
    load: LoadCost


class CommandLimits(NamedTuple):
    """Limits of u, trust region about the nominal, bound of the first change, limits of u - q_a; (n_a,) rad (m)."""

    lower: FloatArray
    upper: FloatArray
    trust: FloatArray
    first_step: FloatArray
    stretch_min: FloatArray
    stretch_max: FloatArray


def build_weights(
    system: System,
    rotation: float,
    position: float,
    terminal_scale: float,
    command: float,
    rate: float,
    load: float = 0.0,
    load_share: float = 1.0,
) -> Weights:
    """Return diagonal weights, 1/rad^2 (1/m^2): `rotation` where an object turns, else `position`.

    `load` counts where springs carry more than `load_share` of the effort limits.
    """
    kinds, ones = system.tree.dof_kind[: system.n_v_u], np.ones(system.n_a)
    W_e = np.where(kinds == REVOLUTE, rotation, position)
    cost = LoadCost(load_share * system.tau_max_nm / system.kp, load)
    return Weights(W_e, terminal_scale * W_e, command * ones, rate * ones, cost)


def build_limits(system: System, margin: float, trust: float, first_step: float | FloatArray) -> CommandLimits:
    """Return the joint limits less a margin, trust region and bound of the first change, any stretch; rad (m)."""
    ones = np.ones(system.n_a)
    return CommandLimits(
        system.q_min + margin, system.q_max - margin, trust * ones, first_step * ones, -np.inf * ones, np.inf * ones
    )


class Horizon(NamedTuple):
    """Workspace and result over T steps.

    q : (T + 1, n_q), u : (T, n_a) nominal in, solution out;  q_ref : (T + 1, n_q) of which q_u counts
    u_ref : (T, n_a), u_before : (n_a,) command before the first step;  offset : (n_c,) added to all gaps, m
    dq : (T, n_v) displacements;  force : (T, n_c, 3) on the sphere of each pair, N; both start the next solve
    A, B : (T, ..);  H, f : the box program;  error : (T, n_v_u) e_{k+1}
    status : (T,) of each step;  counts : Newton iterations, factorisations, status of the box program
    last_change : (1,) largest |du|, rad
    roll_out_code : address of `roll_out` in this process
    """

    q: Annotated[FloatArray, Shape("T + 1", "n_q")]
    u: Annotated[FloatArray, Shape("T", "n_a")]
    q_ref: Annotated[FloatArray, Shape("T + 1", "n_q")]
    u_ref: Annotated[FloatArray, Shape("T", "n_a")]
    u_before: Annotated[FloatArray, Shape("n_a")]
    offset: Annotated[FloatArray, Shape("n_c")]
    dq: Annotated[FloatArray, Shape("T", "n_v")]
    force: Annotated[FloatArray, Shape("T", "n_c", 3)]
    A: Annotated[FloatArray, Shape("T", "n_v", "n_v")]
    B: Annotated[FloatArray, Shape("T", "n_v", "n_a")]
    X: Annotated[FloatArray, Shape("n_v", "n_v + n_a")]
    error: Annotated[FloatArray, Shape("T", "n_u")]
    H: HorizonHessian
    f: Annotated[FloatArray, Shape("T * n_a")]
    status: Annotated[NDArray[np.int64], Shape("T", dtype=np.int64)]
    counts: Annotated[NDArray[np.int64], Shape(3, dtype=np.int64)]
    last_change: Annotated[FloatArray, Shape(1)]
    newton: Newton
    contact_trust: ContactTrust
    roll_out_code: int


def make_horizon(model: Model, n_q: int, T: int, contact_trust: ContactTrust | None = None) -> Horizon:
    """Allocate for T steps of a model with n_q configuration variables; without a contact trust region by default."""
    n_v, n_a, n_c, n_u = model.tree.dof_body.shape[0], model.K.shape[0], model.mu.shape[0], model.n_v_u
    if contact_trust is None:
        contact_trust = make_contact_trust(model, T, np.full(n_c, -1), 0.0)
    H = HorizonHessian(np.zeros(T * n_a), np.zeros(T * n_a), np.zeros((T * n_u, T * n_a)), n_a)
    sizes = {"T": T, "n_q": n_q, "n_v": n_v, "n_a": n_a, "n_c": n_c, "n_u": n_u}
    hz = allocate(Horizon, sizes, H=H, newton=make_newton(model), contact_trust=contact_trust, roll_out_code=NO_CODE)
    return hz._replace(roll_out_code=ROLL_OUT.address(model, hz, 1.0, 1.0, True))


def forget_solution(hz: Horizon) -> None:
    """Let the next solve start from nothing."""
    hz.dq[:] = 0.0
    hz.force[:] = 0.0


@njit(**COMPILED)
def object_error_into(tree: Tree, n_v_u: int, q_ref: FloatArray, q: FloatArray, out: FloatArray) -> None:
    """Write the tangent difference (n_v_u,) of the objects in q to those in q_ref."""
    for b in range(tree.parent.shape[0]):
        i, j = tree.i_q[b], tree.i_v[b]
        if j >= n_v_u:
            continue
        if tree.joint[b] == FREE:
            conjugate = q_ref[i : i + 4] * np.array([1.0, -1.0, -1.0, -1.0])
            out[j : j + 3] = quaternion_log(quaternion_multiply(q[i : i + 4], conjugate))
            for k in range(3):
                out[j + 3 + k] = q[i + 4 + k] - q_ref[i + 4 + k]
        else:
            out[j] = q[i] - q_ref[i]


@njit(**COMPILED)
def roll_out(model: Model, hz: Horizon, kappa: float, tolerance: float, linearise: bool) -> bool:
    """Fill q, dq, force, status and, with `linearise`, A and B from q[0] and u; False where a step fails."""
    hz.counts[0] = 0
    for k in range(hz.u.shape[0]):
        hz.newton.dq[:] = hz.dq[k]
        hz.newton.w[:] = -hz.force[k]
        status, iterations, _residual = take_step(
            model.codes.step, (model, hz.newton, hz.q[k], hz.u[k], hz.offset, kappa, tolerance, True)
        )
        hz.status[k] = status
        hz.counts[0] += iterations
        if status != CONVERGED:
            return False
        hz.dq[k] = hz.newton.dq
        hz.force[k] = -hz.newton.w
        integrate_into(model.tree, hz.q[k], hz.dq[k], hz.q[k + 1])
        if linearise:
            take_derivatives(model.codes.derivatives, (model, hz.newton, kappa, hz.X, hz.A[k], hz.B[k]))
            if hz.contact_trust.watched.shape[0] > 0:
                record_cones(model, hz.newton, kappa, hz.X, hz.contact_trust, k)
    return True


ROLL_OUT = SeparateCode(roll_out, types.boolean)
take_roll_out = ROLL_OUT.call


@njit(**INNER)
def _weighted_sensitivities(model: Model, hz: Horizon, weights: Weights) -> None:
    """Write M: sqrt(W_e) times the object rows of A_k ... A_{j+1} B_j, by backward products of n_v_u rows."""
    T, n_a, n_u = hz.u.shape[0], hz.u.shape[1], model.n_v_u
    for k in range(T):
        P, rows = hz.A[k, :n_u].copy(), hz.H.M[k * n_u : (k + 1) * n_u]
        rows[:, k * n_a : (k + 1) * n_a] = hz.B[k, :n_u]
        for j in range(k - 1, -1, -1):
            rows[:, j * n_a : (j + 1) * n_a] = P @ hz.B[j]
            P = P @ hz.A[j]
        for r in range(n_u):
            rows[r, : (k + 1) * n_a] *= np.sqrt(weights.W_T[r] if k == T - 1 else weights.W_e[r])


@njit(**INNER)
def _assemble_program(model: Model, hz: Horizon, weights: Weights) -> None:
    """Write H = D + M'M and f of the program in du from M."""
    T, n_a, n_u = hz.u.shape[0], hz.u.shape[1], model.n_v_u
    hz.f[:] = 0.0
    hz.H.coupling[:] = 0.0
    for k in range(T):
        object_error_into(model.tree, n_u, hz.q_ref[k + 1], hz.q[k + 1], hz.error[k])
        for r in range(n_u):
            root = np.sqrt(weights.W_T[r] if k == T - 1 else weights.W_e[r])
            for i in range((k + 1) * n_a):
                hz.f[i] += root * hz.error[k, r] * hz.H.M[k * n_u + r, i]
    for k in range(T):
        for a in range(n_a):
            i = k * n_a + a
            before = hz.u[k - 1, a] if k > 0 else hz.u_before[a]
            rate = weights.W_du[a] * (hz.u[k, a] - before)
            hz.H.diagonal[i] = weights.W_u[a] + weights.W_du[a] * (2.0 if k < T - 1 else 1.0)
            hz.f[i] += weights.W_u[a] * (hz.u[k, a] - hz.u_ref[k, a]) + rate
            if k > 0:
                hz.H.coupling[i] = -weights.W_du[a]
                hz.f[i - n_a] -= rate


@njit(**COMPILED)
def improve(model: Model, hz: Horizon, weights: Weights, limits: CommandLimits, kappa: float, tolerance: float) -> bool:
    """Do one iteration: roll out, linearise, solve for du, add it to u. False where a step of the model fails."""
    if not take_roll_out(hz.roll_out_code, (model, hz, kappa, tolerance, True)):
        return False
    solve_program(model, hz, weights, limits)
    return True


@njit(**INNER)
def _bound_changes(hz: Horizon, limits: CommandLimits, lower: FloatArray, upper: FloatArray) -> None:
    """Write the limits (T n_a,) of du."""
    T, n_a = hz.u.shape
    n_q_u = hz.q.shape[1] - n_a
    for k in range(T):
        for a in range(n_a):
            i, u = k * n_a + a, hz.u[k, a]
            low, high = limits.lower[a] - u, limits.upper[a] - u
            if k == 0:
                first, last = hz.u_before[a] - limits.first_step[a] - u, hz.u_before[a] + limits.first_step[a] - u
                low, high = min(max(low, first), last), min(max(high, first), last)
            low, high = min(max(-limits.trust[a], low), high), min(max(limits.trust[a], low), high)
            stretch = u - hz.q[k + 1, n_q_u + a]
            lower[i] = min(max(low, limits.stretch_min[a] - stretch), high)
            upper[i] = max(min(high, limits.stretch_max[a] - stretch), low)


@njit(**COMPILED)
def solve_program(model: Model, hz: Horizon, weights: Weights, limits: CommandLimits) -> None:
    """Solve for du at the roll-out and linearisation that hz holds, whoever computed them, and add it to u."""
    _weighted_sensitivities(model, hz, weights)
    _assemble_program(model, hz, weights)
    T, n_a = hz.u.shape
    lower, upper, du = np.empty(T * n_a), np.empty(T * n_a), np.zeros(T * n_a)
    _bound_changes(hz, limits, lower, upper)
    stretch = hz.u - hz.q[1:, hz.q.shape[1] - n_a :]
    forces, loads = hz.contact_trust.level.shape[0], count_loads(weights.load, stretch)
    if forces + loads > 0:
        rows, level = np.empty((forces + loads, T * n_a)), np.empty(forces + loads)
        if forces > 0:
            write_hinges(hz.A, hz.B, hz.contact_trust)
            rows[:forces], level[:forces] = hz.contact_trust.rows, hz.contact_trust.level
        if loads > 0:
            write_loads(weights.load, stretch, hz.A, hz.B, rows[forces:], level[forces:])
        status, factorisations, _rounds = solve_hinged_qp(hz.H, hz.f, rows, level, lower, upper, du)
    else:
        status, factorisations, _residual = solve_box_qp(hz.H, hz.f, lower, upper, du)
    hz.counts[1], hz.counts[2] = factorisations, status
    hz.last_change[0] = np.max(np.abs(du))
    for k in range(T):
        for a in range(n_a):
            hz.u[k, a] += du[k * n_a + a]
