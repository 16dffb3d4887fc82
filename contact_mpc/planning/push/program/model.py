"""What a program is written for: an arm, the object that it pushes, the tool, the settings."""

from dataclasses import dataclass

from contact_mpc.errors import ModelError
from contact_mpc.model.system import System
from contact_mpc.planning.push.program.arm import Arm, build_arm
from contact_mpc.planning.push.program.objects import PushedObject, build_object
from contact_mpc.planning.push.program.settings import ContactImplicitSettings


@dataclass(frozen=True)
class Model:
    """Arm, object and tool; the head of the tool is a sphere, rod_end_m the length of the rod behind its centre."""

    arm: Arm
    thing: PushedObject
    settings: ContactImplicitSettings
    head_radius_m: float
    rod_end_m: float

    @property
    def system(self) -> System:
        """The system that both belong to."""
        return self.arm.system

    @property
    def n_r(self) -> int:
        """Joints of the arm."""
        return len(self.arm.bodies)

    @property
    def n_o(self) -> int:
        """Coordinates of the object."""
        return self.thing.n_o

    @property
    def n_x(self) -> int:
        """Length of the state of a stage, (q_r, w, v_r, w_dot)."""
        return 2 * (self.n_r + self.n_o)

    @property
    def has_friction(self) -> bool:
        """Whether dry friction acts on the object."""
        return self.thing.breakaway_n > 0.0

    @property
    def n_u(self) -> int:
        """Length of the input of a stage, (a, lam, F_f)."""
        return self.n_r + 1 + int(self.has_friction)

    @property
    def dt_s(self) -> float:
        """Step, s."""
        return self.settings.horizon_s / (self.settings.stages - 1)


def build_model(system: System, settings: ContactImplicitSettings) -> Model:
    """Find the tool's head and rod among the robot's shapes.

    Raises
    ------
    ModelError
        The system has no chain of joints, no object that can be pushed, or its tool link has no sphere.
    """
    arm = build_arm(system)
    shapes = [geometry.shape for geometry in system.geometries if geometry.link == settings.tool_link]
    heads = [shape for shape in shapes if shape.kind == "sphere"]
    rods = [shape for shape in shapes if shape.kind == "capsule"]
    if len(heads) != 1:
        raise ModelError(
            f"{system.path}: link '{settings.tool_link}' needs one sphere, the tool's head; {len(heads)} found"
        )
    if len(settings.velocity_weights) != len(arm.bodies):
        raise ModelError(
            f"{system.path}: velocity_weights has {len(settings.velocity_weights)} values; expected {len(arm.bodies)}"
        )
    ends = [float(abs(rod.X_LG.p[2]) + 0.5 * rod.size[1]) for rod in rods]
    return Model(arm, build_object(system, settings.edge_m), settings, heads[0].size[0], max(ends, default=0.0))
