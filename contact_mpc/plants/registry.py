"""Plants by name: each engine is imported when it is asked for."""

from importlib.util import find_spec

from contact_mpc.errors import ConfigError, InputError, ModelError
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import Interface, Plant

ENGINES = ("drake", "mujoco", "gazebo")


INTERFACES = ("effort", "position")


def make_plant(
    engine: str,
    system: System,
    interface: Interface = "effort",
    perturbation: PlantPerturbation | None = None,
    *,
    gravity_compensation: bool,
) -> Plant:
    """Build a plant of one engine, "drake", "mujoco" or "gazebo", at rest at system.q_default.

    Parameters
    ----------
    gravity_compensation : bool
        Whether the plant itself adds the torques that carry the robot's own weight. False where the bridge adds them.

    Raises
    ------
    InputError
        Unknown engine or interface.
    ConfigError
        The engine is not installed.
    ModelError
        A link has a shape other than sphere, box, capsule and cylinder.
    """
    if engine not in ENGINES:
        raise InputError(f"unknown plant '{engine}'; allowed: {', '.join(ENGINES)}")
    if interface not in INTERFACES:
        raise InputError(f"unknown interface '{interface}' of the plant; allowed: {', '.join(INTERFACES)}")
    _check_shapes(system)
    if engine == "gazebo":
        from contact_mpc.plants.gazebo.plant import GazeboPlant

        return GazeboPlant(system, interface, perturbation or PlantPerturbation(), gravity_compensation)
    module = {"drake": "pydrake", "mujoco": "mujoco"}[engine]
    if find_spec(module) is None:
        raise ConfigError(f"plant '{engine}' needs {module}; install it with: pip install 'contact_mpc[{engine}]'")
    perturbation = perturbation or PlantPerturbation()
    if engine == "drake":
        from contact_mpc.plants.drake.plant import DrakePlant

        return DrakePlant(system, interface, perturbation, gravity_compensation)
    from contact_mpc.plants.mujoco.plant import MujocoPlant

    return MujocoPlant(system, interface, perturbation, gravity_compensation)


def _check_shapes(system: System) -> None:
    hulls = [item.link for item in system.geometries if item.shape.kind == "hull"]
    if hulls:
        raise ModelError(f"{system.path}: the plants know no meshes; found {', '.join(hulls)}: use primitives")
