"""Contact sampling: postures in which fingers, drawn open at random, have closed until they touch; compiled.

The robot's configuration is reset to one with a good metric, which is typically a grasp (seeds/003, "RRT through
contact"). A sample is a closing motion q_a(s) = base + s rate of each finger, s in [0, 1], stopped at the first gap
below `TOUCH_GAP_M`; or a pusher's straight approach from a circle about the object. Only gaps between robots and
objects are looked at: links of robots among themselves have no contact pairs in a system.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.newton import Newton, measure_gaps
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.errors import ConfigError
from contact_mpc.geometry.contacts import update_kinematics
from contact_mpc.model.system import System
from contact_mpc.planning.tree.problem_config import CloseConfig, ContactConfig
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import INNER

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
WHOLE, STILL = -1, -2  # joints that close no finger: moved when all fingers are, or never
TOUCH_GAP_M = 3e-4
CLOSING_STEPS = 40
BISECTIONS = 10


class Sampler(NamedTuple):
    """Contact sampling as flat arrays over postures p, joints a, fingers f and contacts c.

    open_low, open_high, close_low, close_high : (n_p, n_a);  follow : (n_p, n_a, 3);  chance : (n_p,) cumulative
    finger : (n_p, n_a) finger that the joint closes, WHOLE if it moves with all of them only, else STILL
    fingers : (n_p,) their number
    touches : (n_p, n_f, n_c) whether joints of f move the contact;  moved_by : (n_a, n_c)
    point : geometry of the object whose centre postures follow
    approach : (4,) first and second joint, their world axes; first joint -1 where fingers close
    radius, spread : m, of the approach
    preload, clearance, all_fingers, least_touching, hold : as in `ContactConfig`
    """

    open_low: FloatArray
    open_high: FloatArray
    close_low: FloatArray
    close_high: FloatArray
    follow: FloatArray
    chance: FloatArray
    finger: IntArray
    fingers: IntArray
    touches: BoolArray
    moved_by: BoolArray
    point: int
    approach: IntArray
    radius: float
    spread: float
    preload: float
    clearance: float
    all_fingers: float
    least_touching: int
    hold: float


def build_sampler(system: System, model: Model, config: ContactConfig, source: str) -> Sampler:
    """Lay out contact sampling for a system.

    Raises
    ------
    ConfigError
        A joint that the system does not have, or a finger whose joints move no contact.
    """
    n_a, n_c = system.n_a, len(model.mu)
    moved_by = np.zeros((n_a, n_c), dtype=bool)
    for c in range(n_c):
        dofs = model.pairs.dofs[c, : model.pairs.dof_count[c]] - system.n_v_u
        moved_by[dofs[dofs >= 0], c] = True
    postures = config.close or (_approach_posture(system, config, source),)
    n_p, n_f = len(postures), max(len(item.fingers) for item in postures)
    finger, touches = np.full((n_p, n_a), STILL), np.zeros((n_p, n_f, n_c), dtype=bool)
    ranges, follow = np.zeros((4, n_p, n_a)), np.zeros((n_p, n_a, 3))
    for p, item in enumerate(postures):
        where = f"{source}: contacts.close.{p}"
        for k, values in enumerate((item.open_rad, item.close_rad)):
            for name, bounds in values.items():
                ranges[2 * k : 2 * k + 2, p, _joint(system, name, where)] = bounds
        for name, factors in item.follow_m.items():
            follow[p, _joint(system, name, where)] = factors
        finger[p, [_joint(system, name, where) for name in item.open_rad]] = WHOLE
        for f, (name, joints) in enumerate(item.fingers.items()):
            closing = [_joint(system, joint, where) for joint in joints]
            finger[p, closing] = f
            touches[p, f] = moved_by[closing].any(axis=0)
            if not touches[p, f].any():
                raise ConfigError(f"{where}.fingers.{name}: no contact pair moves with the joints {', '.join(joints)}")
    weights = np.array([item.weight for item in postures])
    approach = config.approach
    pushing = [_joint(system, name, source) for name in approach.joints] if approach else [-1, -1]
    objects = [item.name for item in system.config.objects]
    point = max(g for g, shape in enumerate(system.geometries) if shape.owner in objects)
    return Sampler(
        ranges[0],
        ranges[1],
        ranges[2],
        ranges[3],
        follow,
        np.cumsum(weights) / weights.sum(),
        finger,
        np.array([len(item.fingers) for item in postures]),
        touches,
        moved_by,
        point,
        np.array([*pushing, *(approach.axes if approach else (0, 0))]),
        approach.radius_m if approach else 0.0,
        approach.spread_m if approach else 0.0,
        config.preload_rad,
        config.clearance_m,
        config.all_fingers_probability,
        config.least_touching,
        config.hold_m,
    )


def _joint(system: System, name: str, where: str) -> int:
    if name not in system.joint_names:
        raise ConfigError(f"{where}: no joint '{name}' in system '{system.name}': {', '.join(system.joint_names)}")
    return system.joint_names.index(name)


def _approach_posture(system: System, config: ContactConfig, source: str) -> CloseConfig:
    """Return a posture with the approaching joints as its only finger; base and rate are drawn separately."""
    assert config.approach is not None
    return CloseConfig(open_rad={}, close_rad={}, fingers={"pusher": config.approach.joints})


@njit(**INNER)
def least_gap(model: Model, ws: Newton, q: FloatArray, counted: BoolArray) -> float:
    """Return the least gap at q (n_q,) of the contacts that count (n_c,), m."""
    gaps, least = measure_gaps(model, ws, q), np.inf
    for c in range(counted.shape[0]):
        if counted[c]:
            least = min(least, gaps[c])
    return least


@njit(**INNER)
def draw_posture(
    model: Model,
    ws: Newton,
    sampler: Sampler,
    rng: np.random.Generator,
    q: FloatArray,
    base: FloatArray,
    rate: FloatArray,
) -> int:
    """Draw an open posture base (n_a,) and its closing motion rate (n_a,) for the object in q; return its index."""
    tree = model.tree
    update_kinematics(tree, q, ws.kin)
    body, centre = tree.geom_body[sampler.point], tree.p_BG[sampler.point].copy()
    if body >= 0:
        for i in range(3):
            value = ws.kin.p[body, i]
            for k in range(3):
                value += ws.kin.R[body, i, k] * tree.p_BG[sampler.point, k]
            centre[i] = value
    if sampler.approach[0] >= 0:
        angle = 2.0 * np.pi * rng.random()
        base[:] = q[q.shape[0] - base.shape[0] :]
        rate[:] = 0.0
        for k in range(2):
            joint, middle = sampler.approach[k], centre[sampler.approach[2 + k]]
            base[joint] = middle + sampler.radius * (np.cos(angle) if k == 0 else np.sin(angle))
            rate[joint] = middle + sampler.spread * (2.0 * rng.random() - 1.0) - base[joint]
        return 0
    draw, p = rng.random(), 0
    while p < sampler.chance.shape[0] - 1 and draw > sampler.chance[p]:
        p += 1
    for a in range(base.shape[0]):
        low, high = sampler.open_low[p, a], sampler.open_high[p, a]
        base[a] = low + rng.random() * (high - low)
        for i in range(3):
            base[a] += sampler.follow[p, a, i] * centre[i]
        low, high = sampler.close_low[p, a], sampler.close_high[p, a]
        rate[a] = low + rng.random() * (high - low)
    return p


@njit(**INNER)
def choose_fingers(sampler: Sampler, rng: np.random.Generator, p: int, chosen: BoolArray) -> None:
    """Mark the fingers (n_f,) of posture p that move: all, or a random part of them that is not empty."""
    count = sampler.fingers[p]
    chosen[:] = False
    chosen[:count] = True
    if count > 1 and rng.random() >= sampler.all_fingers:
        for f in range(count):
            chosen[f] = rng.random() < 0.5
        chosen[min(int(rng.random() * count), count - 1)] = True


@njit(**INNER)
def close_finger(
    model: Model,
    ws: Newton,
    sampler: Sampler,
    p: int,
    f: int,
    base: FloatArray,
    rate: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    q: FloatArray,
) -> bool:
    """Close finger f of posture p in q until it touches, within the limits (n_a,); False where it stays open."""
    first, touches = q.shape[0] - base.shape[0], sampler.touches[p, f]
    open_s, closed_s = 0.0, -1.0
    for step in range(1, CLOSING_STEPS + 1):
        s = step / CLOSING_STEPS
        _pose_finger(sampler, p, f, base, rate, lower, upper, s, first, q)
        if least_gap(model, ws, q, touches) < TOUCH_GAP_M:
            closed_s = s
            break
        open_s = s
    if closed_s < 0.0:
        _pose_finger(sampler, p, f, base, rate, lower, upper, 0.0, first, q)
        return False
    for _ in range(BISECTIONS):
        s = 0.5 * (open_s + closed_s)
        _pose_finger(sampler, p, f, base, rate, lower, upper, s, first, q)
        if least_gap(model, ws, q, touches) < TOUCH_GAP_M:
            closed_s = s
        else:
            open_s = s
    _pose_finger(sampler, p, f, base, rate, lower, upper, open_s, first, q)
    return True


@njit(**INNER)
def _pose_finger(
    sampler: Sampler,
    p: int,
    f: int,
    base: FloatArray,
    rate: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    s: float,
    first: int,
    q: FloatArray,
) -> None:
    for a in range(base.shape[0]):
        if sampler.finger[p, a] == f:
            q[first + a] = min(max(base[a] + s * rate[a], lower[a]), upper[a])


@njit(**INNER)
def preload(
    sampler: Sampler, p: int, path: FloatArray, moving: BoolArray, lower: FloatArray, upper: FloatArray, u: FloatArray
) -> None:
    """Write the commands (n_a,) of moving joints: where they touch, moved on along the closing motion by the preload.

    The preload is the Euclidean norm per finger; a finger that stayed open has none.
    """
    ready, touch = path[path.shape[0] - 2], path[path.shape[0] - 1]
    for f in range(sampler.fingers[p]):
        norm = 0.0
        for a in range(u.shape[0]):
            if sampler.finger[p, a] == f:
                norm += (touch[a] - ready[a]) ** 2
        scale = sampler.preload / np.sqrt(norm) if norm > 1e-12 else 0.0
        for a in range(u.shape[0]):
            if moving[a] and sampler.finger[p, a] == f:
                u[a] = min(max(touch[a] + scale * (touch[a] - ready[a]), lower[a]), upper[a])
    for a in range(u.shape[0]):
        if moving[a] and sampler.finger[p, a] < 0:
            u[a] = touch[a]
