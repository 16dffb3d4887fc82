"""Times of a plan's steps: no limit is passed, one of them is met, and who lets go or grips takes its time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.tree.timing import TimingConfig, step_times

SYSTEM = load_system("planar_hand_ball")
TURNS = SYSTEM.tree.dof_kind[: SYSTEM.n_v_u] == REVOLUTE


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 20))
def test_steps_keep_all_limits_and_are_no_longer_than_one_asks(seed: int, count: int) -> None:
    rng, config = np.random.default_rng(seed), TimingConfig()
    q = rng.normal(scale=10.0 ** rng.uniform(-3, -1), size=(count + 1, SYSTEM.n_q))
    u = rng.normal(scale=10.0 ** rng.uniform(-3, 0), size=(count + 1, SYSTEM.n_a))
    is_free = rng.random(count) < 0.5
    dt = step_times(SYSTEM, q, u, is_free, config)
    slowest = np.where(is_free, config.free_step_s, config.held_step_s)
    changes = np.flatnonzero(is_free[1:] != is_free[:-1]) + 1
    command = np.abs(np.diff(u, axis=0)).max(axis=1) / config.command_rad_per_s
    limits = np.where(TURNS, config.object_rad_per_s, config.object_m_per_s)
    moved = np.abs(np.diff(q[:, : SYSTEM.n_v_u], axis=0) / limits).max(axis=1) * ~is_free  # joints: differences of q
    slowest[changes] = np.maximum(slowest[changes], config.change_s)
    assert np.allclose(dt, np.maximum.reduce([slowest, command, moved]), rtol=1e-12)


def test_rows_of_free_fingers_that_creep_take_no_longer_than_their_way() -> None:
    u = np.linspace(0.0, 0.1, 11)[:, None] * np.ones(SYSTEM.n_a)
    q = np.tile(SYSTEM.q_default, (11, 1))
    dt = step_times(SYSTEM, q, u, np.ones(10, dtype=np.bool_), TimingConfig(free_step_s=1e-3))
    assert np.allclose(dt.sum(), 0.1)


def test_a_plan_of_one_row_has_no_steps() -> None:
    none = step_times(SYSTEM, np.zeros((1, SYSTEM.n_q)), np.zeros((1, SYSTEM.n_a)), np.zeros(0, bool), TimingConfig())
    assert none.shape == (0,)
