"""Where a robot comes from: a URDF, xacro or MJCF file, or one that an installed package carries.

Whatever it was, the result is the <robot> element of a URDF.
"""

import xml.etree.ElementTree as ET
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.settings.resources import resource, resource_names

SUFFIXES = (".urdf", ".xacro", ".xml")


def find_robot_file(name: str) -> Path:
    """Return the file that `name` stands for: a path, NAME.urdf of this package, or PACKAGE:ROBOT of an installed one.

    Raises
    ------
    ConfigError
        There is no such file, package or robot in it; the message lists what is there.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path.resolve()
    if path.name == name and path.suffix == ".urdf" and path.stem in resource_names("urdf"):
        return resource("urdf", path.stem).resolve()
    package, colon, robot = name.partition(":")
    if not colon or path.suffix in SUFFIXES:
        raise ConfigError(
            f"{name}: no such file; give a URDF, xacro or MJCF file, or PACKAGE:ROBOT, e.g. example-robot-data:panda"
        )
    try:
        files = distribution(package).files or []
    except PackageNotFoundError as error:
        raise ConfigError(
            f"{name}: the package '{package}' is not installed; install it: pip install {package}"
        ) from error
    known = {item.stem: item for item in files if item.suffix in (".urdf", ".xml") and "srdf" not in item.parts}
    near = [stem for stem in known if stem.partition("_")[0] == robot]
    chosen = robot if robot in known else near[0] if len(near) == 1 else None
    if chosen is None:
        listed = ", ".join(sorted(near or known)) or "none"
        raise ConfigError(f"{name}: {package} has no robot '{robot}'; known: {listed}")
    return Path(str(known[chosen].locate())).resolve()


def read_robot(path: Path, meshes: Path) -> ET.Element:
    """Return the <robot> element of a URDF, xacro or MJCF file; meshes inside an MJCF are written to `meshes`.

    Raises
    ------
    ConfigError
        The file is none of these, or what reads it is not installed.
    ModelError
        It cannot be read.
    """
    if path.suffix == ".xacro":
        return _read_xacro(path)
    try:
        root = ET.parse(path).getroot()
    except OSError as error:
        raise ModelError(f"{path}: the robot cannot be read ({error.strerror})") from error
    except (ET.ParseError, UnicodeDecodeError, ValueError, LookupError) as error:
        raise ModelError(f"{path}: not valid XML: {error}") from error
    if root.tag == "robot":
        return root
    if root.tag == "mujoco":
        from contact_mpc.importing.mjcf import read_mjcf

        return read_mjcf(path, meshes)
    raise ConfigError(f"{path}: the file begins with <{root.tag}>; expected <robot> (URDF, xacro) or <mujoco> (MJCF)")


def _read_xacro(path: Path) -> ET.Element:
    try:
        import xacro
    except ImportError as error:
        raise ConfigError(f"{path}: reading xacro needs the package xacro; install it: pip install xacro") from error
    try:
        text = xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro raises what it pleases, up to bare Exception
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{path}: xacro cannot expand it ({reason})") from error
    return ET.fromstring(text)
