"""Randomized smoothing: derivatives of the mean of a step over Gaussian perturbations, to compare with the log barrier.

    f_rho(q, u) = E f(q ⊕ w_q, u + w_u),    w_q ~ N(0, sigma_q^2 I),  w_u ~ N(0, sigma_u^2 I)   (seeds/003, "Smoothing")

First order: the mean of the samples' own A and B. Zeroth order: the least-squares fit of the samples' next
configurations over their perturbations, which needs no derivatives and holds for lcp too. Perturbations come in pairs
+w, -w. All in tangent space: with y the difference of a sample's next configuration to their mean, the derivative at
q ⊕ w_q is carried to q and to the mean by J_l(y)^-1 A J_l(w_q) on the rotations of free objects.

Where it is wrong: the error falls with 1/sqrt(samples) only, and the first-order mean misses jumps of f (which contact
steps do not have, but a change of the closest feature makes).
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics, Linearization
from contact_mpc.errors import InputError
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.rotations import left_jacobian
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

ORDERS = ("first", "zeroth")


@dataclass(frozen=True)
class SmoothedLinearisation:
    """Derivatives of the mean step.

    Attributes
    ----------
    A : (n_v, n_v) array, B : (n_v, n_a) array
        In tangent space. A of order "zeroth" is NaN where sigma_q = 0, as nothing is known of it.
    c : (n_v,) array
        Mean displacement from q.
    q_mean : (n_q,) array
        Mean next configuration, q ⊕ c.
    used, dropped : int
        Samples that count, and samples left out because their step or its derivative does not exist.
    """

    A: FloatArray
    B: FloatArray
    c: FloatArray
    q_mean: FloatArray
    used: int
    dropped: int


def smooth(
    dynamics: ContactDynamics,
    q: FloatArray,
    u: FloatArray,
    sigma_u: float,
    rng: np.random.Generator,
    sigma_q: float = 0.0,
    samples: int = 100,
    order: str = "first",
) -> SmoothedLinearisation:
    """Smooth the step at q (n_q,), u (n_a,) over `samples` pairs of perturbations; sigma_u, sigma_q in rad or m.

    Raises
    ------
    InputError
        sigma_u is not positive, sigma_q negative, samples too few to determine the derivatives, order unknown, or
        no sample has a solution.
    """
    system = dynamics.system
    q, u = system.check_q(q), system.check_u(u)
    _check_settings(system, sigma_u, sigma_q, samples, order)
    half = rng.normal(size=(samples, system.n_v + system.n_a)) * np.repeat([sigma_q, sigma_u], [system.n_v, system.n_a])
    w = np.concatenate([half, -half])
    kept, ends, linear = [], [], []
    for row in w:
        start, command = system.integrate(q, row[: system.n_v]), u + row[system.n_v :]
        found = dynamics.linearize(start, command) if order == "first" else None
        result = dynamics.step(start, command) if found is None else found.step
        if result.is_converged and (found is None or found.is_differentiable):
            kept.append(row)
            ends.append(result.q_next)
            linear.append(found)
    if len(kept) <= (w.shape[1] if order == "zeroth" else 0):
        raise InputError(f"only {len(kept)} of {len(w)} samples have a solution: reduce sigma_q or take more samples")
    q_mean = _mean(system, ends)
    y = np.array([system.difference(q_mean, end) for end in ends])
    A, B = _average(system, np.array(kept), y, linear) if order == "first" else _fit(system, np.array(kept), y, sigma_q)
    return SmoothedLinearisation(A, B, system.difference(q, q_mean), q_mean, len(kept), len(w) - len(kept))


def _check_settings(system: System, sigma_u: float, sigma_q: float, samples: int, order: str) -> None:
    if order not in ORDERS:
        raise InputError(f"order '{order}'; allowed: {', '.join(ORDERS)}")
    if not (np.isfinite(sigma_u) and sigma_u > 0.0 and np.isfinite(sigma_q) and sigma_q >= 0.0):
        raise InputError(f"sigma_u = {sigma_u}, sigma_q = {sigma_q}; expected sigma_u > 0 and sigma_q >= 0, rad or m")
    least = 1 if order == "first" else system.n_v + system.n_a
    if samples < least:
        raise InputError(f"samples = {samples}; order '{order}' needs at least {least}")


def _mean(system: System, ends: list[FloatArray]) -> FloatArray:
    """Return the configuration about which the differences to the samples have mean zero, by fixed-point steps."""
    q_mean = ends[0]
    for _ in range(5):
        q_mean = system.integrate(q_mean, np.mean([system.difference(q_mean, end) for end in ends], axis=0))
    return q_mean


def _fit(system: System, w: FloatArray, y: FloatArray, sigma_q: float) -> tuple[FloatArray, FloatArray]:
    n_v = system.n_v
    varied = w if sigma_q > 0.0 else w[:, n_v:]
    columns = np.column_stack([varied, np.ones(len(w))])
    fit = np.asarray(np.linalg.lstsq(columns, y, rcond=None)[0][:-1].T, dtype=np.float64)
    if sigma_q > 0.0:
        return fit[:, :n_v], fit[:, n_v:]
    return np.full((n_v, n_v), np.nan), fit


def _average(
    system: System, w: FloatArray, y: FloatArray, linear: list[Linearization | None]
) -> tuple[FloatArray, FloatArray]:
    A, B = np.zeros((system.n_v, system.n_v)), np.zeros((system.n_v, system.n_a))
    for w_i, y_i, item in zip(w, y, linear, strict=True):
        assert item is not None
        back = np.linalg.inv(_chart_jacobian(system, y_i))
        A += back @ item.A @ _chart_jacobian(system, w_i[: system.n_v])
        B += back @ item.B
    return A / len(w), B / len(w)


def _chart_jacobian(system: System, x: FloatArray) -> FloatArray:
    """Return J (n_v, n_v) with q ⊕ (x + e) = (q ⊕ x) ⊕ J e to first order: J_l on rotations, else the identity."""
    J = np.eye(system.n_v)
    for kind, j in zip(system.tree.joint, system.tree.i_v, strict=True):
        if kind == FREE:
            J[j : j + 3, j : j + 3] = left_jacobian(np.ascontiguousarray(x[j : j + 3]))
    return J
