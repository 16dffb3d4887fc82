"""How a robot's driver names joints and topics, and what message type it is commanded with: parameters of nodes."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

CommandType = Literal["Float64MultiArray", "JointState", "JointTrajectory"]
Seconds = Annotated[float, Field(allow_inf_nan=False)]


class DriverConfig(BaseModel):
    """The driver's side of the wire; by default that of this package's own plant.

    Where several drivers share the joints of a system (an arm each), `groups` says how many of the system's joints
    each has, in their order, and each has a topic of its own; names then need to be unique within a group only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    joint_names: tuple[str, ...] = Field(
        default=(), description="the driver's names of the system's joints, in the system's order; empty: the system's"
    )
    groups: tuple[int, ...] = Field(
        default=(), description="joints of each driver, where there are several; empty: one driver has all"
    )
    joint_states_topics: tuple[str, ...] = Field(
        default=("joint_states",), description="topics of joint states, one for each group; others' joints are left out"
    )
    command_topics: tuple[str, ...] = Field(
        default=(), description="topics of commands, one for each group; empty: effort_controller/commands or "
        "position_controller/commands, as command_interface says",
    )  # fmt: skip
    command_type: CommandType = Field(
        default="Float64MultiArray",
        description="Float64MultiArray: values in order; JointState: by name, position or effort; JointTrajectory: "
        "one point a period ahead, positions alone",
    )
    command_joints: tuple[str, ...] = Field(
        default=(), description="order of the commands, by the driver's names; others than joint_names are held where "
        "they are first measured (position interface); empty: joint_names",
    )  # fmt: skip
    parts_within_s: Seconds = Field(
        default=0.002, gt=0.0, le=0.1, json_schema_extra={"unit": "s"},
        description="parts of a joint state (A1-A3, A4-A7) belong together where their stamps differ by less",
    )  # fmt: skip

    @model_validator(mode="after")
    def _check_consistency(self) -> "DriverConfig":
        count = max(len(self.groups), 1)
        for key in ("joint_states_topics", "command_topics"):
            topics = getattr(self, key)
            if topics and len(topics) != count:
                raise ValueError(f"{key} has {len(topics)} entries, groups {count}; give one topic for each group")
        if self.joint_names and self.groups and sum(self.groups) != len(self.joint_names):
            raise ValueError(f"groups sum up to {sum(self.groups)}, joint_names has {len(self.joint_names)} entries")
        if self.command_joints and count > 1:
            raise ValueError("command_joints is for one driver; with groups the order is that of joint_names")
        return self

    def names(self, system_names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the driver's names of a system's joints."""
        return self.joint_names or system_names

    def slices(self, n_a: int) -> list[slice]:
        """Return the system's joints of each group."""
        sizes = self.groups or (n_a,)
        ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
        return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    def topics_of_commands(self, interface: str) -> tuple[str, ...]:
        """Return the topics of commands with an interface, "effort" or "position"."""
        return self.command_topics or (f"{interface}_controller/commands",)

    def find_mistake(self, system_names: tuple[str, ...], interface: str) -> str:
        """Return what does not fit a system's joints and the interface; "" where all does."""
        names, n_a = self.names(system_names), len(system_names)
        if len(names) != n_a:
            return f"joint_names has {len(names)} entries, the system has the {n_a} joints {', '.join(system_names)}"
        if sum(self.groups or (n_a,)) != n_a:
            return f"groups sum up to {sum(self.groups)}, the system has {n_a} joints"
        for part in self.slices(n_a):
            twice = sorted({name for name in names[part] if names[part].count(name) > 1})
            if twice:
                return f"joint_names has {', '.join(twice)} twice"
        if self.command_joints and (absent := sorted(set(names) - set(self.command_joints))):
            return f"command_joints lacks {', '.join(absent)}; it names every joint that is commanded, in order"
        others = sorted(set(self.command_joints) - set(names))
        if others and interface == "effort":
            return f"command_joints has {', '.join(others)} besides the system's; without a command they would be limp"
        if self.command_type == "JointTrajectory" and interface == "effort":
            return "command_type JointTrajectory carries positions; command_interface is 'effort'"
        return ""
