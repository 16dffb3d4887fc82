"""URDF files as plain records: links with inertia and primitive collision shapes, joints with limits.

Only what contact dynamics needs is read. Drake's ``<drake:capsule>`` is understood; a mesh is its convex hull.
"""

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from contact_mpc.errors import ModelError
from contact_mpc.model.meshes import load_hull
from contact_mpc.model.rotations import rotation_from_rpy, unit_vector
from contact_mpc.model.urdf_xml import parse_robot
from contact_mpc.settings.arrays import FloatArray

DRAKE = "{http://drake.mit.edu}"
SHAPES = {"sphere": ("radius",), "box": ("size",), "capsule": ("radius", "length"), "cylinder": ("radius", "length")}
NEGATIVE_INERTIA = 1e-6  # of the largest moment: rounding of a file's six numbers
UNBALANCED_INERTIA = 1e-5  # by which two moments may be less than the third, of that: rounding again
MOVING_JOINTS = ("revolute", "prismatic", "continuous")
MOST_COLLISIONS = 2000  # of all links of one file
WORLD = "world"  # engines have a world of their own: a link of that name is no link to them


@dataclass(frozen=True)
class Pose:
    """Pose of a frame B in a frame A: p_A = R p_B + p."""

    R: FloatArray
    p: FloatArray

    def __matmul__(self, other: "Pose") -> "Pose":
        return Pose(self.R @ other.R, self.R @ other.p + self.p)


@dataclass(frozen=True)
class Shape:
    """A collision shape. size: sphere (r,), box (full x, y, z), capsule and cylinder (r, length along z), m.

    A half_space has no size; a hull (the convex hull of a mesh) has vertices (n, 3), m, in its own frame, and says in
    `note` by how much it is not the mesh.
    """

    kind: str
    size: tuple[float, ...]
    X_LG: Pose
    vertices: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    note: str = ""


@dataclass(frozen=True)
class Link:
    """A link L: mass (kg), centre of mass p_LC (m), rotational inertia about it in the axes of L (kg m^2)."""

    name: str
    mass: float
    p_LC: FloatArray
    inertia: FloatArray
    collisions: tuple[Shape, ...]


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: position = multiplier * that of `joint` + offset, rad (m)."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """A joint: its frame in the parent link, its axis in its own frame, its limits (rad or m, per s, N m or N).

    damping is viscous, N m s/rad (N s/m): the <dynamics> tag, which physics engines read too.
    """

    name: str
    kind: str
    parent: str
    child: str
    X_PJ: Pose
    axis: FloatArray
    lower: float
    upper: float
    velocity: float
    effort: float
    damping: float = 0.0
    mimic: Mimic | None = None


@dataclass(frozen=True)
class Urdf:
    """One parsed URDF file; joints in the order of the file. text is what was parsed, edited if the caller asked so."""

    path: Path
    name: str
    links: dict[str, Link]
    joints: tuple[Joint, ...]
    root: str
    text: str

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """Joints with a position of their own, in the order of the file: neither fixed nor mimic joints (<mimic>)."""
        return tuple(joint for joint in self.joints if joint.kind != "fixed" and joint.mimic is None)

    @property
    def mimics(self) -> dict[str, tuple[Joint, Mimic]]:
        """Joints that follow others, with what they follow, by name, in the order of the file."""
        return {
            joint.name: (joint, joint.mimic)
            for joint in self.joints
            if joint.kind != "fixed" and joint.mimic is not None
        }


def read_urdf(path: Path, edit: Callable[[ET.Element], None] | None = None) -> Urdf:
    """Parse a URDF file, after `edit` has changed its <robot> element where given.

    Raises
    ------
    ModelError
        The file is missing, not XML, not a tree, has an unknown shape, too many shapes, or a joint without limits.
    """
    robot = parse_robot(path)
    if edit is not None:
        edit(robot)
    for tag in ("link", "joint"):
        _check_names([element.get("name", "") for element in robot.findall(tag)], tag, path)
    collisions = len(robot.findall("link/collision"))
    if collisions > MOST_COLLISIONS:
        raise ModelError(f"{path}: {collisions} collision elements; at most {MOST_COLLISIONS} are allowed")
    links = {element.get("name", ""): _read_link(element, path) for element in robot.findall("link")}
    joints = tuple(_read_joint(element, path) for element in robot.findall("joint"))
    _check_mimics(joints, path)
    joints = tuple(_within_mimics(joint, joints, path) for joint in joints)
    root, text = _find_root(links, joints, path), ET.tostring(robot, encoding="unicode")
    return Urdf(path, robot.get("name", path.stem), links, joints, root, text)


def _check_names(names: list[str], tag: str, path: Path) -> None:
    bad = sorted({name for name in names if not name or names.count(name) > 1})
    if bad:
        raise ModelError(f"{path}: every {tag} needs a name of its own; found {bad[0]!r} {names.count(bad[0])} time(s)")


def _check_mimics(joints: tuple[Joint, ...], path: Path) -> None:
    known = {joint.name: joint for joint in joints}
    for joint in (joint for joint in joints if joint.mimic is not None):
        assert joint.mimic is not None
        leader = known.get(joint.mimic.joint)
        if leader is None or leader.kind == "fixed" or leader.mimic is not None:
            raise ModelError(
                f"{path}: joint '{joint.name}' mimics '{joint.mimic.joint}', which is no moving joint of its own right"
            )


def _within_mimics(joint: Joint, joints: tuple[Joint, ...], path: Path) -> Joint:
    """Return a joint with the range and speed that its mimic joints leave it: lower <= ratio q + offset <= upper."""
    mimics = [(other, other.mimic) for other in joints if other.mimic is not None and other.mimic.joint == joint.name]
    lower, upper, velocity = joint.lower, joint.upper, joint.velocity
    for other, mimic in mimics:
        ends = [(end - mimic.offset) / mimic.multiplier for end in (other.lower, other.upper)]
        if mimic.multiplier < 0.0:
            ends.reverse()
        lower, upper = float(np.fmax(lower, ends[0])), float(np.fmin(upper, ends[1]))  # NaN: no limit given
        velocity = float(np.fmin(velocity, other.velocity / abs(mimic.multiplier)))
    if mimics and lower > upper:
        raise ModelError(f"{path}: joint '{joint.name}' cannot move: the limits of what follows it leave no range")
    return replace(joint, lower=lower, upper=upper, velocity=velocity)


def _find_root(links: dict[str, Link], joints: tuple[Joint, ...], path: Path) -> str:
    children = {joint.child for joint in joints}
    unknown = (children | {joint.parent for joint in joints}) - set(links)
    if unknown:
        raise ModelError(f"{path}: a joint names link '{sorted(unknown)[0]}', which the file does not define")
    roots = [name for name in links if name not in children]
    parents = {joint.child: joint.parent for joint in joints}
    ancestors = set(links)  # n steps up from anywhere end at the root, unless there is a loop
    for _ in links:
        ancestors = {parents.get(name, name) for name in ancestors}
    if len(roots) != 1 or len(children) != len(joints) or ancestors != set(roots):
        raise ModelError(f"{path}: links must form one tree; links without a parent: {roots}")
    return roots[0]


def read_vector(element: ET.Element | None, key: str, default: str, path: Path, count: int = 3) -> FloatArray:
    """Return `count` numbers of an attribute, `default` where it is not given; raises ModelError for anything else."""
    text = default if element is None else element.get(key, default)
    try:
        value = np.array([float(item) for item in text.split()])
    except ValueError as error:
        raise ModelError(f"{path}: attribute {key}='{text}' is not a list of numbers") from error
    if value.shape != (count,) or not np.all(np.isfinite(value)):
        raise ModelError(f"{path}: attribute {key}='{text}' must be {count} finite number(s)")
    return value


def _number(element: ET.Element | None, key: str, default: str, path: Path) -> float:
    return float(read_vector(element, key, default, path, count=1)[0])


def _limit(element: ET.Element | None, key: str, default: float, path: Path) -> float:
    """A limit may be left out: of a passive joint, and checked later where it is needed."""
    return default if element is None or key not in element.attrib else _number(element, key, "", path)


def read_pose(element: ET.Element | None, path: Path) -> Pose:
    """Return the pose that an <origin> gives, that of no element being none; raises ModelError."""
    rpy, xyz = (read_vector(element, key, "0 0 0", path) for key in ("rpy", "xyz"))
    return Pose(rotation_from_rpy(rpy), xyz)


def _read_link(element: ET.Element, path: Path) -> Link:
    name = element.get("name", "")
    collisions = tuple(read_shape(item, name, path) for item in element.findall("collision"))
    inertial = element.find("inertial")
    if inertial is None:
        return Link(name, 0.0, np.zeros(3), np.zeros((3, 3)), collisions)
    X_LC = read_pose(inertial.find("origin"), path)
    tensor = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (_number(tensor, key, "0", path) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    I_C = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    mass = _number(inertial.find("mass"), "value", "0", path)
    if mass < 0.0:
        raise ModelError(f"{path}: link '{name}' has mass {mass} kg; expected 0 or more")
    moments = np.linalg.eigvalsh(I_C)
    if moments[0] < -NEGATIVE_INERTIA * max(moments[-1], 0.0):
        raise ModelError(f"{path}: link '{name}' has principal moments of inertia {moments} kg m^2; expected 0 or more")
    if moments[0] + moments[1] < (1.0 - UNBALANCED_INERTIA) * moments[2]:
        raise ModelError(
            f"{path}: link '{name}' has principal moments of inertia {moments} kg m^2: in no body two are less than "
            "the third; mend the file, or bring it in by `contact-mpc import`, which does"
        )
    return Link(name, mass, X_LC.p, X_LC.R @ I_C @ X_LC.R.T, collisions)


def read_shape(element: ET.Element, link: str, path: Path) -> Shape:
    """Return the shape of a <collision> or <visual>, a mesh as its convex hull; raises ModelError."""
    geometry = element.find("geometry")
    mesh = None if geometry is None else geometry.find("mesh")
    if mesh is not None:
        scale = read_vector(mesh, "scale", "1 1 1", path)
        try:
            hull = load_hull(mesh_path(mesh.get("filename", ""), path), scale)
        except ModelError as error:
            raise ModelError(f"{path}: link '{link}': {error}") from error
        return Shape("hull", (), read_pose(element.find("origin"), path), hull.vertices, hull.describe())
    found = [] if geometry is None else [child for child in geometry if child.tag.replace(DRAKE, "") in SHAPES]
    if len(found) != 1:
        tags = [] if geometry is None else [child.tag for child in geometry]
        raise ModelError(f"{path}: link '{link}': collision shape {tags}; allowed: {', '.join(SHAPES)}, mesh")
    kind = found[0].tag.replace(DRAKE, "")
    counts = {"size": 3}
    size = [
        float(value) for key in SHAPES[kind] for value in read_vector(found[0], key, "nan", path, counts.get(key, 1))
    ]
    if min(size) <= 0.0:
        raise ModelError(f"{path}: link '{link}': {kind} has size {size}, expected positive lengths in m")
    return Shape(kind, tuple(size), read_pose(element.find("origin"), path))


def mesh_path(filename: str, urdf: Path) -> Path:
    """Resolve the file name of a mesh: beside the URDF, or package://PACKAGE/x in the folders that may hold PACKAGE.

    These are the folders above the URDF and those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH (below share); package
    contact_mpc is the folder above urdf/.

    Raises
    ------
    ModelError
        A package:// path is in none of them; lists where it was looked for.
    """
    if not filename.startswith("package://"):
        return urdf.parent / filename.removeprefix("file://")
    inner = filename.removeprefix("package://")
    roots = [*urdf.parents]
    for variable, below in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        roots += [Path(item) / below for item in os.environ.get(variable, "").split(os.pathsep) if item]
    candidates = [root / inner for root in roots] + [urdf.parent.parent / inner.partition("/")[2]]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise ModelError(
        f"{filename} is in no folder above the URDF, nor in those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH; set "
        f"ROS_PACKAGE_PATH to the folder that holds '{inner.partition('/')[0]}'"
    )


def _read_joint(element: ET.Element, path: Path) -> Joint:
    name, kind = element.get("name", ""), element.get("type", "")
    if kind not in (*MOVING_JOINTS, "fixed"):
        raise ModelError(f"{path}: joint '{name}' has type '{kind}'; allowed: fixed, {', '.join(MOVING_JOINTS)}")
    parent, child = element.find("parent"), element.find("child")
    if parent is None or child is None:
        raise ModelError(f"{path}: joint '{name}' needs a parent and a child link")
    axis = read_vector(element.find("axis"), "xyz", "1 0 0", path)
    direction = unit_vector(axis)
    if direction is None:
        raise ModelError(f"{path}: joint '{name}' has a zero axis")
    limit = element.find("limit")
    lower, upper = (_limit(limit, key, np.nan, path) for key in ("lower", "upper"))
    if kind in ("continuous", "fixed"):  # have no range, whatever the attributes say
        lower, upper = -np.inf, np.inf
    velocity, effort = (_limit(limit, key, np.nan, path) for key in ("velocity", "effort"))
    return Joint(
        name,
        kind,
        parent.get("link", ""),
        child.get("link", ""),
        read_pose(element.find("origin"), path),
        direction,
        lower,
        upper,
        velocity,
        effort,
        _number(element.find("dynamics"), "damping", "0", path),
        _read_mimic(element.find("mimic"), name, path),
    )


def _read_mimic(element: ET.Element | None, joint: str, path: Path) -> Mimic | None:
    if element is None:
        return None
    multiplier, offset = (
        _number(element, key, default, path) for key, default in (("multiplier", "1"), ("offset", "0"))
    )
    if multiplier == 0.0:
        raise ModelError(f"{path}: joint '{joint}' mimics with multiplier 0; make it fixed instead")
    return Mimic(element.get("joint", ""), multiplier, offset)
