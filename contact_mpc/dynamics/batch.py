"""Many smoothed steps with derivatives in one compiled call, for sampling, metrics and maps of the dynamics.

Samples are independent. Each thread has its own workspace and takes a contiguous part of them, so that results do not
depend on the number of threads. Python's lock is released meanwhile.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.dynamics.smoothed.derivatives import take_derivatives
from contact_mpc.dynamics.smoothed.formulation import NOT_DEFINITE_STATUS, STATUS
from contact_mpc.dynamics.smoothed.integration import integrate_into
from contact_mpc.dynamics.smoothed.log_barrier import CONVERGED, take_step
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.dynamics.smoothed.round_off import UNBALANCED, is_balanced
from contact_mpc.errors import InputError
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.system import UNIT_QUATERNION_TOLERANCE
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class BatchResult:
    """N steps.

    Attributes
    ----------
    q_next : (N, n_q) array
        Next configurations.
    dq : (N, n_v) array
        Displacements.
    A : (N, n_v, n_v) array, B : (N, n_v, n_a) array
        Derivatives in tangent space; NaN where the step did not converge; without samples where not asked for.
    status : (N,) array of str
        As in `StepResult`; the depth of penetrations and the balance of quasi-static objects are not judged.
    iterations : (N,) array of int
        Newton iterations.
    """

    q_next: FloatArray
    dq: FloatArray
    A: FloatArray
    B: FloatArray
    status: NDArray[np.str_]
    iterations: IntArray


def step_batch(
    dynamics: ContactDynamics, q: FloatArray, u: FloatArray, linearise: bool = True, threads: int = 1
) -> BatchResult:
    """Step from every q (N, n_q) with its u (N, n_a).

    Raises
    ------
    InputError
        The formulation is not log_barrier; wrong shapes, non-finite values, a quaternion that is not of unit norm;
        threads < 1.
    """
    if dynamics.formulation != "log_barrier":
        raise InputError(f"formulation '{dynamics.formulation}'; batches need 'log_barrier': call step in a loop")
    if threads < 1:
        raise InputError(f"threads = {threads}; expected at least 1")
    q, u = _check_batch(dynamics, q, u)
    n, n_v, n_a = len(q), dynamics.system.n_v, dynamics.system.n_a
    n_linear = n if linearise else 0
    out = BatchResult(
        np.empty_like(q),
        np.empty((n, n_v)),
        np.full((n_linear, n_v, n_v), np.nan),
        np.full((n_linear, n_v, n_a), np.nan),
        np.empty(n, dtype="<U16"),
        np.empty(n, dtype=np.int64),
    )
    codes = np.empty(n, dtype=np.int64)
    ends = np.linspace(0, n, threads + 1).astype(int)

    def run(part: slice) -> None:
        linear = part if linearise else slice(0, 0)
        step_rows(
            dynamics.model,
            make_newton(dynamics.model),
            q[part],
            u[part],
            dynamics.kappa,
            dynamics.tolerance,
            False,
            out.q_next[part],
            out.dq[part],
            out.A[linear],
            out.B[linear],
            codes[part],
            out.iterations[part],
        )

    parts = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True) if b > a]
    if len(parts) <= 1:
        for part in parts:
            run(part)
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(run, parts))
    out.status[:] = [STATUS.get(int(code), NOT_DEFINITE_STATUS) for code in codes]
    return out


def _check_batch(dynamics: ContactDynamics, q: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    system = dynamics.system
    q, u = np.ascontiguousarray(q, dtype=np.float64), np.ascontiguousarray(u, dtype=np.float64)
    n = len(q) if q.ndim == 2 else 0
    for name, value, width in (("q", q, system.n_q), ("u", u, system.n_a)):
        if value.ndim != 2 or value.shape != (n, width):
            raise InputError(f"{name} has shape {value.shape}; expected (N, {width}), as many rows in q as in u")
        bad = np.flatnonzero(~np.all(np.isfinite(value), axis=1))
        if len(bad):
            raise InputError(f"{name} has non-finite values in rows {bad[:10].tolist()}")
    for kind, i in zip(system.tree.joint, system.tree.i_q, strict=True):
        if kind == FREE:
            off = np.abs(np.linalg.norm(q[:, i : i + 4], axis=1) - 1.0)
            if off.max(initial=0.0) > UNIT_QUATERNION_TOLERANCE:
                raise InputError(f"q[{off.argmax()}, {i}:{i + 4}] is not of unit norm: normalise quaternions wxyz")
    return q, u


@njit(nogil=True, **COMPILED)
def step_rows(
    model: Model,
    ws: Newton,
    q: FloatArray,
    u: FloatArray,
    kappa: float,
    tolerance: float,
    warm: bool,
    q_next: FloatArray,
    dq: FloatArray,
    A: FloatArray,
    B: FloatArray,
    codes: IntArray,
    iterations: IntArray,
) -> None:
    """Step from every row of q (N, n_q) and u (N, n_a) into the given arrays; A and B where these have rows.

    With `warm` every step starts from the displacement of the row before, the first from ws.dq.
    """
    n_v = dq.shape[1]
    offset, X = np.zeros(model.mu.shape[0]), np.empty((n_v, n_v + u.shape[1]))
    for i in range(q.shape[0]):
        codes[i], iterations[i], decrement2 = take_step(
            model.codes.step, (model, ws, q[i], u[i], offset, kappa, tolerance, warm)
        )
        if codes[i] == CONVERGED and not is_balanced(ws, tolerance, decrement2):
            codes[i] = UNBALANCED
        dq[i] = ws.dq
        integrate_into(model.tree, q[i], ws.dq, q_next[i])
        if A.shape[0] > 0 and codes[i] == CONVERGED:
            take_derivatives(model.codes.derivatives, (model, ws, kappa, X, A[i], B[i]))
