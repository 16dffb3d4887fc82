"""How the core is compiled: cached on disk, by the rules of IEEE 754 alone.

Without reassociation and contraction a function gives the same bits wherever it is inlined, so a process that compiles
and one that loads from the cache grow the same tree from a seed. With them, for 2 to 4 % less time, they did not.

What takes a workspace of a hundred arrays from Python is itself long code: it is left out where Python never calls, and
so is the entry for C, which nobody calls. Together they were a third of the time to compile.

Every cached function takes its flags from here: numba decides how a function keeps its code when it is decorated, and
one that is decorated before the checked cache is installed writes another stamp than the same function in a process
that imports modules in another order. Each of two such processes compiles again what the other has compiled.
"""

from typing import Any

from contact_mpc.settings.code import compile_cache

compile_cache.install()
COMPILED: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
RAISING: dict[str, Any] = {"cache": True}  # a division by zero is an error, as in Python
INNER: dict[str, Any] = {**COMPILED, "no_cpython_wrapper": True}  # what compiled code alone calls, never Python
