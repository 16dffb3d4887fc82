"""Workspaces are allocated, cut and checked by their one description."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.named_arrays import Shape, allocate, check_shapes, copy_rows, shapes_of

SIZES = {"N": 4, "n": 3}


class Inner(NamedTuple):
    x: Annotated[FloatArray, Shape("N", "n + 1")]


class Outer(NamedTuple):
    y: Annotated[FloatArray, Shape("N", 2, "2 * n")]
    parent: Annotated[FloatArray, Shape("N", dtype=np.int64, fill=-1)]
    inner: Inner
    counts: Annotated[FloatArray, Shape(2, dtype=np.int64)]


def make() -> Outer:
    return allocate(Outer, SIZES, inner=allocate(Inner, SIZES))


def test_arrays_have_the_shape_type_and_value_that_is_described() -> None:
    outer = make()
    assert outer.y.shape == (4, 2, 6) and outer.y.dtype == np.float64 and not outer.y.any()
    assert outer.parent.tolist() == [-1] * 4 and outer.parent.dtype == np.int64
    assert outer.inner.x.shape == (4, 4) and list(shapes_of(Outer)) == ["y", "parent", "counts"]
    check_shapes(outer, SIZES)


def test_rows_are_cut_and_copied_wherever_they_lie_along_the_axis() -> None:
    outer = make()
    outer.inner.x[:] = np.arange(4.0)[:, None]
    part = copy_rows(outer, 1, 3, "N")
    outer.inner.x[:] = 0.0
    assert part.y.shape == (2, 2, 6) and part.parent.shape == (2,) and part.counts is outer.counts
    assert part.inner.x[:, 0].tolist() == [1.0, 2.0]


def test_what_does_not_fit_its_description_is_named() -> None:
    with pytest.raises(ValueError, match=r"Outer.parent: float64 \(4,\), expected int64 \(4,\)"):
        check_shapes(make()._replace(parent=np.zeros(4)), SIZES)
    with pytest.raises(KeyError):
        allocate(Inner, {"N": 4})
