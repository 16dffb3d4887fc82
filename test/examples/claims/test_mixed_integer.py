"""The global push: optimal, the model's own, and never beaten by a local one."""

import numpy as np
import pytest

from contact_mpc.examples.claims.mixed_integer import WANTED_M, greedy_cost, push


def test_no_local_push_beats_the_global_one() -> None:
    plan = push(3)
    assert plan.is_optimal and not plan.is_cut
    assert plan.x[-1, 0] == pytest.approx(WANTED_M, abs=1e-6)
    assert greedy_cost(3) >= plan.cost - 1e-6
    assert np.all(np.diff(plan.x[:, 0]) > -1e-9)
