"""How the core is compiled: cached on disk, with the floating-point freedom that keeps NaN and infinity meaningful."""

from typing import Any

COMPILED: dict[str, Any] = {"cache": True, "fastmath": {"reassoc", "contract", "arcp", "nsz"}, "error_model": "numpy"}
