"""Says on `command_bridge/safety` and in the log what the bridge does and why, by name and number."""

from collections import Counter
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.publisher import Publisher

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.status import BridgeMode, SafetyStatus
from contact_mpc.ros.messages import conversions as messages

NAME = "command_bridge"
LEVELS = {
    BridgeMode.INACTIVE: DiagnosticStatus.STALE,
    BridgeMode.WAITING: DiagnosticStatus.WARN,
    BridgeMode.ACTIVE: DiagnosticStatus.OK,
    BridgeMode.HOLD: DiagnosticStatus.WARN,
    BridgeMode.FAULT: DiagnosticStatus.ERROR,
}


def level_of(safety: SafetyStatus) -> bytes:
    """Return the level of a mode; a warning is one also while commands go on."""
    return DiagnosticStatus.WARN if safety.cause.is_warning else LEVELS[safety.mode]


class SafetyReport:
    """Publishes mode and cause of a bridge.

    Parameters
    ----------
    core : BridgeCore
        The bridge.
    publisher : Publisher
        Of diagnostic_msgs/DiagnosticStatus.
    logger : rclpy logger
        Gets a line for every change.

    Attributes
    ----------
    strangers : dict
        Who else publishes states and plans, in words.
    requests : Counter
        Calls of the services by name.
    """

    def __init__(self, core: BridgeCore, publisher: Publisher, logger: Any) -> None:
        self._core, self._publisher, self._logger = core, publisher, logger
        self._reported: SafetyStatus | None = None
        self.strangers: dict[str, str] = {}
        self.requests: Counter[str] = Counter()

    def publish_change(self) -> None:
        """Publish if mode or cause changed since the last report."""
        if self._core.safety is not self._reported:
            self.publish()

    def publish(self) -> None:
        """Publish, and log if mode or cause changed."""
        safety = self._core.safety
        text = safety.describe()
        self._publisher.publish(messages.to_status(level_of(safety), NAME, text, self.values()))
        if safety is self._reported:
            return
        self._reported = safety
        if safety.mode is BridgeMode.FAULT:
            self._logger.error(text)
        else:
            self._logger.info(text)

    def values(self) -> dict[str, object]:
        """Return mode, cause with its number, rates, and what was clamped and refused so far."""
        core, safety = self._core, self._core.safety
        values: dict[str, object] = {
            "mode": safety.mode.value, "cause": safety.cause.name, "number": safety.cause.number,
            "detail": safety.detail, "remedy": safety.cause.remedy, "since_ns": safety.t_ns,
            "state_rate_hz": round(core.state_rate.rate_hz, 2),
            "plan_delay_ms": round(1e3 * core.plans.mean_delay_s, 3), "stalls": core.stalls,
        }  # fmt: skip
        values |= {f"{what}_strangers": who for what, who in self.strangers.items()}
        values |= {f"{name}_requests": count for name, count in self.requests.items()}
        values |= {f"clamped_{kind}": count for kind, count in core.guard.counts_by_kind().items()}
        return values | {f"refused_{reason}": count for reason, count in sorted(core.refusals.items())}
