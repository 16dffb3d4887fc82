"""When the naming of a fault is due, from the parameters of the nodes and what the relay saw."""

from dataclasses import dataclass

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.ros.faults.channel import Channel
from contact_mpc.ros.faults.kinds import LAG_GROWTH, PACE, Limit
from contact_mpc.ros.nodes.recorder import FLUSH_PERIOD_S
from contact_mpc.settings.units import NS_PER_S


@dataclass(frozen=True)
class DetectionLimits:
    """Computes limits of detection.

    Attributes
    ----------
    bridge : BridgeConfig
        Parameters of the bridge.
    estimator : EstimatorConfig
        Parameters of the estimator.
    estimate_period_s : float
        Time between estimates, s.
    """

    bridge: BridgeConfig
    estimator: EstimatorConfig
    estimate_period_s: float

    @property
    def pose_unknown_s(self) -> float:
        """Time without poses after which the estimator at the latest does not know where an object is, s."""
        return max(self.estimator.longest_pose_age_s, self.estimator.carry_through_s)

    def due_ns(self, limit: Limit, act_ns: int, channels: dict[str, Channel], spoilt: Channel | None) -> int:
        """Return when naming is due, monotonic clock, ns.

        Parameters
        ----------
        limit : str
            Kind of limit.
        act_ns : int
            When the fault was caused; for "exit" when the system had ended the process.
        channels : dict of Channel
            "state", "pose", "plan".
        spoilt : Channel or None
            The one that the fault is in.
        """
        state, plan, config = channels["state"], channels["plan"], self.bridge
        first_ns = act_ns if spoilt is None or spoilt.first_spoilt_ns is None else spoilt.first_spoilt_ns
        if limit == "state_fault":
            return state.last_sent_ns + round(config.state_fault_s * NS_PER_S)
        if limit == "lag":
            return first_ns + round(config.state_lag_s * (1.0 + 1.0 / LAG_GROWTH) * NS_PER_S)
        if limit == "lead":
            return first_ns + round(config.clock_jump_s / (PACE - 1) * NS_PER_S)
        if limit == "plan_due":
            stamp_ns = plan.first_spoilt_stamp_ns or plan.last_stamp_ns
            return max(first_ns, stamp_ns + config.plan_delay_ns + state.offset_ns)
        if limit == "plan_age":
            return plan.last_stamp_ns + config.plan_max_age_ns + state.offset_ns
        if limit == "pose_age":
            chain_s = self.pose_unknown_s + self.estimate_period_s + config.plan_delay_s
            pose = channels["pose"]
            return pose.last_stamp_ns + state.offset_ns + round(chain_s * NS_PER_S) + config.period_ns
        if limit == "flush":
            return act_ns + round(FLUSH_PERIOD_S * NS_PER_S)
        if limit == "wind_down":
            return act_ns + round(config.effort_fraction / config.torque_rate_per_s * NS_PER_S)
        return act_ns if limit in ("act", "exit") else first_ns
