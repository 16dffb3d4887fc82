"""The Shadow hand of the package gymnasium-robotics with an object, as a system (seeds/002, III-C).

Its MJCF goes through the package's own importer. Tendons couple the last two joints of each finger there (by limits of
1 mm, soft); the importer reads joints, not tendons, so these joints are free of each other here and follow one closure.
The palm looks down: nothing but the grasp carries the object.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.examples.grasp.grippers import FRICTION, OBJECTS, THING, bunny, object_urdf, write_obj
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.robot import import_robot
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.settings.arrays import FloatArray

PACKAGE = "gymnasium_robotics"
PREFIX = "robot0:"
EFFORT_NM, SPEED_RAD_S = 2.0, 3.0  # of joints that the file gives none
FINGERS = ("FF", "MF", "RF", "LF", "TH")
# Where the object's centre is in the frame of the palm, from its surface: across, out of the palm, along the fingers.
ACROSS_M, PALM_M, GAP_M, ALONG_M = 0.0, 0.0111, 0.001, 0.075
OUT_M = {"sphere": 0.03, "box": 0.025, "bunny": 0.032}
THUMB = {"THJ4": 0.45}  # across the palm, rad: there its push opposes that of the fingers; other joints close
CLOSING = {"J2": 1.0, "J1": 1.0, "J0": 0.8}  # rad per unit of closure, of fingers
THUMB_CLOSING = {"J3": 1.0, "J1": 0.1, "J0": -0.3}
MOST_CLOSURE, MARGIN = 1.5, 5e-3
METHODS = {"bunny": "manifold"}  # clipping a mesh with dents by the hundreds of facets of capsules takes too much room


@dataclass(frozen=True)
class ShadowGrasp:
    """The hand around an object: where its fingers are about to touch, and how each closes from there.

    q (n_q,), closing (k, n_a): d q_a per unit of closure of the fingers that reach the object
    """

    system: System
    engine: PenaltyEngine
    q: FloatArray
    closing: FloatArray
    fingers: tuple[str, ...]


def find_hand() -> Path:
    """Return the folder of the hand's MJCF.

    Raises
    ------
    ConfigError
        The package is not installed.
    """
    spec = find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        raise ConfigError(
            "the Shadow hand needs the files of gymnasium-robotics; install with: "
            "pip install --no-deps gymnasium-robotics"
        )
    return Path(folders[0]) / "envs" / "assets"


def build_shadow_system(thing: str, folder: Path) -> System:
    """Write the hand with an object to a folder, and load it: its palm is horizontal and looks down.

    Raises
    ------
    ConfigError
        The package is not installed.
    InputError
        Unknown object.
    """
    if thing not in OBJECTS:
        raise InputError(f"--object '{thing}'; allowed: {', '.join(OBJECTS)}")
    assets = find_hand()
    (folder / "shadow.xml").write_text(
        f'<mujoco><compiler angle="radian" meshdir="{assets}/stls/hand" texturedir="{assets}/textures"/>'
        f'<include file="{assets}/hand/shared.xml"/>'
        f'<asset><include file="{assets}/hand/shared_asset.xml"/></asset>'
        f'<worldbody><include file="{assets}/hand/robot.xml"/></worldbody></mujoco>',
        encoding="utf-8",
    )
    options = JointOptions(effort={"": EFFORT_NM}, velocity={"": SPEED_RAD_S})
    hand = import_robot(str(folder / "shadow.xml"), "shadow", folder, options)
    if thing == "bunny":
        write_obj(bunny(), folder / "bunny.obj")
    (folder / f"{THING}.urdf").write_text(object_urdf(thing), encoding="utf-8")
    lines = hand.system_file.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith(("objects:", "friction:", "gravity"))]
    lines += [
        f"friction: {{default: {FRICTION}}}",
        "gravity_m_s2: [0.0, 0.0, 9.81]  # the importer turns the palm up; so it looks down",
        f"objects: [{{name: {THING}, urdf: {THING}.urdf, mobility: free}}]",
    ]
    path = folder / "grasp.yaml"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return load_system(path)


def build_shadow_grasp(thing: str, parameters: PenaltyParameters | None = None) -> ShadowGrasp:
    """Return the hand with its fingers about to touch an object."""
    with TemporaryDirectory(prefix="contact_mpc_shadow_") as name:
        system = build_shadow_system(thing, Path(name))
    meshes = {THING: bunny()} if thing == "bunny" else {}
    made = PenaltyEngine(system, parameters, meshes=meshes, method=METHODS.get(thing, "clip"), integrator="Radau")
    q = _open_posture(system, thing)
    closing, fingers = [], []
    for finger in FINGERS:
        direction = _closing(system, finger)
        closure = _closure(made, q, direction)
        if closure is not None:
            q[system.n_q_u :] += (closure - MARGIN) * direction
            closing.append(direction)
            fingers.append(finger)
    return ShadowGrasp(system, made, q, np.array(closing), tuple(fingers))


def _joint(system: System, name: str) -> int:
    return system.joint_names.index(f"{PREFIX}{name}")


def _open_posture(system: System, thing: str) -> FloatArray:
    q = system.q_default.copy()
    q[system.n_q_u :] = np.clip(0.0, system.q_min, system.q_max)
    for name, value in THUMB.items():
        q[system.n_q_u + _joint(system, name)] = value
    R, p = forward_kinematics(system.tree, q)
    body, X_BL = system.links["shadow", f"{PREFIX}palm"]
    local = X_BL.R @ np.array([ACROSS_M, -(PALM_M + GAP_M + OUT_M[thing]), ALONG_M]) + X_BL.p
    q[4:7] = R[body] @ local + p[body]
    return q


def _closing(system: System, finger: str) -> FloatArray:
    """Return d q_a per unit of closure of a finger."""
    direction = np.zeros(system.n_a)
    for joint, ratio in (THUMB_CLOSING if finger == "TH" else CLOSING).items():
        direction[_joint(system, f"{finger}{joint}")] = ratio
    return direction


def _closure(engine: PenaltyEngine, q: FloatArray, direction: FloatArray) -> float | None:
    """Return the closure at which a finger first overlaps the object; None where it does not meet it."""
    n, now = len(q) - len(direction), q.copy()
    engine.reset(q)
    before = engine.work.rows[:, 0].sum()

    def touches(closure: float) -> bool:
        now[n:] = q[n:] + closure * direction
        engine.reset(now)
        return bool(engine.work.rows[:, 0].sum() > before)

    trials = np.linspace(0.0, MOST_CLOSURE, 60)[1:].tolist()
    high = next((value for value in trials if touches(value)), None)
    if high is None:
        return None
    low = high - trials[0]
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if touches(middle) else (middle, high)
    return low  # still apart
