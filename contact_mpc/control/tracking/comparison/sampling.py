"""Sampling MPC: commands are perturbed at random, rolled out in full physics, and the best move the mean.

The cross-entropy method over splines: commands at `knots` instants, linear in between, are drawn from a normal
distribution about the mean; each sample is rolled out, costed as the tracker costs its own predictions,

    sum_k |e_k|^2_{W_e} + |u_k - u_ref_k|^2_{W_u} + |u_k - u_{k-1}|^2_{W_du}

and the mean of the `elites` best is the next mean, their spread, kept above a floor, the next spread; with one elite
this is predictive sampling. The mean starts from the reference's commands plus what the last solution added to them,
and is itself one of the samples.

Source: T. Howell, N. Gileadi, S. Tunyasuvunakool, K. Zakka, T. Erez, Y. Tassa, "Predictive sampling: real-time
behaviour synthesis with MuJoCo", 2022, sections on predictive sampling and the cross-entropy method.
"""

from typing import Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray


class SamplingConfig(BaseModel):
    """Parameters of the sampling beyond weights, box and friction, which are the tracker's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    horizon_steps: int = Field(default=4, ge=1, le=20, description="steps of h_s, -")
    knots: int = Field(default=2, ge=1, le=20, description="of the splines, evenly over the horizon, -")
    samples: int = Field(default=4, ge=2, le=10_000, description="roll-outs per iteration, -")
    elites: int = Field(default=1, ge=1, description="best samples that make the next mean, -")
    iterations: int = Field(default=1, ge=1, le=50, description="per solve, -")
    spread_rad: float = Field(
        default=0.01,
        gt=0.0,
        le=1.0,
        description="first standard deviation at a knot, rad",
        json_schema_extra={"unit": "rad"},
    )
    least_spread_rad: float = Field(
        default=0.004, gt=0.0, le=1.0, description="least standard deviation, rad", json_schema_extra={"unit": "rad"}
    )
    step_s: float = Field(
        default=0.004, gt=0.0, le=0.02, description="time step of the roll-outs, s", json_schema_extra={"unit": "s"}
    )
    threads: int = Field(default=2, ge=1, le=256, description="roll-outs at the same time, -")


class Rollouts(Protocol):
    """Physics for the samples."""

    def roll_out(self, q: FloatArray, u_before: FloatArray, u: FloatArray) -> FloatArray:
        """Return q (S, T, n_q) after each step from rest at q (n_q,), along commands u (S, T, n_a) from u_before."""
        ...


class SamplingMpc(Mpc):
    """The tracker's problem by sampling."""

    def __init__(
        self, system: System, config: TrackerConfig, sampling: SamplingConfig, rollouts: Rollouts, seed: int
    ) -> None:
        super().__init__(system, config)
        self._sampling, self._rollouts, self._seed = sampling, rollouts, seed
        self._spline = spline_matrix(config.horizon_steps, sampling.knots)
        self._rng = np.random.default_rng(seed)
        self._deviation = np.zeros((config.horizon_steps, system.n_a))

    def solve(
        self, q: FloatArray, q_ref: FloatArray, u_ref: FloatArray, u_before: FloatArray, iterations: int | None = None
    ) -> bool:
        """Set u (T, n_a) to the mean of the best samples about u_ref and the last deviation from it."""
        count = self._sampling.iterations if iterations is None else iterations
        mean = self._clip((u_ref + self._deviation)[None], u_before)[0]
        spread = np.full((self._sampling.knots, self.system.n_a), self._sampling.spread_rad)
        for _ in range(count):
            knots = self._rng.standard_normal((self._sampling.samples, *spread.shape)) * spread
            knots[0] = 0.0
            u = self._clip(mean + np.einsum("tk,ska->sta", self._spline, knots), u_before)
            cost = self._cost(self._rollouts.roll_out(q, u_before, u), u, q_ref, u_ref, u_before)
            best = np.argsort(cost, kind="stable")[: self._sampling.elites]
            if not np.isfinite(cost[best[0]]):
                return False
            best = best[np.isfinite(cost[best])]
            mean = u[best].mean(axis=0)
            spread = np.maximum(knots[best].std(axis=0), self._sampling.least_spread_rad)
        self.horizon.counts[0] = count * self._sampling.samples
        self.horizon.last_change[0] = float(np.abs(mean - u_ref - self._deviation).max())
        self.u[:], self._deviation = mean, mean - u_ref
        return True

    def reset(self) -> None:
        """Forget the last solution and begin the random stream again."""
        super().reset()
        self._deviation = np.zeros_like(self._deviation)
        self._rng = np.random.default_rng(self._seed)

    def _clip(self, u: FloatArray, u_before: FloatArray) -> FloatArray:
        """Return commands (S, T, n_a) within the joint limits and the rate from the command in force."""
        reach = np.arange(1, u.shape[1] + 1)[:, None] * self.limits.first_step
        low, high = np.maximum(self.limits.lower, u_before - reach), np.minimum(self.limits.upper, u_before + reach)
        return np.clip(u, low, np.maximum(low, high))

    def _cost(
        self, q: FloatArray, u: FloatArray, q_ref: FloatArray, u_ref: FloatArray, u_before: FloatArray
    ) -> FloatArray:
        """Return the cost (S,) of every sample; infinite where the physics broke down."""
        system, weights, T = self.system, self.weights, u.shape[1]
        rates = np.diff(u, axis=1, prepend=np.broadcast_to(u_before, (len(u), 1, len(u_before))))
        cost = np.sum(weights.W_u * (u - u_ref) ** 2 + weights.W_du * rates**2, axis=(1, 2))
        for s in range(len(u)):
            for k in range(T):
                error = system.difference(q_ref[k + 1], q[s, k])[: system.n_v_u]
                cost[s] += float(np.sum((weights.W_T if k == T - 1 else weights.W_e) * error**2))
        return np.where(np.isfinite(cost), cost, np.inf)


def spline_matrix(steps: int, knots: int) -> FloatArray:
    """Return (steps, knots): values after the steps 1 .. T of a linear spline that is 0 before them, by its knots."""
    at = np.linspace(0.0, steps, knots + 1)
    columns = [np.interp(np.arange(1, steps + 1), at, row) for row in np.eye(knots + 1)[1:]]
    return np.array(columns).T
