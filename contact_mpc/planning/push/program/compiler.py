"""The system's C compiler, which contact-implicit planning compiles its program with."""

import os
import shutil

COMPILERS = ("cc", "gcc", "clang")


def find_compiler() -> str | None:
    """Return the path of the C compiler: $CC, or the first of `COMPILERS` that is there; None without one."""
    names = (os.environ.get("CC", ""), *COMPILERS)
    return next((path for name in names if name and (path := shutil.which(name))), None)
