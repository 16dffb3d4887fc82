"""The program's functions as machine code, compiled once per model and kept in the user's cache directory.

The library's name is a hash over the generated C code, so a change of the model, of a setting that enters the
expressions, or of casadi gives another one. Without a compiler the same functions run in casadi's interpreter.
"""

import hashlib
import logging
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import casadi as ca

from contact_mpc.planning.push.program.compiler import find_compiler
from contact_mpc.planning.push.program.program import Interface, Program
from contact_mpc.settings.file_access import write_text

FLAGS = ("-O1", "-shared", "-fPIC")
NO_COMPILER = "no C compiler (cc, gcc or clang): contact-implicit planning runs interpreted, about twenty times slower"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Library:
    """What solvers take as problem: a path of a library, or functions; is_compiled says which."""

    problem: str | ca.Function
    is_compiled: bool


def cache_directory() -> Path:
    """Return where libraries are kept: contact_mpc below $XDG_CACHE_HOME or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "contact_mpc"


def load_library(program: Program, interface: Interface = "fatrop") -> Library:
    """Return the program compiled, from the cache if it is there; interpreted (and slow) where there is no compiler."""
    functions = program.functions(interface)
    compiler = find_compiler()
    if compiler is None:
        logger.warning(NO_COMPILER)
        return Library(functions["nlp"], is_compiled=False)
    generator = ca.CodeGenerator("nlp.c")
    for function in functions.values():
        generator.add(function)
    code = generator.dump()
    digest = hashlib.sha256("\n".join([code, compiler, *FLAGS]).encode()).hexdigest()[:16]
    path = cache_directory() / f"contact_implicit_{digest}.so"
    if not _is_whole(path):
        logger.warning("compiling the program (once per model, about 15 s): %s", path)
        try:
            _compile(compiler, code, path)
        except (OSError, subprocess.CalledProcessError) as error:
            logger.warning("%s could not compile (%s): running interpreted, about twenty times slower", compiler, error)
            return Library(functions["nlp"], is_compiled=False)
    return Library(str(path), is_compiled=True)


def _is_whole(path: Path) -> bool:
    """Whether a library is there as it was compiled; loading one that was cut ends the process with SIGBUS."""
    digest = _digest_file(path)
    try:
        if digest.read_text() == hashlib.sha256(path.read_bytes()).hexdigest():
            return True
    except (OSError, ValueError):
        pass
    if path.exists():
        logger.warning("%s does not fit its checksum %s", path, digest.name)
    return False


def _digest_file(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _compile(compiler: str, code: str, path: Path) -> None:
    """Write beside the target and move it there, so that a process never loads half a library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        target = Path(folder) / "nlp.so"
        _compile_source(compiler, code, target)
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        target.replace(path)
    write_text(_digest_file(path), digest)


def _compile_source(compiler: str, code: str, target: Path) -> None:
    source = target.with_suffix(".c")
    source.write_text(code)
    subprocess.run([compiler, *FLAGS, "-o", str(target), str(source), "-lm"], check=True, capture_output=True)
