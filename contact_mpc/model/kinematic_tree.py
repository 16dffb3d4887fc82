"""Kinematic trees as flat arrays, so that one compiled call walks all robots and objects.

A body is what moves with one joint (links on fixed joints are merged into it). A degree of freedom d of a revolute
joint, of a prismatic joint, or one of the six of a free joint (three rotations, then three translations, along the
world axes) contributes one column to every Jacobian.

The position of a mimic joint (<mimic>) is ratio q_d + offset, with d the degree of freedom of the joint that leads it.
It has an axis of its own, but no place in q and v. Axes come scaled by their ratio, so that what one contributes
to a Jacobian is already per unit of d, and sums over axes are sums over degrees of freedom.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.polytopes import Polytopes, build_polytopes
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.urdf import Joint, Link, Mimic, Pose, Shape, Urdf
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int8]
SHIFTS, TURNS = 1, 2
FREE, REVOLUTE, PRISMATIC = 0, 1, 2
SPHERE, BOX, CAPSULE, CYLINDER, HALF_SPACE, RIM, HULL = 0, 1, 2, 3, 4, 5, 6
SHAPE_CODES = {
    "sphere": SPHERE,
    "box": BOX,
    "capsule": CAPSULE,
    "cylinder": CYLINDER,
    "half_space": HALF_SPACE,
    "rim": RIM,
    "hull": HULL,
}
WORLD = -1


class Tree(NamedTuple):
    """Flat arrays over bodies b, degrees of freedom d, axes a and geometries g; indices in the order of q and v.

    parent : (n_b,) body index or -1 for the world
    joint : (n_b,) FREE, REVOLUTE or PRISMATIC
    i_q, i_v : (n_b,) first index in q and in v, a mimic joint's that of its leader
    ratio : (n_b,) 1 but for mimic joints, whose offset is in their joint frame
    R_PJ, p_PJ, axis_J : joint frame in the parent body, axis in the joint frame
    mass, p_BC, inertia_BC : kg, m, kg m^2 about the centre of mass in the axes of B
    dof_body : (n_v,) body that d moves by itself
    axis_dof, axis_kind : (n_axes,) degree of freedom of each axis, REVOLUTE or PRISMATIC; axis a < n_v is that of
        d = a, those of mimic joints come after
    chain : (n_b, n_chain) axes that move b, from the root on, its own last, padded with -1;  chain_count : (n_b,)
    carries : (n_axes, n_axes) [k, a] what motion along k does to the column of a: TURNS its axis (k is revolute and of
        an earlier joint), SHIFTS it (k is prismatic, a revolute), or 0, nothing
    geom_body, geom_shape, geom_size (n_g, 3), R_BG, p_BG : size is (r, 0, 0), half extents, or (r, half length, 0);
        a half-space is solid below z = 0 of its frame, a rim is the circle (0, r, 0) about z
    polytopes : cores of the geometries for pairs without closed form
    """

    parent: IntArray
    joint: IntArray
    i_q: IntArray
    i_v: IntArray
    ratio: FloatArray
    R_PJ: FloatArray
    p_PJ: FloatArray
    axis_J: FloatArray
    mass: FloatArray
    p_BC: FloatArray
    inertia_BC: FloatArray
    dof_body: IntArray
    axis_dof: IntArray
    axis_kind: IntArray
    chain: IntArray
    chain_count: IntArray
    carries: CodeArray
    geom_body: IntArray
    geom_shape: IntArray
    geom_size: FloatArray
    R_BG: FloatArray
    p_BG: FloatArray
    polytopes: Polytopes

    @property
    def dof_kind(self) -> IntArray:
        """REVOLUTE or PRISMATIC, (n_v,)."""
        return self.axis_kind[: len(self.dof_body)]


def moving_dofs(tree: Tree, body: int) -> IntArray:
    """Return the degrees of freedom that move a body, ascending; none move the world (-1)."""
    if body < 0:
        return np.zeros(0, dtype=np.int64)
    return np.unique(tree.axis_dof[tree.chain[body, : tree.chain_count[body]]])


@dataclass
class _Body:
    parent: int
    kind: int
    X_PJ: Pose
    axis: FloatArray
    joint: Joint | None
    owner: str
    masses: list[tuple[float, FloatArray, FloatArray]] = field(default_factory=list)


@dataclass(frozen=True)
class Geometry:
    """One collision primitive: owner ("ball", "allegro"), link, shape and its pose in body `body` (-1: world)."""

    owner: str
    link: str
    shape: Shape
    body: int
    X_BG: Pose


class TreeBuilder:
    """Collects URDFs one after the other and lays them out flat."""

    def __init__(self) -> None:
        self.bodies: list[_Body] = []
        self.geometries: list[Geometry] = []
        self.joints: list[Joint] = []
        self.links: dict[tuple[str, str], tuple[int, Pose]] = {}

    def add(self, urdf: Urdf, owner: str, X_WR: Pose, free: bool) -> None:
        """Add one URDF with its root link at X_WR: welded to the world, or as a free body.

        Joints come depth first, those of one link in the order of the file: that is their order in q.
        """
        body, X_BL = WORLD, X_WR
        if free:
            self.bodies.append(_Body(WORLD, FREE, Pose(np.eye(3), np.zeros(3)), np.zeros(3), None, owner))
            body, X_BL = len(self.bodies) - 1, Pose(np.eye(3), np.zeros(3))
        below: dict[str, list[Joint]] = {name: [] for name in urdf.links}
        for joint in urdf.joints:
            below[joint.parent].append(joint)
        self._add_link(urdf.links[urdf.root], owner, body, X_BL)
        waiting = [(joint, body, X_BL) for joint in reversed(below[urdf.root])]
        while waiting:
            joint, parent, X_PL = waiting.pop()
            body, X_BL = self._add_joint(joint, owner, parent, X_PL)
            self._add_link(urdf.links[joint.child], owner, body, X_BL)
            waiting += [(item, body, X_BL) for item in reversed(below[joint.child])]

    def _add_link(self, link: Link, owner: str, body: int, X_BL: Pose) -> None:
        self.links[owner, link.name] = (body, X_BL)
        self.geometries += [Geometry(owner, link.name, shape, body, X_BL @ shape.X_LG) for shape in link.collisions]
        if body != WORLD and link.mass > 0.0:
            self.bodies[body].masses.append((link.mass, X_BL.R @ link.p_LC + X_BL.p, X_BL.R @ link.inertia @ X_BL.R.T))

    def _add_joint(self, joint: Joint, owner: str, body: int, X_BL: Pose) -> tuple[int, Pose]:
        """Add the body that a joint of a link of `body` moves, if any; return where its child link is."""
        if joint.kind == "fixed":
            return body, X_BL @ joint.X_PJ
        kind = PRISMATIC if joint.kind == "prismatic" else REVOLUTE
        self.bodies.append(_Body(body, kind, X_BL @ joint.X_PJ, joint.axis, joint, owner))
        if joint.mimic is None:
            self.joints.append(joint)
        return len(self.bodies) - 1, Pose(np.eye(3), np.zeros(3))

    def add_fixed(self, name: str, shape: Shape) -> None:
        """Add a shape at rest in the world, at the pose X_LG of the shape."""
        self.geometries.append(Geometry(name, name, shape, WORLD, shape.X_LG))

    def build(self) -> Tree:
        """Return the flat arrays."""
        bodies, leader = self.bodies, self._leaders()
        follows = leader != np.arange(len(bodies))
        widths = np.array([6 if body.kind == FREE else 1 for body in bodies])
        widths_v, widths_q = np.where(follows, 0, widths), np.where(follows, 0, widths + (widths == 6))
        i_v, i_q = (np.concatenate([[0], np.cumsum(w)[:-1]]).astype(np.int64)[leader] for w in (widths_v, widths_q))
        n_v = int(widths_v.sum())
        i_axis = np.where(follows, n_v + np.cumsum(follows) - 1, i_v)
        chains = self._chains(i_axis, widths)
        chain = np.full((len(bodies), max(map(len, chains))), -1, dtype=np.int64)
        for row, dofs in zip(chain, chains, strict=True):
            row[: len(dofs)] = dofs
        mass, p_BC, inertia = _combine_inertias([body.masses for body in bodies])
        order = np.concatenate([np.flatnonzero(~follows), np.flatnonzero(follows)])
        axis_body = np.repeat(order, widths[order])
        axis_kind = np.concatenate([_dof_kinds(bodies[b].kind) for b in order])
        axis_dof = np.concatenate([np.arange(n_v), i_v[follows]])
        mimics = [body.joint.mimic if body.joint is not None else None for body in bodies]
        frames = [
            body.X_PJ if mimic is None else _at_offset(body, mimic) for body, mimic in zip(bodies, mimics, strict=True)
        ]
        return Tree(
            np.array([body.parent for body in bodies]),
            np.array([body.kind for body in bodies]),
            i_q,
            i_v,
            np.array([1.0 if mimic is None else mimic.multiplier for mimic in mimics]),
            np.array([frame.R for frame in frames]),
            np.array([frame.p for frame in frames]),
            np.array([body.axis for body in bodies]),
            mass,
            p_BC,
            inertia,
            axis_body[:n_v],
            axis_dof,
            axis_kind,
            chain,
            np.array([len(dofs) for dofs in chains]),
            _carried(chains, axis_body, axis_kind),
            *self._flatten_geometries(),
            build_polytopes([item.shape for item in self.geometries]),
        )

    def _leaders(self) -> IntArray:
        """Return, per body (n_b,), the body whose joint leads its joint: itself but for mimic joints."""
        named = {(body.owner, body.joint.name): b for b, body in enumerate(self.bodies) if body.joint is not None}
        return np.array(
            [
                b if body.joint is None or body.joint.mimic is None else named[body.owner, body.joint.mimic.joint]
                for b, body in enumerate(self.bodies)
            ]
        )

    def _chains(self, i_axis: IntArray, widths: IntArray) -> list[list[int]]:
        chains: list[list[int]] = []
        for index, body in enumerate(self.bodies):
            own = list(range(i_axis[index], i_axis[index] + widths[index]))
            chains.append((chains[body.parent] if body.parent != WORLD else []) + own)
        return chains

    def _flatten_geometries(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
        items = self.geometries
        return (
            np.array([item.body for item in items]),
            np.array([SHAPE_CODES[item.shape.kind] for item in items]),
            np.array([half_sizes(item.shape) for item in items]),
            np.array([item.X_BG.R for item in items]),
            np.array([item.X_BG.p for item in items]),
        )


def _at_offset(body: _Body, mimic: Mimic) -> Pose:
    """Return the joint frame in the parent body where the leader is at zero."""
    shift = mimic.offset * body.axis
    moved = Pose(np.eye(3), shift) if body.kind == PRISMATIC else Pose(rotation_exp(shift), np.zeros(3))
    return body.X_PJ @ moved


def _dof_kinds(kind: int) -> IntArray:
    return np.array([REVOLUTE] * 3 + [PRISMATIC] * 3) if kind == FREE else np.array([kind])


def _carried(chains: list[list[int]], axis_body: IntArray, axis_kind: IntArray) -> CodeArray:
    """Return `carries`; motion along k carries a where k is in the chain of a's body."""
    moves = np.zeros((len(axis_body), len(chains)), dtype=np.bool_)
    for body, axes in enumerate(chains):
        moves[axes, body] = True
    carries = moves[:, axis_body]
    earlier = axis_body[:, None] < axis_body[None, :]
    turns = carries & earlier & (axis_kind == REVOLUTE)[:, None]
    shifts = carries & (axis_kind != REVOLUTE)[:, None] & (axis_kind == REVOLUTE)[None, :]
    return np.where(turns, TURNS, np.where(shifts, SHIFTS, 0)).astype(np.int8)


def half_sizes(shape: Shape) -> tuple[float, float, float]:
    """Return the size of a shape as `Tree` has it."""
    if shape.kind in ("half_space", "hull"):
        return (0.0, 0.0, 0.0)
    if shape.kind == "rim":
        return (0.0, shape.size[0], 0.0)
    if shape.kind == "sphere":
        return (shape.size[0], 0.0, 0.0)
    if shape.kind == "box":
        return (0.5 * shape.size[0], 0.5 * shape.size[1], 0.5 * shape.size[2])
    return (shape.size[0], 0.5 * shape.size[1], 0.0)


def _combine_inertias(
    bodies: list[list[tuple[float, FloatArray, FloatArray]]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Merge the links of each body: total mass, centre of mass, inertia about it (parallel axes)."""
    mass, p_BC, inertia = np.zeros(len(bodies)), np.zeros((len(bodies), 3)), np.zeros((len(bodies), 3, 3))
    for b, parts in enumerate(bodies):
        mass[b] = sum(m for m, _, _ in parts)
        if mass[b] > 0.0:
            p_BC[b] = sum((m * p for m, p, _ in parts), np.zeros(3)) / mass[b]
        for m, p, I_C in parts:
            r = p - p_BC[b]
            inertia[b] += I_C + m * (float(r @ r) * np.eye(3) - np.outer(r, r))
    return mass, p_BC, inertia
