"""Code called by its address: what it returns, and what happens without an address or with other arguments."""

import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import TypingError

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.settings.code.separate_code import NO_CODE, SeparateCode


class Sizes(NamedTuple):
    values: np.ndarray
    scale: float


@njit
def largest(sizes: Sizes, shift: float) -> tuple[int, float]:
    best = 0
    for i in range(sizes.values.shape[0]):
        if sizes.values[i] > sizes.values[best]:
            best = i
    return best, sizes.scale * sizes.values[best] + shift


LARGEST = SeparateCode(largest, types.Tuple((types.int64, types.float64)))
take_largest = LARGEST.call


@njit
def twice(address: int, sizes: Sizes) -> tuple[int, float]:
    index, value = take_largest(address, (sizes, 1.0))
    return index, 2.0 * value


@pytest.fixture
def sizes() -> Sizes:
    return Sizes(np.array([1.0, 7.0, 3.0]), 0.5)


def test_it_returns_what_a_call_returns(sizes: Sizes) -> None:
    assert twice(LARGEST.address(sizes, 1.0), sizes) == (1, 9.0)


def test_no_address_is_an_error_of_python(sizes: Sizes) -> None:
    LARGEST.address(sizes, 1.0)
    with pytest.raises(RuntimeError, match="largest: no code at this address"):
        twice(NO_CODE, sizes)


def test_other_arguments_are_refused_when_the_caller_is_compiled(sizes: Sizes) -> None:
    @njit
    def wrong(address: int, sizes: Sizes) -> int:
        index, _ = take_largest(address, (sizes, sizes))
        return index

    address = LARGEST.address(sizes, 1.0)
    with pytest.raises(TypingError, match="largest was not compiled for"):
        wrong(address, sizes)


def test_another_type_of_what_is_returned_is_refused(sizes: Sizes) -> None:
    with pytest.raises(TypeError, match="largest returns"):
        SeparateCode(largest, types.float64).address(sizes, 1.0)


def test_addresses_stay_behind_when_a_model_goes_to_another_process(named_system: Callable) -> None:
    system = named_system("planar_hand_ball")
    model = build_model(system)
    assert min(model.codes) > NO_CODE
    sent = pickle.loads(pickle.dumps(model))
    assert set(sent.codes) == {NO_CODE} and sent.pairs.convex_code == NO_CODE
    with pytest.raises(RuntimeError, match="no code at this address"):
        measure_gaps(sent, make_newton(sent), system.q_default)
