"""What compiled code depends on: its own source, and the sources of what it calls in other modules.

numba compares the file that a function stands in with the one that it was compiled from. What a function calls is
compiled into it, though, and so are the constants of other modules, and a file that has not changed would go on with
the old ones after an upgrade. The stamp is therefore a digest of the file, of the compiled modules that it imports,
and so on, and of what these import directly. A folder that was moved, or unpacked at another time, has the same one.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[3]  # the folder that contact_mpc stands in
IMPORT = re.compile(rb"^(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([\w.]+))", re.MULTILINE)
NAME = re.compile(rb"\w+")


@cache
def source_stamp(py_file: str) -> str:
    """Return the digest of a file of Python and of the sources that its compiled code depends on."""
    first = Path(py_file).resolve()
    own = _package_parent(first)
    seen, waiting = {first}, [first]
    while waiting:
        path = waiting.pop()
        if path != first and b"njit" not in _content(path):
            continue
        found = _imported(path, own) - seen
        seen |= found
        waiting.extend(found)
    whole = hashlib.sha256()
    for path in sorted(seen):
        root = own if path.is_relative_to(own) else PACKAGES
        whole.update(str(path.relative_to(root)).encode() + hashlib.sha256(_content(path)).digest())
    return whole.hexdigest()


def _package_parent(path: Path) -> Path:
    """Return the folder that the outermost package of a file stands in."""
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imported(path: Path, own: Path) -> set[Path]:
    """Return the files that a file imports from this package or from its own."""
    found = set()
    for package, names, module in IMPORT.findall(_content(path)):
        base = (package or module).decode()
        for name in (base, *(f"{base}.{item.decode()}" for item in NAME.findall(names))):
            for root in {own, PACKAGES}:
                file = root.joinpath(*name.split(".")).with_suffix(".py")
                if file.is_file():
                    found.add(file)
    return found
