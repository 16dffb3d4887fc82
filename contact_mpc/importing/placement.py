"""Where an object lies among the fingertips: the place that most postures of every fingertip can touch.

Of random joint postures the fingertips' positions are taken; of random places near them the one counts whose surface
is near many of them for every finger, on different sides, with the finger's links outside of it, and which the links
that do not move leave free.
"""

import numpy as np

from contact_mpc.errors import ConfigError
from contact_mpc.geometry.extent import to_all_sides
from contact_mpc.geometry.fingers import first_body
from contact_mpc.importing.primitives import signed_distance
from contact_mpc.importing.proposals import tip_points
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

POSTURES, PLACES = 1500, 600
NEAR_M = 0.006  # of the surface, beside a fingertip's own size
LEAST_SHARE = 2e-3  # of the postures that a finger must reach the object with
CLEARANCE_M = 0.003
NOWHERE = np.zeros(3)
STEPS, LYING_M = 60, 1e-4  # down to what it lies on, and how near to that it then is


def place_object(
    system: System,
    robot: str,
    tips: tuple[str, ...],
    half_extent_m: FloatArray,
    seed: int | tuple[int, ...],
    up: FloatArray = NOWHERE,
    margin_m: float = 0.0,
) -> FloatArray:
    """Return the position (3,), m, of an object of these half extents (3,) among the fingertips of a robot.

    With `up` (3,), in W, that is not 0 it is one where the object lies on links that do not move, level for `margin_m`
    to all sides.

    Raises
    ------
    ConfigError
        The robot has no fingertip, or no place exists that two of them reach: the object is too large or too far.
    """
    if not tips:
        raise ConfigError(f"{system.path}: robot '{robot}' has no link with a shape to hold an object with")
    rng = np.random.default_rng(seed)
    clouds, links = _draw_postures(system, robot, tips, rng)
    radius = float(np.mean(half_extent_m))
    reach = radius + _tip_sizes(system, robot, tips)
    size = 2.0 * float(np.min(half_extent_m))
    span = float(np.max(np.linalg.norm(clouds - clouds.mean(axis=1, keepdims=True), axis=2))) * 2.0
    if len(tips) > 1 and size > span:
        raise ConfigError(
            f"the object is {1e3 * size:.0f} mm across, the open hand {1e3 * span:.0f} mm; take a smaller one"
        )
    centre, spread = clouds.mean(axis=(0, 1)), clouds.std(axis=(0, 1))
    places = centre + rng.uniform(-1.5, 1.5, (PLACES, 3)) * spread
    least = float(np.min(half_extent_m)) + CLEARANCE_M
    places = _lower(system, places, up, least, margin_m) if np.any(up) else places[_room(system, places) > least]
    scores = np.array([_score(clouds, links, place, reach, radius) for place in places])
    if not len(places) or not np.any(np.isfinite(scores)):
        raise ConfigError(
            f"found no place where fingertips of '{robot}' reach an object of {1e3 * size:.0f} mm ({len(tips)} tips, "
            f"{POSTURES} postures); take another size, or place it by position_m in the system file"
        )
    return np.round(places[int(np.argmax(scores))], 4)


def _draw_postures(
    system: System, robot: str, tips: tuple[str, ...], rng: np.random.Generator
) -> tuple[FloatArray, list[FloatArray]]:
    """Return where the tips are in random postures (n, tips, 3), and the middles of each finger's shapes (n, k, 3)."""
    fingers = [first_body(system, system.links[robot, tip][0]) for tip in tips]
    shapes = [[g for g in system.geometries if g.body >= 0 and first_body(system, g.body) == f] for f in fingers]
    clouds = np.empty((POSTURES, len(tips), 3))
    links = [np.empty((POSTURES, len(items), 3)) for items in shapes]
    q = system.q_default.copy()
    for k in range(POSTURES):
        q[system.n_q_u :] = rng.uniform(system.q_min, system.q_max)
        clouds[k] = tip_points(system, robot, tips, q)
        R, p = forward_kinematics(system.tree, q)
        for rows, items in zip(links, shapes, strict=True):
            rows[k] = [R[g.body] @ g.X_BG.p + p[g.body] for g in items]
    return clouds, links


def _tip_sizes(system: System, robot: str, tips: tuple[str, ...]) -> FloatArray:
    found = []
    for tip in tips:
        shape = [g for g in system.geometries if (g.owner, g.link) == (robot, tip)][-1].shape
        found.append(min(shape.size) * (0.5 if shape.kind == "box" else 1.0) if shape.size else 0.0)
    return np.array(found)


def _room(system: System, places: FloatArray) -> FloatArray:
    """Return the distance of places (n, 3) from the nearest shape that does not move, m."""
    room = np.full(len(places), np.inf)
    for item in system.geometries:
        if item.body < 0 and item.shape.kind in ("sphere", "capsule", "box"):
            local = (places - item.X_BG.p) @ item.X_BG.R
            room = np.minimum(room, signed_distance(item.shape.kind, np.array(item.shape.size), local))
    return room


def _lower(system: System, places: FloatArray, up: FloatArray, least: float, margin_m: float) -> FloatArray:
    """Return those of places (n, 3) that have a shape that does not move below them, so much (m) over it.

    It is as far away from what is `margin_m` beside each of them: there is no edge. All of them as they are where the
    only such shapes are planes and meshes.
    """
    if not np.any(np.isfinite(_room(system, places))):
        return places
    for _ in range(STEPS):
        places = places - (_room(system, places) - least)[:, None] * up
    lies = [np.abs(_room(system, places + offset) - least) < LYING_M for offset in to_all_sides(up, margin_m)]
    return places[np.all(lies, axis=0)]


def _score(clouds: FloatArray, links: list[FloatArray], place: FloatArray, reach: FloatArray, radius: float) -> float:
    """Return the mean log share of the postures that touch from outside, less how one-sided they do."""
    arms = clouds - place
    distance = np.linalg.norm(arms, axis=2)
    near = np.abs(distance - reach) < NEAR_M
    for i, points in enumerate(links):
        touching = np.flatnonzero(near[:, i])
        near[touching, i] = np.linalg.norm(points[touching] - place, axis=2).min(axis=1) > radius
    shares = near.mean(axis=0)
    useful = shares > LEAST_SHARE
    if np.count_nonzero(useful) < min(2, len(reach)):
        return -np.inf
    directions = [(arms[near[:, i], i] / distance[near[:, i], i, None]).mean(axis=0) for i in np.flatnonzero(useful)]
    balance = float(np.linalg.norm(np.mean(directions, axis=0)[:2]))  # across the vertical: the weight presses down
    return float(np.mean(np.log(shares + 1e-4)) - 3.0 * balance)
