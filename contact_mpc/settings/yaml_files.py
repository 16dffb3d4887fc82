"""Reading a YAML file and validating it against a frozen record: errors name the file, the key and what is allowed."""

import difflib
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from contact_mpc.errors import ConfigError
from contact_mpc.settings.file_access import read_bounded
from contact_mpc.settings.strict_yaml import MOST_BYTES, parse_yaml

TYPE_MISMATCHES = ("tuple_type", "float_type")


T = TypeVar("T", bound=BaseModel)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML mapping; raises ConfigError naming the file and the line of a syntax error or a key given twice."""
    content = read_bounded(path, MOST_BYTES, ConfigError)
    try:
        data = parse_yaml(content.decode(), path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is no UTF-8; save the file as UTF-8") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected a mapping of keys to values, found {type(data).__name__}")
    return data


def validate(model: type[T], data: dict[str, Any], source: Path | str) -> T:
    """Validate data against a pydantic model; raises ConfigError naming source, key, value and what is allowed."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_explain(model, error)}") from error


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    lines = []
    found = [(tuple(part for part in item["loc"] if not _is_alternative(part)), item) for item in error.errors()]
    for loc, item in found:
        if any(_tells_more(loc, item["type"], *other) for other in ((at, more["type"]) for at, more in found)):
            continue
        key = ".".join(str(part) for part in loc) or "(top level)"
        if item["type"] == "extra_forbidden":
            lines.append(f"unknown key '{key}'{_suggest(model, loc)}")
        elif item["type"] == "missing":
            lines.append(f"key '{key}' is missing")
        else:
            lines.append(f"key '{key}' = {item['input']!r:.200}: {item['msg']}")
    return "; ".join(lines)


def _is_alternative(part: int | str) -> bool:
    """Whether a part of a location is pydantic's name for one of several types that a key may have."""
    return isinstance(part, str) and ("[" in part or part.startswith("constrained-"))


def _tells_more(loc: tuple[int | str, ...], kind: str, other: tuple[int | str, ...], other_kind: str) -> bool:
    """Whether the other error says more: it lies deeper, or is no mismatch of types with another alternative."""
    if other[: len(loc)] != loc:
        return False
    return len(other) > len(loc) or (kind in TYPE_MISMATCHES and other_kind not in TYPE_MISMATCHES)


def _suggest(model: type[BaseModel], loc: tuple[int | str, ...]) -> str:
    owner = model
    for part in loc[:-1]:
        if isinstance(part, str) and part in owner.model_fields:  # else an index, or the key of a mapping
            owner = _nested(owner.model_fields[part].annotation) or owner
    names = list(owner.model_fields)
    close = difflib.get_close_matches(str(loc[-1]), names, n=1)
    return f" (did you mean '{close[0]}'?)" if close else f" (allowed: {', '.join(sorted(names))})"


def _nested(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a field holds, by itself, in a tuple or in a mapping; None where it holds none."""
    candidates = (annotation, *get_args(annotation))
    return next((item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel)), None)
