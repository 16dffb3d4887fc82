"""All compiled functions keep their code in the same checked files, whichever module is imported first."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import contact_mpc

PACKAGE = Path(contact_mpc.__file__).parent
COMPILED = [path for path in sorted(PACKAGE.rglob("*.py")) if re.search(r"^@njit", path.read_text(), re.MULTILINE)]
PROGRAM = "from contact_mpc.model import rotations; print(type(rotations.rotation_exp._cache._cache_file).__name__)"


def test_what_is_imported_before_all_else_is_cached_by_its_sources() -> None:
    """Rotations are: processes that began with other modules threw away what this one had compiled, and it theirs."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["CheckedCacheFile"]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_flags_of_the_compiler_stand_in_one_place(path: Path) -> None:
    decorators = re.findall(r"^@njit.*$", path.read_text(), re.MULTILINE)
    assert [line for line in decorators if "cache=" in line] == []
