"""Consensus complementarity control: MPC on a linear complementarity system by ADMM.

    min over u, lam   sum_k |e_k + x_k|^2_{W_e} + |u_k - u_ref_k|^2_{W_u} + |u_k - u_{k-1}|^2_{W_du}
    s.t.              x_{k+1} = A x_k + B u_k + D lam_k + d,   0 <= lam_k _|_ eta_k >= 0,   u_k in a box

with the system of `complementarity_model`, whose objects' part of x adds to the error e of the present state. States
are eliminated; y = (u_k, lam_k)_k is free and z = (u, lam, eta) = L y + l is what copies delta must agree with:

    y     = argmin cost(y) + rho/2 |G (L y + l - delta + omega)|^2         one Cholesky solve
    delta = projection of z + omega, per step: u on the box, each pair (lam, eta) on lam >= 0, eta = 0 or
            lam = 0, eta >= 0, whichever is nearer in G                    closed form
    omega = omega + z - delta,   then rho = rho_scale rho,   omega = omega / rho_scale

Copies and multipliers of the last solve start the next one. The commands are those of the last y, kept in the box.

Source: A. Aydinoglu, A. Wei, W.-C. Huang, M. Posa, "Consensus complementarity control for multi-contact MPC", IEEE
Transactions on Robotics 40, 2024, algorithm 1; the copy of eta, which makes the projection exact and cheap, is that of
C3+ (H. Bui et al., "Push anything", 2025). There the u box is a constraint of the quadratic program.
"""

from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.linalg import cho_factor, cho_solve

from contact_mpc.control.tracking.comparison.complementarity_model import ComplementaritySystem, Lineariser
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


class AdmmConfig(BaseModel):
    """Parameters of the ADMM beyond weights, box, h and friction, which are the tracker's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    horizon_steps: int = Field(default=3, ge=1, le=20, description="steps of the model, -")
    iterations: int = Field(default=40, ge=1, le=200, description="of ADMM per solve, -")
    ray_count: int = Field(default=4, ge=4, le=16, description="rays per contact in space, even, -")
    contact_reach_m: float = Field(
        default=0.01,
        gt=0.0,
        le=0.1,
        description="pairs with a larger gap are left out, m",
        json_schema_extra={"unit": "m"},
    )
    closed_gap_m: float = Field(
        default=2e-3,
        ge=0.0,
        le=0.01,
        description="smaller gaps are taken as closed, m",
        json_schema_extra={"unit": "m"},
    )
    rho: float = Field(default=2e-3, gt=0.0, description="weight of the consensus of forces, 1/N^2")
    rho_scale: float = Field(default=1.15, ge=1.0, le=10.0, description="its growth per iteration, -")
    gap_consensus: float = Field(default=1e5, gt=0.0, description="weight of the gaps in it, N^2/m^2")
    command_consensus: float = Field(default=300.0, gt=0.0, description="weight of the commands in it, N^2/rad^2")


class Condensed(NamedTuple):
    """cost = 1/2 y' P y + g' y, the consensus map z = L y + l, and the weights G^2 of its rows."""

    P: FloatArray
    g: FloatArray
    L: FloatArray
    offset: FloatArray
    weight: FloatArray


class AdmmMpc(Mpc):
    """The tracker's problem on a linear complementarity system instead of the smoothed linearisation."""

    def __init__(self, system: System, config: TrackerConfig, admm: AdmmConfig) -> None:
        super().__init__(system, config)
        self.admm = admm
        self._lineariser = Lineariser(system, self.model, admm.ray_count, admm.contact_reach_m, admm.closed_gap_m)
        self._copies: tuple[FloatArray, FloatArray] | None = None
        self.residual = float("nan")  # |G (z - delta)| at the end of the last solve, N

    def solve(
        self, q: FloatArray, q_ref: FloatArray, u_ref: FloatArray, u_before: FloatArray, iterations: int | None = None
    ) -> bool:
        """Set u (T, n_a), the last solution on entry, to the commands of the last iteration; see `Mpc.set_problem`."""
        lcs = self._lineariser.linearise(q)
        error = np.array([self.system.difference(row, q)[: self.system.n_v_u] for row in q_ref[1:]])
        problem = condense(lcs, error, u_ref, u_before, self)
        lower, upper = self._box(u_before)
        y = self._iterate(problem, lower, upper, self.admm.iterations if iterations is None else iterations)
        T, n_a = u_ref.shape
        self.u[:] = np.clip(y.reshape(T, -1)[:, :n_a], lower, upper)
        return bool(np.all(np.isfinite(self.u)))

    def reset(self) -> None:
        """Forget the last solution."""
        super().reset()
        self._copies = None

    def _box(self, u_before: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the limits (T, n_a) of the commands: joints, rate, and the trust region about the last solution."""
        T, limits = self.horizon.u.shape[0], self.limits
        reach = np.arange(1, T + 1)[:, None] * limits.first_step
        low, high = np.maximum(limits.lower, u_before - reach), np.minimum(limits.upper, u_before + reach)
        nominal = np.clip(self.u, low, np.maximum(low, high))
        return np.maximum(low, nominal - limits.trust), np.minimum(high, nominal + limits.trust)

    def _iterate(self, problem: Condensed, lower: FloatArray, upper: FloatArray, iterations: int) -> FloatArray:
        admm, (T, n_a) = self.admm, lower.shape
        delta, omega = self._start(problem, lower, upper)
        consensus = problem.L.T @ (problem.weight[:, None] * problem.L)
        rho, y, z = admm.rho, np.zeros(problem.L.shape[1]), delta
        for _ in range(iterations):
            factor = cho_factor(problem.P + rho * consensus, lower=True, check_finite=False)
            target = problem.weight * (delta - omega - problem.offset)
            y = cho_solve(factor, rho * problem.L.T @ target - problem.g, check_finite=False)
            z = problem.L @ y + problem.offset
            delta = project(z + omega, problem.weight, lower, upper)
            omega = (omega + z - delta) / admm.rho_scale
            rho *= admm.rho_scale
        self._copies = delta, omega * (rho / admm.rho)  # the multipliers rho omega stay
        self.residual = float(np.linalg.norm(np.sqrt(problem.weight) * (z - delta)))
        self.horizon.counts[0] = iterations
        self.horizon.last_change[0] = float(np.abs(y.reshape(T, -1)[:, :n_a] - self.u).max(initial=0.0))
        return np.asarray(y)

    def _start(self, problem: Condensed, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return copies and multipliers of the last solve, where it had as many contacts; else those of no force."""
        if self._copies is not None and len(self._copies[0]) == len(problem.offset):
            return self._copies
        return project(problem.offset, problem.weight, lower, upper), np.zeros_like(problem.offset)


def project(z: FloatArray, weight: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the nearest point to z with commands in their box and complementary forces and gaps, step by step.

    Parameters
    ----------
    z, weight : (T (n_a + 2 r),) array
        Per step commands, forces, gaps; positive weights of the squared distance.
    lower, upper : (T, n_a) array
        Box of the commands.
    """
    T, n_a = lower.shape
    rows, scale = z.reshape(T, -1), weight.reshape(T, -1)
    r = (rows.shape[1] - n_a) // 2
    lam, eta = rows[:, n_a : n_a + r], rows[:, n_a + r :]
    force, gap = np.maximum(lam, 0.0), np.maximum(eta, 0.0)
    pressed = scale[:, n_a : n_a + r] * np.minimum(lam, 0.0) ** 2 + scale[:, n_a + r :] * eta**2
    apart = scale[:, n_a : n_a + r] * lam**2 + scale[:, n_a + r :] * np.minimum(eta, 0.0) ** 2
    is_pressed = pressed <= apart
    u = np.clip(rows[:, :n_a], lower, upper)
    return np.hstack([u, np.where(is_pressed, force, 0.0), np.where(is_pressed, 0.0, gap)]).ravel()


def condense(
    lcs: ComplementaritySystem, error: FloatArray, u_ref: FloatArray, u_before: FloatArray, mpc: AdmmMpc
) -> Condensed:
    """Eliminate the states of T steps from x_0 = 0; error (T, n_v_u) is that of the present state to each reference."""
    (n_v, n_a), r, (T, n_u) = lcs.B.shape, lcs.D.shape[1], error.shape
    m = n_a + r
    S, s, X, x = np.zeros((T * n_u, T * m)), np.zeros(T * n_u), np.zeros((n_v, T * m)), np.zeros(n_v)
    L, offset = np.zeros((T * (n_a + 2 * r), T * m)), np.zeros(T * (n_a + 2 * r))
    inputs, outputs = np.hstack([lcs.B, lcs.D]), np.hstack([lcs.H, lcs.F])
    for k in range(T):
        own, row = slice(k * m, (k + 1) * m), k * (n_a + 2 * r)
        L[row : row + m, own] = np.eye(m)
        L[row + m : row + m + r] = lcs.E @ X
        L[row + m : row + m + r, own] += outputs
        offset[row + m : row + m + r] = lcs.E @ x + lcs.c
        X, x = lcs.A @ X, lcs.A @ x + lcs.d
        X[:, own] += inputs
        S[k * n_u : (k + 1) * n_u], s[k * n_u : (k + 1) * n_u] = X[:n_u], x[:n_u] + error[k]
    P, g = _cost(S, s, u_ref, u_before, mpc, r)
    admm = mpc.admm
    step = np.concatenate([np.full(n_a, admm.command_consensus), np.ones(r), np.full(r, admm.gap_consensus)])
    return Condensed(P, g, L, offset, np.tile(step, T))


def _cost(
    S: FloatArray, s: FloatArray, u_ref: FloatArray, u_before: FloatArray, mpc: AdmmMpc, r: int
) -> tuple[FloatArray, FloatArray]:
    """Return P, g of half the module's cost in y; s (T n_v_u,) are the objects' errors without commands and forces."""
    weights, (T, n_a) = mpc.weights, u_ref.shape
    m = n_a + r
    W = np.concatenate([*[weights.W_e] * (T - 1), weights.W_T])
    P, g = S.T @ (W[:, None] * S), S.T @ (W * s)
    for k in range(T):
        i = np.arange(k * m, k * m + n_a)
        P[i, i] += weights.W_u + weights.W_du * (2.0 if k < T - 1 else 1.0)
        g[i] -= weights.W_u * u_ref[k] + (weights.W_du * u_before if k == 0 else 0.0)
        if k:
            P[i, i - m] -= weights.W_du
            P[i - m, i] -= weights.W_du
    return P, g
