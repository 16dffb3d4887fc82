"""Functions in arrays of their own give what casadi gives."""

import casadi as ca
import numpy as np

from contact_mpc.planning.push.buffered import Buffered


def test_results_are_casadis_dense_and_kept_apart_from_the_next_ones() -> None:
    x, s = ca.SX.sym("x", 3), ca.SX.sym("s")
    outputs = [s * ca.sin(x), ca.jacobian(ca.vertcat(x[0] * x[1], x[2]), x), ca.SX(0, 1)]  # a sparse one, an empty one
    function, buffered = ca.Function("plain", [x, s], outputs), Buffered("buffered", [x, s], outputs)
    at = np.array([0.3, -1.2, 2.0])
    first = buffered(at, 2.0)
    buffered(-at, 5.0)
    expected = [np.array(item.full()) for item in function(at, 2.0)]
    assert np.array_equal(first[0], expected[0][:, 0])
    assert np.array_equal(first[1], expected[1])
    assert first[2].shape == (0,)
