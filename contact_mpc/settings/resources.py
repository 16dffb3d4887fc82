"""Where the data files of the package lie: system, task and node YAMLs, URDFs, launch files.

The same code runs from a source checkout (also ``pip install -e``), from ``pip install`` and from a colcon
install space. In the first the data lie beside the package, in the others under ``<prefix>/share/contact_mpc``.
"""

import difflib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from contact_mpc.errors import ConfigError

PACKAGE = "contact_mpc"
KINDS = {
    "systems": (Path("config/systems"), ".yaml"),
    "tasks": (Path("config/tasks"), ".yaml"),
    "nodes": (Path("config/nodes"), ".yaml"),
    "robots": (Path("config/robots"), ".yaml"),
    "planning": (Path("config/planning"), ".yaml"),
    "middleware": (Path("config/middleware"), ".xml"),
    "config": (Path("config"), ".yaml"),
    "urdf": (Path("urdf"), ".urdf"),
    "launch": (Path("launch"), ".launch.py"),
    "gazebo": (Path("gazebo"), ""),
}


def share_directory() -> Path:
    """Return the directory that holds ``config``, ``urdf`` and ``launch`` of this very copy of the package.

    Looked for in this order: the source checkout, ``share/contact_mpc`` under the prefix that the package is
    installed in, under ``sys.prefix``, and under each entry of ``AMENT_PREFIX_PATH``.

    Raises
    ------
    ConfigError
        None of them holds the data, which means that the installation is incomplete.
    """
    looked_in = []
    for candidate in _candidates(Path(__file__).resolve().parents[1]):
        if (candidate / "config" / "systems").is_dir():
            return candidate
        looked_in.append(str(candidate))
    raise ConfigError(
        f"no config/systems of {PACKAGE} in {', '.join(looked_in)}; install it again (`pip install .` in the "
        "checkout, or `colcon build` and source install/setup.bash)"
    )


def resource(kind: str, name: str | os.PathLike[str]) -> Path:
    """Return the data file called `name` of one `kind`, or `name` itself where it is the path of a file.

    Parameters
    ----------
    kind : str
        One of ``systems``, ``tasks``, ``nodes``, ``robots``, ``planning``, ``middleware``, ``config``, ``urdf``,
        ``launch``, ``gazebo``.
    name : str or path
        A name in that kind's directory, with or without its suffix, or the path of any file.

    Raises
    ------
    ConfigError
        There is no such kind or file; the message lists those that exist.
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind of data file {kind!r}; allowed: {', '.join(KINDS)}")
    directory, suffix = KINDS[kind]
    folder = share_directory() / directory
    try:
        given = Path(name).expanduser()
        for candidate in (given, folder / f"{name}{suffix}", folder / given):
            if candidate.is_file() and (candidate != given or _is_path(given, suffix)):
                return candidate.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such home, NUL
        raise ConfigError(f"{str(name)[:100]!r} cannot be the name of a file: {error}") from error
    known = resource_names(kind)
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f"no file {str(name)!r} and no {kind} of that name in {folder}; {hint}known names: "
        f"{', '.join(known) or 'none'}; give one of these or the path of a {suffix} file"
    )


def resource_names(kind: str) -> tuple[str, ...]:
    """Return the sorted names, without suffix, of the data files of one `kind`."""
    directory, suffix = KINDS[kind]
    folder = share_directory() / directory
    return tuple(sorted(path.name.removesuffix(suffix) for path in folder.glob(f"*{suffix}")))


def _candidates(package: Path) -> Iterator[Path]:
    yield package.parent
    yield from (parent / "share" / PACKAGE for parent in package.parents)
    yield Path(sys.prefix) / "share" / PACKAGE
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix) / "share" / PACKAGE


def _is_path(given: Path, suffix: str) -> bool:
    """A bare word that happens to be a file in the working directory is still meant as a name."""
    return given.name.endswith(suffix) or len(given.parts) > 1
