"""Compiled code on disk is compiled again when what it calls has changed, in whichever file; and only then."""

import os
import subprocess
import sys
from pathlib import Path

from patience import HANG_S

from contact_mpc.settings.code.source_stamp import PACKAGES, source_stamp

CALLED = """
from numba import njit
from contact_mpc.settings.code.compile_flags import COMPILED
from toy.constants import SCALE

@njit(**COMPILED)
def scaled(x):
    return SCALE * x
"""
CALLER = """
from numba import njit
from contact_mpc.settings.code.compile_flags import COMPILED
from toy.called import (
    scaled,
)

@njit(**COMPILED)
def twice(x):
    return 2.0 * scaled(x)
"""
PROGRAM = "from toy.caller import twice; print(twice(1.0), sum(twice.stats.cache_hits.values()))"


def run(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(PACKAGES)])}
    environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_S, env=environment, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_change_of_what_is_called_or_of_its_constants_is_noticed(tmp_path: Path) -> None:
    toy = tmp_path / "toy"
    toy.mkdir()
    for name, text in {"__init__": "", "called": CALLED, "caller": CALLER, "constants": "SCALE = 3.0\n"}.items():
        (toy / f"{name}.py").write_text(text)
    assert run(tmp_path) == "6.0 0"
    assert run(tmp_path) == "6.0 1"
    (toy / "constants.py").write_text("SCALE = 5.0\n")
    assert run(tmp_path) == "10.0 0"
    (toy / "called.py").write_text(CALLED.replace("SCALE * x", "SCALE * x + 1.0"))
    assert run(tmp_path) == "12.0 0"
    (toy / "unrelated.py").write_text("SCALE = 7.0\n")
    assert run(tmp_path) == "12.0 1"


def test_stamp_does_not_depend_on_where_the_package_stands(tmp_path: Path) -> None:
    stamps = []
    for place in ("here", "there"):
        toy = tmp_path / place / "toy"
        toy.mkdir(parents=True)
        for name, text in {"__init__": "", "called": CALLED, "constants": "SCALE = 3.0\n"}.items():
            (toy / f"{name}.py").write_text(text)
        stamps.append(source_stamp(str(toy / "called.py")))
    assert stamps[0] == stamps[1]
