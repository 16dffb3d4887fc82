"""An arm presses with wrist and hand: both touch at the gap that was asked for, and two arms hold a box."""

import numpy as np
import pytest

from contact_mpc.planning.grasp.pressing import ACCURACY_M, press_with_all
from contact_mpc.planning.grasp.search import GraspSearch
from contact_mpc.planning.grasp.touch import Finger
from contact_mpc.planning.start_posture import make_search
from contact_mpc.task.task import TaskConfig, load_task

MOST_DRAWS = 2000  # one in a hundred holds the box


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task("iiwa_bimanual_box")


@pytest.fixture(scope="module")
def search(task: TaskConfig) -> GraspSearch:
    return make_search(task, 0)


def pressed(search: GraspSearch, q: np.ndarray, arm: Finger, gap_m: float | np.ndarray) -> bool:
    return press_with_all(search.system, arm.scene, q, arm.joints, arm.pressing, gap_m)


def test_each_arm_presses_with_the_two_links_that_its_file_names(search: GraspSearch) -> None:
    assert len(search.fingers) == 2
    for arm in search.fingers:
        links = [{search._shapes[c].link for c in arm.pairs[rows]} for rows in arm.pressing]
        assert links == [{"link_6"}, {"link_7"}]


@pytest.mark.parametrize("gap_m", [(3e-4, 3e-4), (5e-3, 1e-3)])
def test_each_link_is_at_its_gap(task: TaskConfig, search: GraspSearch, gap_m: tuple[float, float]) -> None:
    system, found = task.system, 0
    rng = np.random.default_rng(1)
    for arm in search.fingers:
        for _ in range(10):
            q = task.start_q.copy()
            q[system.n_q_u + arm.joints] += rng.uniform(-0.3, 0.3, len(arm.joints))
            others = np.delete(q, system.n_q_u + arm.joints)
            if pressed(search, q, arm, np.array(gap_m)):
                found += 1
                gaps = arm.scene.gaps(q)
                assert [gaps[rows].min() for rows in arm.pressing] == pytest.approx(gap_m, abs=ACCURACY_M)
            np.testing.assert_array_equal(np.delete(q, system.n_q_u + arm.joints), others)
    assert found > 10


def test_a_box_out_of_reach_is_not_touched(task: TaskConfig, search: GraspSearch) -> None:
    q = task.start_q.copy()
    q[4] += 5.0
    assert not any(pressed(search, q, arm, 3e-4) for arm in search.fingers)


def test_a_search_finds_postures_of_two_arms_that_balance_the_box(search: GraspSearch) -> None:
    found = next(candidate for _ in range(MOST_DRAWS) if (candidate := search.sample()) is not None)
    assert found.grasp.is_balanced and len(found.grasp.pairs) >= 4
    assert found.grasp.normal_forces.min() >= 30.0 - 1e-6
    varied = [candidate for _ in range(40) if (candidate := search.vary(found)) is not None]
    assert all(len(candidate.grasp.pairs) >= 2 for candidate in varied)
