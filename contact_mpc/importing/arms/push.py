"""Where an arm pushes an object on a table: place, contact, and a posture behind it.

The table is the plane z = 0, on which the arm stands. An object on it slides as a limit surface says that is an
ellipsoid (S. Goyal, A. Ruina, J. Papadopoulos, 1991): a force f with a moment m about its centre moves it by

    v / omega = c^2 f / m,    c = largest moment over largest force = half the diagonal of a box on its corners

so a way d with a turn theta needs a push that passes its centre at m / f = c^2 theta / d. The face is pushed there, the
object begins turned by -theta / 2: between start and goal the push then stays within theta / 2 of its face's normal.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.geometry.reach import LinkFrame, reach
from contact_mpc.importing.objects import NewObject
from contact_mpc.importing.proposals import middle_posture
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.rotations import rotation_from_rpy
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.arrays import FloatArray

KINDS = ("ball", "cube", "box", "cylinder")  # of objects whose sides are known
MOST_TURN_DEG = 60.0
MOST_SHARE = 0.8  # of half a face, beside its middle
GAP_M = (
    0.015  # at the start: objects lie 3 mm beside their place, are 3 % larger; ripple of the drives is 3 mm at the end
)
CLEARANCE_M = 0.01  # of the tool over the table
DISTANCES_M = np.arange(0.25, 1.0, 0.1)
TRIES, STEPS, NEAR_M = 4, 80, 1e-3
LINK_CLEARANCE_M = 0.05  # of the middles of links that move, over the table


@dataclass(frozen=True)
class Push:
    """A push: direction of the way (3,) in the world, its length, m, and the turn about the vertical, rad."""

    direction: FloatArray
    way_m: float
    turn_rad: float


@dataclass(frozen=True)
class PushStart:
    """Where a push begins: posture q_a (n_a,), pose of the object, room to the joint limits on the way, rad."""

    q_a: FloatArray
    position_m: FloatArray
    yaw_rad: float
    room_rad: float


def read_push(text: str, axis: tuple[float, float, float], turn_deg: float) -> Push:
    """Return the push of AXIS:METRES, e.g. x:0.1 or -y:0.05, with a turn about an axis of the world.

    Raises
    ------
    ConfigError
        It does not read so, or turns what stands on a table about another axis than the vertical.
    """
    name, _, number = text.partition(":")
    along = {"x": 0, "y": 1}.get(name.lstrip("+-"))
    try:
        way = float(number)
    except ValueError:
        way = np.nan
    if along is None or not 0.005 <= way <= 0.5:
        raise ConfigError(f"--push {text}: expected AXIS:METRES with x, -x, y or -y and 0.005 to 0.5, e.g. x:0.1")
    if axis[2] == 0.0 or abs(turn_deg) > MOST_TURN_DEG:
        raise ConfigError(f"--push {text}: one push turns about z alone, by at most {MOST_TURN_DEG:g} degrees")
    sign = -1.0 if name.startswith("-") else 1.0
    return Push(sign * np.eye(3)[along], way, axis[2] * float(np.deg2rad(turn_deg)))


def start_push(system: System, robot: str, tip: str, item: NewObject, push: Push, seed: int) -> PushStart:
    """Return the start of a push with most room to the joint limits at both ends, of places before the arm.

    Raises
    ------
    ConfigError
        The arm has no simple end, the object no simple sides, or no posture reaches both ends.
    """
    if item.name not in KINDS:
        raise ConfigError(f"--push: the sides of a {item.name} are not known; push one of {', '.join(KINDS)}")
    shape = [g for g in system.geometries if (g.owner, g.link) == (robot, tip)][-1]
    if shape.body < 0 or shape.shape.kind not in ("sphere", "capsule", "box"):
        raise ConfigError(
            f"{system.path}: --push needs an arm with a simple end, not a {shape.shape.kind} of link '{tip}'; import "
            "it with --tool LINK=stick:LENGTH,RADIUS"
        )
    tool_T, thick, height = _tool(shape.shape.kind, shape.shape.size, item)
    frame = LinkFrame(shape.body, shape.X_BG @ tool_T)
    rng, best = np.random.default_rng(seed), None
    for distance in DISTANCES_M:
        centre = np.array([distance, 0.0, item.half_extent_m[2]])
        found = _reach_both_ends(system, frame, shape.shape.kind, item, push, centre, thick, height, rng)
        if found is not None and (best is None or found.room_rad > best.room_rad):
            best = found
    if best is None:
        raise ConfigError(
            f"{system.path}: link '{tip}' reaches both ends of a push of {push.way_m:g} m nowhere before the arm, at "
            f"{DISTANCES_M[0]:g} to {DISTANCES_M[-1]:g} m; a longer --tool, a shorter --push, or another base may help"
        )
    return best


def contact_offset(item: NewObject, push: Push) -> float:
    """Return how far beside the middle of the face the push goes, m, to the left of its direction."""
    if item.name not in ("cube", "box"):
        return 0.0
    along = int(np.argmax(np.abs(push.direction)))
    half = item.half_extent_m
    wanted = -float(half[0] ** 2 + half[1] ** 2) * push.turn_rad / push.way_m
    return float(np.clip(wanted, -MOST_SHARE * half[1 - along], MOST_SHARE * half[1 - along]))


def _tool(kind: str, size: tuple[float, ...], item: NewObject) -> tuple[Pose, float, float]:
    """Return the point of the tool's shape that pushes, half its thickness there, and its height over the table, m."""
    if kind == "capsule":
        return Pose(np.eye(3), np.array([0.0, 0.0, 0.5 * size[1]])), size[0], size[0] + CLEARANCE_M
    if kind == "sphere":
        return Pose(np.eye(3), np.zeros(3)), size[0], max(size[0] + CLEARANCE_M, 0.8 * float(item.half_extent_m[2]))
    return Pose(np.eye(3), np.zeros(3)), 0.5 * size[0], 0.5 * size[2] + CLEARANCE_M


def _reach_both_ends(
    system: System, frame: LinkFrame, kind: str, item: NewObject, push: Push, centre: FloatArray, thick: float,
    height: float, rng: np.random.Generator,
) -> PushStart | None:  # fmt: skip
    """Return the push whose way has its middle at `centre`, None where no posture reaches its ends."""
    along = int(np.argmax(np.abs(push.direction)))
    side = np.cross([0.0, 0.0, 1.0], push.direction)
    ends = []
    for share in (-0.5, 0.5):
        turned = rotation_from_rpy(np.array([0.0, 0.0, share * push.turn_rad]))
        middle = centre + share * push.way_m * push.direction
        back = item.half_extent_m[along] + thick + GAP_M
        point = middle + turned @ (-back * push.direction + contact_offset(item, push) * side)
        x = turned @ push.direction
        R = np.column_stack([x, np.cross([0.0, 0.0, -1.0], x), [0.0, 0.0, -1.0]])
        ends.append(Pose(R, np.array([point[0], point[1], height])))
    first, best = system.n_q_u, None
    for attempt in range(TRIES):
        q = middle_posture(system)
        if attempt:
            q[first:] = rng.uniform(system.q_min, system.q_max)
        start, off = reach(system, q, frame, ends[0], STEPS, free_axis=kind != "box")
        if off > NEAR_M:
            continue
        end, off = reach(system, start, frame, ends[1], STEPS, free_axis=kind != "box")
        if off > NEAR_M or min(_height(system, start), _height(system, end)) < LINK_CLEARANCE_M:
            continue
        room = min(_room(system, start), _room(system, end))
        if best is None or room > best.room_rad:
            best = PushStart(start[first:], centre - 0.5 * push.way_m * push.direction, -0.5 * push.turn_rad, room)
    return best


def _room(system: System, q: FloatArray) -> float:
    q_a = q[system.n_q_u :]
    return float(min(np.min(q_a - system.q_min), np.min(system.q_max - q_a)))


def _height(system: System, q: FloatArray) -> float:
    """Return the least height over the table of the middles of shapes that move, but for the last link's, m."""
    R, p = forward_kinematics(system.tree, q)
    last = max(g.body for g in system.geometries)
    found = [float((R[g.body] @ g.X_BG.p + p[g.body])[2]) for g in system.geometries if 0 <= g.body < last]
    return min(found, default=np.inf)
