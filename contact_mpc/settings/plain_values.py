"""Values in the types of JSON, for machines and for pages."""

import dataclasses
import math
from pathlib import Path
from typing import Any


def to_plain(value: Any) -> Any:
    """Return `value` in the types of JSON: arrays as lists, paths as text, dataclasses as objects, NaN as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a result holds {value!r} of type {type(value).__name__}, which JSON cannot carry")
