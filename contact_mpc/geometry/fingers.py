"""Which contact pairs belong to which finger: a branch of a robot's tree, from its last fork (or the base) on.

A robot without forks is an arm, not a finger: it may hold with several of its links, so each of them counts by itself.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from contact_mpc.geometry.contacts import Contacts, Pairs
from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]


def first_body(system: System, body: int) -> int:
    """Return the first moving body of the branch that `body` belongs to; -1 for the world.

    Upwards from the body that is the last one whose parent is the world or carries several bodies: a hand whose palm
    moves still has its fingers.
    """
    parents = system.tree.parent
    while body >= 0 and parents[body] >= 0 and np.count_nonzero(parents == parents[body]) == 1:
        body = int(parents[body])
    return body


def touching_shapes(system: System) -> list[Geometry]:
    """Return, per contact (n_c,), the shape that touches an object: of a robot, or fixed."""
    return [system.geometries[system.pairs[item.pair].geometry_b] for item in system.contacts]


def finger_of_pairs(system: System) -> IntArray:
    """Return, per contact (n_c,), the first body of its finger, the body itself of an arm; -1 for fixed geometry."""
    others, arms = touching_shapes(system), _arms(system)
    return np.array([item.body if item.owner in arms else first_body(system, item.body) for item in others])


def finger_rows(system: System) -> IntArray:
    """Return, per contact (n_c,), the number of its finger, 0 .. count - 1; -1 for fixed geometry."""
    fingers = finger_of_pairs(system)
    return np.where(fingers < 0, -1, np.searchsorted(np.unique(fingers[fingers >= 0]), fingers))


def _arms(system: System) -> set[str]:
    """Return the robots whose moving bodies form one chain."""
    arms = set()
    for robot in system.config.robots:
        bodies = {body for (owner, _), (body, _) in system.links.items() if owner == robot.name and body >= 0}
        if len({first_body(system, body) for body in bodies}) == 1:
            arms.add(robot.name)
    return arms


def closest_pair_per_finger(fingers: IntArray, gaps: FloatArray, reach_m: float) -> IntArray:
    """Return the pair with the smallest gap of each finger (and of fixed geometry), where it is below reach_m.

    fingers is (n_c,) of `finger_of_pairs`, gaps is (n_c,).
    """
    best: dict[int, int] = {}
    for c, finger in enumerate(fingers):
        if gaps[c] < reach_m and (finger not in best or gaps[c] < gaps[best[finger]]):
            best[int(finger)] = c
    return np.array(sorted(best.values()), dtype=np.int64)


def link_rows(system: System) -> IntArray:
    """Return, per contact (n_c,), the number of the two links that it is between, 0 .. count - 1."""
    shapes = [
        tuple(system.geometries[g] for g in (system.pairs[item.pair].geometry_a, system.pairs[item.pair].geometry_b))
        for item in system.contacts
    ]
    names = [tuple((shape.owner, shape.link) for shape in pair) for pair in shapes]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def touching_rows(links: IntArray, gaps: FloatArray, rows: IntArray) -> IntArray:
    """Return, for each of rows (n,), the closest contact of the same two links; itself where none is closer.

    Two links have as many contacts as they may have points. Which of them are used, the others having an infinite gap,
    and which is closest changes as they roll on each other. links is (n_c,) of `link_rows`, gaps is (n_c,).
    """
    found = rows.copy()
    for i, c in enumerate(rows):
        same = np.flatnonzero(links == links[c])
        closest = same[np.argmin(gaps[same])]
        found[i] = closest if gaps[closest] < gaps[c] else c
    return found


def contact_jacobian(pairs: Pairs, contacts: Contacts, c: int, n_v: int) -> FloatArray:
    """Return J_c (3, n_v): displacement of the sphere of pair c relative to the other geometry, world frame."""
    J = np.zeros((3, n_v))
    count = pairs.dof_count[c]
    np.add.at(J.T, pairs.dofs[c, :count], contacts.J[c, :count])
    return J


def stacked_jacobian(pairs: Pairs, contacts: Contacts, rows: Iterable[int], n_v: int) -> FloatArray:
    """Return J_c of contacts one below another, (3 n, n_v); see `contact_jacobian`."""
    return np.array([contact_jacobian(pairs, contacts, c, n_v) for c in rows]).reshape(-1, n_v)


def normal_jacobian(pairs: Pairs, contacts: Contacts, rows: Iterable[int], n_v: int) -> FloatArray:
    """Return J_n (n, n_v) of contacts: n_c' J_c, how fast their gaps change."""
    rows = list(rows)
    J = stacked_jacobian(pairs, contacts, rows, n_v).reshape(len(rows), 3, n_v)
    return np.asarray(np.einsum("ci,cij->cj", contacts.n[rows], J))
