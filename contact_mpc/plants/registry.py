"""The plants by name; adding one is a folder and a line of `PLANTS`. Each engine is imported when it is asked for."""

from collections.abc import Callable

from contact_mpc.errors import InputError, ModelError
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import Interface, Plant
from contact_mpc.settings.registry import Entry, Registry

PlantFactory = Callable[[System, Interface, PlantPerturbation, bool], Plant]
PLANTS: Registry[PlantFactory] = Registry(
    "plant",
    {
        "drake": Entry(
            "contact_mpc.plants.drake.plant:DrakePlant", "Drake, SAP with compliant point contact", "pydrake", "drake"
        ),
        "mujoco": Entry(
            "contact_mpc.plants.mujoco.plant:MujocoPlant",
            "MuJoCo, Newton solver with elliptic cones",
            "mujoco",
            "mujoco",
        ),
        "gazebo": Entry("contact_mpc.plants.gazebo.plant:GazeboPlant", "Gazebo classic with ODE, as a process"),
        "penalty": Entry(
            "contact_mpc.plants.penalty.plant:PenaltyPlant",
            "forces from volumes of overlap, Radau; slow",
        ),
    },
)
INTERFACES = ("effort", "position")


def make_plant(
    engine: str,
    system: System,
    interface: Interface = "effort",
    perturbation: PlantPerturbation | None = None,
    *,
    gravity_compensation: bool,
) -> Plant:
    """Build a plant of one engine of `PLANTS`, at rest at system.q_default.

    Parameters
    ----------
    gravity_compensation : bool
        Whether the plant itself adds the torques that carry the robot's own weight. False where the bridge adds them.

    Raises
    ------
    InputError
        Unknown interface.
    ConfigError
        Unknown engine, or one that is not installed.
    ModelError
        A link has a mesh, and the engine is Gazebo classic.
    """
    PLANTS.check(engine)
    if interface not in INTERFACES:
        raise InputError(f"unknown interface '{interface}' of the plant; allowed: {', '.join(INTERFACES)}")
    if engine == "gazebo":
        _check_shapes(system)
    return PLANTS.load(engine)(system, interface, perturbation or PlantPerturbation(), gravity_compensation)


def _check_shapes(system: System) -> None:
    hulls = [item.link for item in system.geometries if item.shape.kind == "hull"]
    if hulls:
        raise ModelError(
            f"{system.path}: the plant 'gazebo' knows no meshes; found {', '.join(hulls)}: use primitives, or "
            "the plant 'drake' or 'mujoco'"
        )
