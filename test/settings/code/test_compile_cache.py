"""Compiled code on disk: what is damaged is compiled again, in place of a traceback or an abort."""

import os
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from numba.core import bytecode
from patience import HANG_S

from contact_mpc.settings.code.compile_cache import MARK, CheckedCacheFile

PROGRAM = """
from numba import njit
from contact_mpc.settings.code.compile_flags import COMPILED

@njit(**COMPILED)
def half(x):
    return 0.5 * x

print(half(3.0), half.stats.cache_hits.get(half.signatures[0], 0))
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(folder / "program.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, env=environment, check=False)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "program.py").write_text(PROGRAM)
    assert run(folder).stdout == "1.5 0\n"
    return folder


def test_whole_files_are_loaded(compiled: Path) -> None:
    done = run(compiled)
    assert (done.stdout, done.stderr) == ("1.5 1\n", "")


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "cut", "altered"])
def test_damaged_files_are_compiled_again_and_said_so(compiled: Path, suffix: str, damage: str) -> None:
    (file,) = (compiled / "cache").rglob(f"*.{suffix}")
    content = file.read_bytes()
    assert MARK in content[-100:]
    middle = len(content) // 2
    altered = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    file.write_bytes({"empty": b"", "cut": content[:middle], "altered": altered}[damage])
    done = run(compiled)
    assert done.stdout == "1.5 0\n" and done.returncode == 0
    assert f"{file}: damaged compiled code" in done.stderr and "Traceback" not in done.stderr
    again = run(compiled)
    assert (again.stdout, again.stderr) == ("1.5 1\n", "")


def test_writers_at_the_same_time_lose_nothing_and_take_nothing_from_each_other(tmp_path: Path) -> None:
    writers, keys_each = 4, 15

    def write(writer: int) -> None:
        file = CheckedCacheFile(str(tmp_path), "function", "stamp")  # as of a process of its own
        for k in range(keys_each):
            file.save((writer, k), f"code {writer} {k}")

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    reader = CheckedCacheFile(str(tmp_path), "function", "stamp")
    for writer in range(writers):
        assert [reader.load((writer, k)) for k in range(keys_each)] == [f"code {writer} {k}" for k in range(keys_each)]


class Renamed:
    """What another version had."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Renamed)

    def __hash__(self) -> int:
        return 1


def test_code_of_a_version_whose_types_are_gone_is_not_there_and_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = types.ModuleType("contact_mpc_of_another_version")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(Renamed, "__module__", module.__name__)
    monkeypatch.setattr(module, "Renamed", Renamed, raising=False)
    CheckedCacheFile(str(tmp_path), "function", "stamp").save(Renamed(), "code")
    assert CheckedCacheFile(str(tmp_path), "function", "stamp").load(Renamed()) == "code"
    monkeypatch.delattr(module, "Renamed")
    assert CheckedCacheFile(str(tmp_path), "function", "stamp").load(Renamed()) is None
    assert caplog.records == []


CALLED = """
import numpy as np
from numba import njit
from contact_mpc.settings.code.compile_flags import COMPILED

@njit(**COMPILED)
def other(x):
    return x

@njit(**COMPILED)
def four(x):
    return np.full(4, x)
"""
CALLING = """
import sys
from numba import njit
from called import four, other
from contact_mpc.settings.code.compile_flags import COMPILED

@njit(**COMPILED)
def total(x):
    return four(x).sum()

for name in sys.argv[1:]:
    print(globals()[name](1.0), end=";")
"""


def test_a_function_that_two_processes_compiled_returns_in_a_third(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(CALLED)
    (tmp_path / "program.py").write_text(CALLING)
    assert run(tmp_path, "total").stdout == "4.0;"
    for file in (tmp_path / "cache").rglob("called.four*"):
        file.unlink()  # the second process compiles it, after it has loaded the first one's in total
    assert run(tmp_path, "total", "other", "four").stdout == "4.0;1.0;[1. 1. 1. 1.];"
    third = run(tmp_path, "total", "four")
    assert (third.stdout, third.stderr) == ("4.0;[1. 1. 1. 1.];", "")


def test_a_forked_process_names_functions_from_elsewhere() -> None:
    """Two processes with one count gave two functions one name, see `compile_cache`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(next(bytecode.FunctionIdentity._unique_ids)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert abs(int(os.read(reader, 64)) - next(bytecode.FunctionIdentity._unique_ids)) > 1000
