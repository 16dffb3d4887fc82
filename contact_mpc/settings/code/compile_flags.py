"""How the core is compiled: cached on disk, by the rules of IEEE 754 alone.

Without reassociation and contraction a function gives the same bits wherever it is inlined, so a process that compiles
and one that loads from the cache grow the same tree from a seed. With them, for 2 to 4 % less time, they did not.

What takes a workspace of a hundred arrays from Python is itself long code: it is left out where Python never calls, and
so is the entry for C, which nobody calls. Together they were a third of the time to compile.

A function counts a reference to each of the hundred arrays of a workspace that it is handed, atomically, on its way in
and out: a fifth of a step. Where nothing is allocated or returned that counts for nothing, and numba leaves it out
without its runtime (`_nrt`, which others must then ask for: what is not said is taken from the caller). An array that
such a function got from another would never be freed; `test_steps_free_what_they_allocate` counts.

Every cached function takes its flags from here: numba decides how a function keeps its code when it is decorated, and
one that is decorated before the checked cache is installed writes another stamp than the same function in a process
that imports modules in another order. Each of two such processes compiles again what the other has compiled.
"""

from typing import Any

from contact_mpc.settings.code import compile_cache

compile_cache.install()
COMPILED: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": True}
RAISING: dict[str, Any] = {"cache": True, "_nrt": True}  # a division by zero is an error, as in Python
INNER: dict[str, Any] = {**COMPILED, "no_cpython_wrapper": True}  # what compiled code alone calls, never Python
UNCOUNTED: dict[str, Any] = {**COMPILED, "_nrt": False}  # makes no array and calls nothing that returns one
UNCOUNTED_INNER: dict[str, Any] = {**INNER, "_nrt": False}
