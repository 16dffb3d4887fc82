"""How the core is compiled: cached on disk, by the rules of IEEE 754 alone.

Without reassociation and contraction a function gives the same bits wherever it is inlined, so a process that compiles
and one that loads from the cache grow the same tree from a seed. With them, for 2 to 4 % less time, they did not.
"""

from typing import Any

from contact_mpc.settings import compile_cache

compile_cache.install()
COMPILED: dict[str, Any] = {"cache": True, "error_model": "numpy"}
