"""Workspaces of compiled code as named tuples of arrays, each described once: name, shape, dtype, what it begins with.

A field is `Annotated[FloatArray, Shape("n_c", 3)]`; sizes are numbers, names, or names and a number ("T + 1"). What is
no array of its own (another workspace, say) has no Shape and is given.
"""

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")
Size = int | str


@dataclass(frozen=True, init=False)
class Shape:
    """Shape of an array by the names of its sizes, its type, and the value that it begins with."""

    sizes: tuple[Size, ...]
    dtype: type
    fill: float

    def __init__(self, *sizes: Size, dtype: type = np.float64, fill: float = 0) -> None:
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "fill", fill)

    def allocate(self, sizes: dict[str, int]) -> Any:
        """Return a new array."""
        return np.full(tuple(_measure(size, sizes) for size in self.sizes), self.fill, dtype=self.dtype)


def shapes_of(kind: type) -> dict[str, Shape]:
    """Return the described fields of a named tuple, in their order."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        described = [item for item in get_args(hint) if isinstance(item, Shape)]
        if get_origin(hint) is Annotated and described:
            found[name] = described[0]
    return found


def allocate(kind: type[T], sizes: dict[str, int], **given: Any) -> T:
    """Return a named tuple of new arrays of these sizes; `given` are the fields that are not described, or not new."""
    arrays = {name: shape.allocate(sizes) for name, shape in shapes_of(kind).items() if name not in given}
    return kind(**arrays, **given)


def copy_rows(value: T, first: int, end: int, along: str) -> T:
    """Return the named tuple with copies of rows first to end of every array whose first size is `along`.

    Named tuples in it are cut as well; what has another first size is kept, not copied.
    """
    cut: dict[str, Any] = {}
    shapes = shapes_of(type(value))
    for name in value._fields:  # type: ignore[attr-defined]
        field = getattr(value, name)
        if name in shapes:
            is_cut = shapes[name].sizes[:1] == (along,)
            cut[name] = field[first:end].copy() if is_cut else field
        else:
            cut[name] = copy_rows(field, first, end, along) if hasattr(field, "_fields") else field
    return type(value)(**cut)


def check_shapes(value: Any, sizes: dict[str, int]) -> None:
    """Raise ValueError where an array of a named tuple has another shape or dtype than is described."""
    for name, shape in shapes_of(type(value)).items():
        array, wanted = getattr(value, name), tuple(_measure(size, sizes) for size in shape.sizes)
        if array.shape != wanted or array.dtype != shape.dtype:
            raise ValueError(
                f"{type(value).__name__}.{name}: {array.dtype} {array.shape}, expected {np.dtype(shape.dtype)} {wanted}"
            )


def _measure(size: Size, sizes: dict[str, int]) -> int:
    """Return a size: a number, a name, or a sum or product of these: "T + 1", "T * n_a"."""
    if isinstance(size, int):
        return size
    total = 0
    for term in size.split("+"):
        product = 1
        for factor in term.split("*"):
            word = factor.strip()
            product *= int(word) if word.isdigit() else sizes[word]
        total += product
    return total
