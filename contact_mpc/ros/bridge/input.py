"""Messages on their way into the bridge: joints by the driver's names, what cannot be used refused with its reason."""

from collections.abc import Sequence

from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.guard.limits import MAX_POINTS
from contact_mpc.control.bridge.status import BridgeCommand
from contact_mpc.errors import InputError
from contact_mpc.ros.driver.command_output import CommandOutput
from contact_mpc.ros.driver.config import DriverConfig
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import JointParts


class BridgeInput:
    """Reads joint states and plans for a bridge.

    Parameters
    ----------
    core : BridgeCore
        The bridge.
    joint_names : sequence of str
        Its joints.
    driver : DriverConfig, optional
        The driver's names of them; by default the bridge's own.
    output : CommandOutput, optional
        Commands to the driver, where it may hold joints besides these.

    Attributes
    ----------
    refusal : str
        Why the latest message was refused; empty if it was not.
    """

    def __init__(
        self,
        core: BridgeCore,
        joint_names: Sequence[str],
        driver: DriverConfig | None = None,
        output: CommandOutput | None = None,
    ) -> None:
        self._core, self._output = core, output
        driver = driver or DriverConfig()
        names = driver.names(tuple(joint_names))
        self._has_groups = bool(driver.groups)
        self._parts = JointParts(names, driver.slices(len(names)), round(driver.parts_within_s * NS_PER_S))
        self._states = messages.JointOrder(self._parts.names)
        self._plans = messages.JointOrder(joint_names)
        self.refusal = ""

    def take_plan(self, message: JointTrajectory) -> None:
        """Hand a plan to the bridge; one that is too long is not even converted, which would take its time."""
        try:
            if len(message.points) > MAX_POINTS:
                raise InputError(f"plan of {len(message.points)} points, at most {MAX_POINTS}: shorten the horizon")
            self.refusal = self._core.update_plan(messages.read_plan(message, self._plans)) or ""
        except InputError as error:
            self.refusal = str(error)
            self._core.refuse_plan(messages.from_stamp(message.header.stamp), "plan_unreadable", self.refusal)

    def clear(self) -> None:
        """Forget parts of joint states."""
        self._parts.clear()

    def complete(self, message: JointState, topic: int) -> JointState | None:
        """Return the joint state that a message from one of the driver's topics completes, None where it does not."""
        if self._output is not None and self._output.unknown:
            self._output.take_others(message)
        if self._core.lockstep and not self._has_groups:  # each message is a step
            return message
        whole = self._parts.complete(message, topic)
        if whole is None and self._parts.missing:
            self.refusal = self._parts.missing
            self._core.refuse_state("state_incomplete", messages.from_stamp(message.header.stamp), self.refusal)
        return whole

    def take_state(self, message: JointState, t_ns: int, receipt_ns: int | None) -> BridgeCommand | None:
        """Return the bridge's answer to a joint state stamped t_ns; `receipt_ns` is None in lockstep."""
        try:
            q, dq, tau = self._read_state(message)
        except InputError as error:
            self.refusal = str(error)
            return self._core.refuse_state("state_unreadable", t_ns, self.refusal)
        if self._output is not None and self._output.unknown:
            self.refusal = f"{self._output.unknown}: not measured yet, and held"
            return self._core.refuse_state("state_incomplete", t_ns, self.refusal)
        self.refusal = ""
        return self._core.step(t_ns, q, dq, receipt_ns, tau)

    def _read_state(self, message: JointState) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return positions, velocities and, where commands are about to begin, efforts that can be used."""
        order, names = self._states, message.name
        q = order.pick("position", message.position, names)
        dq = order.pick("velocity", message.velocity, names)
        if not self._core.is_waiting or not message.effort:
            return q, dq, None
        try:
            return q, dq, order.pick("effort", message.effort, names)
        except InputError:
            return q, dq, None  # drivers without torque sensors fill the field with NaN
