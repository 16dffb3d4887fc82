"""What the browser needs to play a run: shapes, their poses over time, the goal, the camera.

The shapes are the visuals of the system's URDFs (`visuals`); robots stand where the measured joints say, objects
where the judged track (ground truth, else the estimate) says. Played by assets/scene.js.
"""

import base64
from typing import Any

import numpy as np

from contact_mpc.bags.object_track import ObjectEvaluation, configurations
from contact_mpc.bags.poses import IntArray
from contact_mpc.bags.record import RunRecord
from contact_mpc.errors import BagError
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Shape
from contact_mpc.report.scene.appearance import BASE_COLOUR, link_colour, rgb
from contact_mpc.report.scene.visuals import Drawn, drawn_shapes
from contact_mpc.settings.arrays import FloatArray

FRAMES_PER_S = 30.0
MAX_FRAMES = 1800
AXIS_COLOURS = ((0.85, 0.16, 0.16), (0.13, 0.6, 0.2), (0.15, 0.32, 0.85))
GOAL_ALPHA = 0.42
AXIS_LENGTH = 1.35  # of the object's radius
NO_OBJECT_M = 0.04
WALL_RADII, WALL_ALPHA = 8.0, 0.12
LEAST_LEVEL = 0.999  # cosine of the tilt up to which a half space is the ground
IDENTITY = [1.0, 0.0, 0.0, 0.0]


def build_scene(record: RunRecord, system: System, evaluation: ObjectEvaluation) -> dict[str, Any]:
    """Return the scene as JSON-ready data.

    Returns
    -------
    dict
        times (n,) s from the start of the motion; frames: base64 of float32 (n, bodies, 7), each p (m) and q wxyz;
        bodies: name, colour, is_object, shapes in the body frame, some with a colour of their own; markers: the
        object's axes (on a body), the goal's and walls (at a fixed pose); camera, floor height and grid in m.

    Raises
    ------
    BagError
        No joint states, fewer than two of them, or joints of the system missing in them.
    """
    t_ns = frame_stamps(record, evaluation)
    goal = evaluation.goal
    places = np.vstack([evaluation.judged.position_m[:1], evaluation.start.position_m, goal.position_m])
    q = configurations(record, system, evaluation, t_ns)
    times_s = np.asarray((t_ns - evaluation.start_ns) * 1e-9, dtype=np.float64)
    return scene_of_configurations(system, times_s, q, (goal.quaternion_wxyz[0], goal.position_m[0]), places)


def scene_of_configurations(
    system: System, times_s: FloatArray, q: FloatArray, goal: tuple[FloatArray, FloatArray], places: FloatArray
) -> dict[str, Any]:
    """Return the scene, as `build_scene`, of configurations q (n, n_q) at times_s (n,).

    goal is the quaternion wxyz and position (m) of the first object's goal; places (m, 3) are where it must be seen.
    """
    drawn = [item for item in drawn_shapes(system) if not _is_ground(item)]
    links = sorted({(item.body, item.owner, item.link) for item in drawn if item.kind != "half_space"})
    poses = [forward_kinematics(system.tree, row) for row in q]
    R, p = np.array([pose[0] for pose in poses]), np.array([pose[1] for pose in poses])
    frames = np.array([[_frame(R[k], p[k], body) for body, _, _ in links] for k in range(len(q))], dtype=np.float32)
    bodies = [
        {
            "name": f"{owner}/{link}",
            "color": link_colour(system, owner, body),
            "is_object": owner in system.object_names,
            "shapes": [_shape(item, system) for item in drawn if (item.owner, item.link) == (owner, link)],
        }
        for body, owner, link in links
    ]
    points, radius = _robot_points(system, drawn, R, p), _object_radius(system)
    return {
        "times": np.round(times_s, 4).tolist(),
        "frames": base64.b64encode(frames.tobytes()).decode(),
        "bodies": bodies,
        "markers": [*_walls(drawn, radius), *_markers(system, links, goal, radius)],
        "camera": _camera(points, places, radius),
        "floor_z": _floor(system, points, places, radius),
        "grid": _round_length(radius),
    }


def _floor(system: System, points: FloatArray, places: FloatArray, radius: float) -> float:
    """Return the height of the drawn floor, m: of the ground where there is one, else somewhat below everything."""
    grounds = [item.X_BG.p[2] for item in drawn_shapes(system) if _is_ground(item)]
    if grounds:
        return float(max(grounds))
    return float(min(points[:, :, 2].min(), places[:, 2].min() - radius)) - 0.35 * radius


def frame_stamps(record: RunRecord, evaluation: ObjectEvaluation) -> IntArray:
    """Return the stamps (n,), ns, of pictures of a run, while there are joint states and poses of the object.

    Raises
    ------
    BagError
        No joint states, or too few.
    """
    record.need("joint_states")
    states = record.joint_states
    assert states is not None
    first = max(states.t_ns[0], evaluation.judged.t_ns[0])
    last = min(states.t_ns[-1], evaluation.judged.t_ns[-1])
    count = min(MAX_FRAMES, round((last - first) * 1e-9 * FRAMES_PER_S) + 1)
    if count < 2:
        raise BagError(f"{record.path}: joint states and object poses overlap for less than one frame; run it longer")
    return first + np.round(np.linspace(0, last - first, count)).astype(np.int64)


def _frame(R: FloatArray, p: FloatArray, body: int) -> FloatArray:
    if body < 0:
        return np.array([0.0, 0.0, 0.0, *IDENTITY])
    return np.concatenate([p[body], matrix_to_quaternion(R[body])])


def _is_ground(item: Drawn) -> bool:
    return item.kind == "half_space" and item.body < 0 and bool(item.X_BG.R[2, 2] > LEAST_LEVEL)


def _walls(drawn: list[Drawn], radius: float) -> list[dict[str, Any]]:
    """Return half-spaces that are not the ground as translucent plates, drawn where the eye is on their free side."""
    side, found = WALL_RADII * radius, []
    for item in (item for item in drawn if item.kind == "half_space"):
        plate = {"kind": "box", "size": [side, side, 0.01 * radius], "p": [0.0, 0.0, 0.0], "q": IDENTITY}
        place = {"body": None, "p": item.X_BG.p.tolist(), "q": _quaternion(item), "free": item.X_BG.R[:, 2].tolist()}
        found.append({**place, "color": [*rgb(BASE_COLOUR), WALL_ALPHA], "shapes": [plate]})
    return found


def _shape(item: Drawn, system: System) -> dict[str, Any]:
    """Return a shape as the page draws it; objects have the colours of their materials, robots those of the plots."""
    size: list[float] | str = [float(value) for value in item.size]
    if item.kind == "triangles":
        size = base64.b64encode(item.corners.astype("<f4").tobytes()).decode()
    own = {"color": item.colour} if item.colour is not None and item.owner in system.object_names else {}
    return {"kind": item.kind, "size": size, "p": item.X_BG.p.tolist(), "q": _quaternion(item), **own}


def _quaternion(item: Drawn) -> list[float]:
    return list(matrix_to_quaternion(np.ascontiguousarray(item.X_BG.R)).tolist())


def _object_radius(system: System) -> float:
    """Half the size of the first object, m; of a system without objects a length at which its robots are seen."""
    if not system.object_names:
        return NO_OBJECT_M
    shapes = [item.shape for item in system.geometries if item.owner == system.object_names[0]]
    return max(_half_size(shape) for shape in shapes)


def _half_size(shape: Shape) -> float:
    if shape.kind == "hull":
        return 0.5 * float(np.linalg.norm(np.ptp(shape.vertices, axis=0)))
    return float(np.linalg.norm(shape.size)) / 2.0 if shape.kind == "box" else float(shape.size[0])


def _markers(
    system: System, links: list[tuple[int, str, str]], goal: tuple[FloatArray, FloatArray], radius: float
) -> list[dict[str, Any]]:
    """Return sticks along the object's axes, and translucent knobs where their tips have to arrive."""
    if not system.object_names:
        return []
    body = max(i for i, (_, owner, _) in enumerate(links) if owner == system.object_names[0])
    pose = {"p": goal[1].tolist(), "q": goal[0].tolist()}
    markers: list[dict[str, Any]] = []
    for axis, colour in enumerate(AXIS_COLOURS):
        stick = rod(axis, 0.016 * radius, AXIS_LENGTH * radius)
        tip = _knob(axis, 0.035 * radius, AXIS_LENGTH * radius)
        markers.append({"body": body, "color": [*colour, 1.0], "shapes": [stick, tip]})
    for axis, colour in enumerate(AXIS_COLOURS):
        knob = _knob(axis, 0.085 * radius, AXIS_LENGTH * radius)
        markers.append({"body": None, **pose, "color": [*colour, GOAL_ALPHA], "shapes": [knob]})
    return markers


def rod(axis: int, radius: float, length: float) -> dict[str, Any]:
    """Return a thin cylinder from the origin along an axis, as the page draws it."""
    half = 2.0**-0.5
    turned = ([half, 0.0, half, 0.0], [half, -half, 0.0, 0.0], IDENTITY)[axis]
    return {"kind": "cylinder", "size": [radius, length], "p": (0.5 * length * np.eye(3)[axis]).tolist(), "q": turned}


def _knob(axis: int, radius: float, distance: float) -> dict[str, Any]:
    return {"kind": "sphere", "size": [radius], "p": (distance * np.eye(3)[axis]).tolist(), "q": IDENTITY}


def _robot_points(system: System, drawn: list[Drawn], R: FloatArray, p: FloatArray) -> FloatArray:
    """Return the centre of every shape that is no object's in every frame, (n, n_g, 3), m."""
    columns = [
        R[:, item.body] @ item.X_BG.p + p[:, item.body] if item.body >= 0 else np.tile(item.X_BG.p, (len(R), 1))
        for item in drawn
        if item.owner not in system.object_names and item.kind != "half_space"
    ]
    return np.stack(columns, axis=1)


def _camera(points: FloatArray, places: FloatArray, radius: float) -> dict[str, Any]:
    """Return a view that hides as little of the object as possible.

    It contains the robots in all frames and the object at its start and goal; an object that is lost may leave it. A
    flat scene (the planar hand) is seen against its plane; otherwise, of 24 directions around the vertical, the one
    with the fewest geometry centres between eye and object.
    """
    cloud = np.vstack([points.reshape(-1, 3), places])
    extent = cloud.max(axis=0) - cloud.min(axis=0)
    low = np.minimum(cloud.min(axis=0), places.min(axis=0) - radius)
    high = np.maximum(cloud.max(axis=0), places.max(axis=0) + radius)
    thin = int(np.argmin(extent))
    if thin < 2 and extent[thin] < 0.02 * extent.max():
        azimuth, elevation = (0.25, np.pi / 2 - 0.25)[thin], 0.2
    else:
        azimuth, elevation = _clearest_azimuth(points[len(points) // 2], places[0], radius), 0.5
    return {
        "target": (0.5 * (low + high)).tolist(),
        "distance": 1.5 * float(np.linalg.norm(high - low)),
        "azimuth": float(azimuth),
        "elevation": elevation,
    }


def _clearest_azimuth(centres: FloatArray, object_m: FloatArray, radius: float) -> float:
    def hidden(azimuth: float) -> float:
        towards_eye = np.array([0.87 * np.cos(azimuth), 0.87 * np.sin(azimuth), 0.5])
        offset = centres - object_m
        depth = offset @ towards_eye
        aside = np.linalg.norm(offset - depth[:, None] * towards_eye, axis=1)
        return float(np.sum(np.exp(-((aside / radius) ** 2)) * (depth > 0.3 * radius)))

    azimuths = np.linspace(-np.pi, np.pi, 24, endpoint=False)
    return float(min(azimuths, key=hidden))


def _round_length(radius: float) -> float:
    """Return 1, 2 or 5 times a power of ten near half the radius, m."""
    power = 10.0 ** np.floor(np.log10(0.6 * radius))
    return float(max(step * power for step in (1.0, 2.0, 5.0) if step * power <= 0.6 * radius))
