"""What the bridge asks of its guard: the plan in effect or a hold, and the way from the command before to it.

Every change of target, from hold to plan, from plan to plan or to a hold, closes the gap to the command before: with
the gap e0 = u_before - u_target at the change, u = u_target(t) + w(t / T) e0, w(s) = 1 - 3 s^2 + 2 s^3, which begins
and ends at rest, and T = max(3/2 max|e0| / blend_rate, max sqrt(6 |e0| / (a_max / 2))), so that the rate of the gap
stays within `blend_rate` and its acceleration within half of what the guard allows. The guard bounds what remains.
"""

import numpy as np

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.guard import CommandGuard
from contact_mpc.control.bridge.plan_interpolation import interpolate_plan
from contact_mpc.control.bridge.status import Cause
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.interpolation import smooth_step
from contact_mpc.task.loop_records import CommandPlan

BLEND_SHARE = 0.5  # of the acceleration limit; the rest is for the plan itself


class BridgeTarget:
    """The target of the bridge and the request that leads to it.

    Parameters
    ----------
    system : System
        System, for the position limits.
    config : BridgeConfig
        Parameters.
    guard : CommandGuard
        Knows the command before.

    Attributes
    ----------
    u, du, tau_ff : (n_a,) array
        The request: setpoint, rad, rate of the target, rad/s, and feed-forward torque, N m.
    rate : (n_a,) array
        Rate of the requested setpoint: that of the target and of the gap, rad/s.
    """

    def __init__(self, system: System, config: BridgeConfig, guard: CommandGuard) -> None:
        self._config, self._guard = config, guard
        self._q_min, self._q_max = system.q_min, system.q_max
        vectors = [np.zeros(system.n_a) for _ in range(11)]
        self.u, self.du, self.tau_ff, self.rate = vectors[:4]
        self._target_u, self._target_du, self._target_tau = vectors[4:7]
        self._gap_u, self._gap_tau, self._hold_u, self._hold_tau = vectors[7:]
        self._blend_s = self._blend_left_s = 0.0
        self._followed: CommandPlan | None = None
        self._jumped: CommandPlan | None = None

    def clear(self) -> None:
        """Forget plans and feed-forward."""
        self._followed = self._jumped = None
        self.tau_ff[:] = 0.0

    def judge(self, plan: CommandPlan | None, t_ns: int) -> Cause:
        """Return why a plan may not be followed, or NONE with the plan's values at t_ns as target."""
        if plan is None:
            return Cause.NO_PLAN
        if plan.is_hold:
            return Cause.PLAN_HOLD
        age_ns = t_ns - plan.stamp_ns
        if age_ns > self._config.plan_max_age_ns or age_ns * 1e-9 > plan.times_s[-1]:
            return Cause.PLAN_STALE
        if plan is self._jumped:
            return Cause.COMMAND_JUMP
        interpolate_plan(
            plan.times_s, plan.u, plan.du, plan.tau_ff, age_ns * 1e-9,
            self._target_u, self._target_du, self._target_tau,
        )  # fmt: skip
        is_near = bool(np.abs(self._target_u - self._guard.u).max() <= self._config.resume_distance_rad)
        return Cause.NONE if plan is self._followed or is_near else Cause.PLAN_FAR

    def follow(self, plan: CommandPlan) -> None:
        """Take the plan whose values `judge` has just made the target."""
        if plan is not self._followed:
            self._begin_blend()
            self._followed = plan

    def give_up(self) -> None:
        """Never follow the plan in effect again: its request was refused."""
        self._jumped = self._followed

    def interrupt(self) -> None:
        """Have the plan in effect, if any, taken up from the command before."""
        self._followed = None

    def latch_hold(self, q_measured: FloatArray | None = None) -> None:
        """Hold from now on: at the last command, or if a position is given and the policy says so, at that."""
        if q_measured is not None and self._config.hold_policy == "measured":
            np.clip(q_measured, self._q_min, self._q_max, out=self._hold_u)
            self._hold_tau[:] = 0.0
        else:
            self._hold_u[:], self._hold_tau[:] = self._guard.u, self.tau_ff
        self._followed = None
        self.keep_hold()
        self._begin_blend()

    def move_hold(self, u: FloatArray, du: FloatArray) -> None:
        """Make a moving setpoint u (n_a,), rad, with its rate du the target, and hold there from now on."""
        self._hold_u[:], self._target_u[:], self._target_du[:] = u, u, du
        self._hold_tau[:] = self._target_tau[:] = 0.0

    @property
    def plan_distance(self) -> FloatArray:
        """How far the plan that `judge` looked at last is from the command before, (n_a,), rad."""
        return np.abs(self._target_u - self._guard.u)

    def keep_hold(self) -> None:
        """Make the latched hold the target."""
        self._target_u[:], self._target_tau[:] = self._hold_u, self._hold_tau
        self._target_du[:] = 0.0

    def _begin_blend(self) -> None:
        """Start to close the gap between the command before and the target."""
        np.subtract(self._guard.u, self._target_u, out=self._gap_u)
        np.subtract(self.tau_ff, self._target_tau, out=self._gap_tau)
        self._blend_s = self._blend_left_s = blend_time(
            self._gap_u, self._config.blend_rate_rad_s, BLEND_SHARE * self._guard.limits.a_max
        )

    def request(self, dt_s: float) -> None:
        """Write target plus what is left of the gap to `u`, `du`, `tau_ff` and `rate`."""
        self._blend_left_s = max(self._blend_left_s - dt_s, 0.0)
        self.u[:], self.du[:], self.tau_ff[:] = self._target_u, self._target_du, self._target_tau
        self.rate[:] = self._target_du
        if self._blend_left_s > 0.0:
            left = self._blend_left_s / self._blend_s
            weight = smooth_step(left)
            self.u += weight * self._gap_u
            self.tau_ff += weight * self._gap_tau
            self.rate -= 6.0 * left * (1.0 - left) / self._blend_s * self._gap_u

    def request_stop(self) -> None:
        """Request the setpoint of the command before, at rest."""
        self.u[:], self.du[:], self.rate[:] = self._guard.u, 0.0, 0.0


def blend_time(gap: FloatArray, rate: float, acceleration: FloatArray) -> float:
    """Return the time T, s, in which the cubic weight closes a gap (n_a,), rad, within rate and acceleration (n_a,).

    The weight's largest slope is 3 / (2 T), its largest curvature 6 / T^2.
    """
    size = np.abs(gap)
    return max(1.5 * float(size.max()) / rate, float(np.sqrt(6.0 * size / acceleration).max()))
