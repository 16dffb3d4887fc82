"""What the state estimator's node says of contacts on links: its subscriptions, its topics, and when it says it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.contact_location.external_torque import ExternalTorque
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.model.system import System
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.hypothesis_messages import to_location_status, to_markers
from contact_mpc.ros.runtime.direct_reader import at_most
from contact_mpc.task.loop_records import EstimatedState

TORQUES_AT_ONCE = 64  # messages of each source for each turn of the estimator's loop

LIFETIME_PERIODS = 3.0  # hypotheses that are not published again vanish


class ContactLocationOutput:
    """Locates contacts at a rate of its own, and publishes them.

    Parameters
    ----------
    order : JointOrder
        Of the driver's joints.
    publish_topic : callable
        Returns a publisher by the name of its topic.
    tick_rate_hz, rate_hz : int
        Of the estimates, and of contact location; the second divides the first.

    Raises
    ------
    ConfigError
        It does not.
    """

    def __init__(
        self,
        system: System,
        config: LocationConfig,
        order: messages.JointOrder,
        publish_topic: Callable[[str], Any],
        tick_rate_hz: int,
        rate_hz: int,
    ) -> None:
        if tick_rate_hz % rate_hz:
            raise ConfigError(
                f"parameter contact_location_rate_hz = {rate_hz} does not divide rate_hz = {tick_rate_hz}; 0: none"
            )
        self._system, self._order = system, order
        self._locator, self._torque = ContactLocator(system, config), ExternalTorque(system)
        self._ticks, self._period_s = tick_rate_hz // rate_hz, 1.0 / rate_hz
        self._hypotheses = publish_topic("state_estimator/contact_hypotheses")
        self._status = publish_topic("state_estimator/contact_location")

    def warm_up(self) -> None:
        """Compile, or load what is compiled."""
        self._locator.warm_up()

    def subscribe(self, reader: Any, subscribe: Callable[[str], Any]) -> None:
        """Subscribe to what tells external torques."""
        self._reader = reader
        self._sources = (
            (subscribe("external_torques"), "effort", self._torque.take_report),
            (subscribe("command_bridge/applied"), "position", self._torque.take_command),
        )

    def take_torques(self, refuse: Callable[[str, InputError], None]) -> None:
        """Take what has arrived; `refuse` is told of what is unusable."""
        for subscription, field, take in self._sources:
            for found in at_most(TORQUES_AT_ONCE, partial(self._reader.take, subscription)):
                message = found[0]
                try:
                    values = self._order.pick(field, getattr(message, field), message.name)
                    take(messages.from_stamp(message.header.stamp), values)
                except InputError as error:
                    refuse(subscription.topic_name, error)

    def publish(self, tick: int, state: EstimatedState) -> None:
        """At every so many ticks publish all places that explain the torques, or that there are no torques."""
        if tick % self._ticks:
            return
        known = self._torque.compute(state)
        if known is None:
            self._status.publish(to_location_status(None, None))
            return
        tau_ext, source = known
        chains = self._locator.locate(state.q[self._system.n_q_u :], tau_ext)
        self._status.publish(to_location_status(chains, source))
        self._hypotheses.publish(to_markers(state.t_ns, chains, LIFETIME_PERIODS * self._period_s))
