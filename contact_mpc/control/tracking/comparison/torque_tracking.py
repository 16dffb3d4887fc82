"""The tracker with a cost on joint torques, and with measured ones fed forward: "Tracking joint torque?" (seeds/003).

At rest a joint's spring gives tau = K (u - q_a). The plan has such torques, too, and the program of
`contact_mpc.optimisation.horizon` gets

    + sum_{k=0..T-1} w |s_k - s_ref,k|^2        s_k = u_k - q_a,{k+1} = K^-1 tau_k,   s_ref,k the plan's

with ds_k = du_k - A_k,a x_k - B_k,a du_k to first order. Torques are counted as the stretch of springs, so that w
compares with the weight of commands. The plan's torques are those of its own model, without integral action.

To send a torque beside a position adds nothing to that: K (q_d - q_a) + tau_ff is the torque of the command
u = q_d + K^-1 tau_ff. What does add is a loop over what drives give: `feedback` integrates what the measured torque
lacks of K (u - q_a), as the tracker's watch over drives filters it, into a feed-forward torque.
"""

from dataclasses import replace

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import Moment, TrackerOutput
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.model.system import System
from contact_mpc.optimisation.hinged_qp import solve_hinged_qp
from contact_mpc.optimisation.horizon import Horizon
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan

MOST_FEEDBACK = 0.2  # of the effort limits


class TorqueConfig(BaseModel):
    """Weight of the torques, and gain of what is fed forward; all else is the tracker's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    torque_weight: float = Field(
        default=10.0, ge=0.0, le=1e5, json_schema_extra={"unit": "1/rad^2"},
        description="cost of the joints' torques about the plan's, as stretch K^-1 tau, 1/rad^2",
    )  # fmt: skip
    feedback: float = Field(
        default=0.0, ge=0.0, le=1.0,
        description="share of the torque that drives lack, added to the feed-forward torque by each solve, -",
    )  # fmt: skip


class TorqueMpc(Mpc):
    """The tracker's problem with a cost on torques; `stretch_ref` (T, n_a), rad (m), is what they are to be."""

    def __init__(self, system: System, config: TrackerConfig, torque_weight: float) -> None:
        super().__init__(system, config)
        self.stretch_ref = np.zeros((config.horizon_steps, system.n_a))
        self._torque_weight = torque_weight

    def improve(self) -> bool:
        """Do one iteration: the tracker's own, whose program then gets the torques and is solved again."""
        hz = self.horizon
        nominal = hz.u.copy()
        if not super().improve():
            return False
        hz.u[:] = nominal
        root = np.sqrt(self._torque_weight)
        rows = root * stretch_sensitivity(hz)
        stretch = nominal - hz.q[1:, self.system.n_q_u :]
        H = hz.H._replace(M=np.vstack([hz.H.M, rows]))
        f, du = hz.f + root * rows.T @ (stretch - self.stretch_ref).ravel(), np.zeros(nominal.size)
        trust = hz.contact_trust
        status, factorisations, _ = solve_hinged_qp(H, f, trust.rows, trust.level, *self._bound_changes(stretch), du)
        hz.counts[1:] = factorisations, status
        hz.last_change[0] = np.abs(du).max()
        hz.u[:] += du.reshape(nominal.shape)
        return True

    def _bound_changes(self, stretch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the limits (T n_a,) of du, in the order of the module `contact_mpc.optimisation.horizon`."""
        hz, limits = self.horizon, self.limits
        lower, upper = limits.lower - hz.u, limits.upper - hz.u
        first = hz.u_before - limits.first_step - hz.u[0], hz.u_before + limits.first_step - hz.u[0]
        lower[0], upper[0] = np.clip(lower[0], *first), np.clip(upper[0], *first)
        lower, upper = np.clip(lower, -limits.trust, limits.trust), np.clip(upper, -limits.trust, limits.trust)
        least = np.minimum(np.maximum(lower, limits.stretch_min - stretch), upper)
        return least.ravel(), np.maximum(np.minimum(upper, limits.stretch_max - stretch), least).ravel()


def stretch_sensitivity(hz: Horizon) -> FloatArray:
    """Return d s / d u (T n_a, T n_a) of a roll-out with A and B, s_k = u_k - q_a,{k+1}."""
    T, n_a = hz.u.shape
    rows, state = np.eye(T * n_a), np.zeros((hz.A.shape[1], T * n_a))
    for k in range(T):
        state = hz.A[k] @ state
        state[:, k * n_a : (k + 1) * n_a] += hz.B[k]
        rows[k * n_a : (k + 1) * n_a] -= state[-n_a:]
    return rows


def integrate_lack(tau_ff: FloatArray, lack: FloatArray, share: float, tau_max: FloatArray) -> FloatArray:
    """Return tau_ff + share lack (n_a,), N m (N), within a part of the effort limits."""
    most = MOST_FEEDBACK * tau_max
    return np.clip(tau_ff + share * lack, -most, most)


class TorqueTracker(Tracker):
    """The tracker about a `TorqueMpc`, with feedback of measured torques."""

    def __init__(self, system: System, config: TrackerConfig, torque: TorqueConfig) -> None:
        self._torque_mpc = TorqueMpc(system, config, torque.torque_weight)
        super().__init__(system, config, self._torque_mpc)
        self._feedback = torque.feedback
        self._tau_ff = np.zeros(system.n_a)

    def reset(self) -> None:
        """Forget the last solution and what was fed forward."""
        super().reset()
        self._tau_ff[:] = 0.0

    def _solve(self, state: EstimatedState, plan: Plan, t_s: float, before: FloatArray) -> bool:
        n_q_u = self.system.n_q_u
        for k, time_s in enumerate(t_s + self._instants_s):
            self._torque_mpc.stretch_ref[k] = plan.sample_u(time_s) - plan.sample_q(self.system, time_s)[n_q_u:]
        return super()._solve(state, plan, t_s, before)

    def _follow(self, state: EstimatedState, plan: Plan, moment: Moment) -> TrackerOutput:
        output = super()._follow(state, plan, moment)
        if self._feedback == 0.0 or output.plan.is_hold:
            return output
        self._tau_ff = integrate_lack(self._tau_ff, self._drives.shortfall, self._feedback, self.system.tau_max_nm)
        return replace(output, plan=replace(output.plan, tau_ff=output.plan.tau_ff + self._tau_ff))
