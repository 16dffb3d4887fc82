"""A start is held where the object stays and turns, and not where the commands open the hand."""

import numpy as np
import pytest

from contact_mpc.loop.start_holding import StartHolding
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.rolling import roll_along
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.task.task import TaskConfig, load_task

FAR_M = (0.3, 0.0, 0.0)  # beside the hand: it falls
INSTANTS = 6


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    return load_task("allegro_ball").about("+z")


@pytest.fixture(scope="module")
def way(task: TaskConfig) -> tuple[np.ndarray, np.ndarray]:
    path = object_path(task, task.start_q, INSTANTS)[:, : task.system.n_q_u]
    pairs = compute_grasp(task.system, task.start_q, 3.0, 0.4).pairs
    rolled = roll_along(task.system, task.start_q, path, pairs, 3.0, 0.4)
    assert rolled.is_complete
    return rolled.q, rolled.u


def test_the_shipped_start_keeps_the_ball_and_an_open_hand_does_not(task, way) -> None:
    q, u = way
    hold = StartHolding(task.system, [PlantPerturbation(), PlantPerturbation(friction=0.6, size_scale=1.02)])
    assert hold.share([way]) == 1.0
    q_a = q[:, task.system.n_q_u :]
    assert hold.share([(q, q_a - 4.0 * (u - q_a))]) == 0.0


def test_each_plant_has_its_own_start_and_its_own_turn(task, way) -> None:
    hold = StartHolding(task.system, [PlantPerturbation(), PlantPerturbation(object_offset_m=FAR_M)])
    assert hold.share([way]) == 0.5
    both = StartHolding(task.system, [PlantPerturbation(), PlantPerturbation()])
    rest = (way[0][:1].repeat(INSTANTS, axis=0), way[1][:1].repeat(INSTANTS, axis=0))
    turned, still = (task.system.object_pose(q)[0] for q in both.ends([way, rest]))
    angles = [np.rad2deg(np.arccos((np.trace(R) - 1.0) / 2.0)) for R in (turned, still)]
    assert angles[0] > 20.0 and angles[1] < 5.0


def test_threads_change_no_figure(task, way, monkeypatch: pytest.MonkeyPatch) -> None:
    plants = [PlantPerturbation(friction=friction) for friction in (0.5, 0.6, 0.7, 0.8, 0.9)]
    ends = []
    for cores in (1, 3):
        monkeypatch.setattr("os.sched_getaffinity", lambda _pid, cores=cores: set(range(cores)))
        ends.append(StartHolding(task.system, plants).ends([way]))
    np.testing.assert_array_equal(*ends)


def test_a_large_box_of_another_size_is_kept_though_it_ends_further_off_than_a_ball_may() -> None:
    task = load_task("iiwa_bimanual_box")
    path = object_path(task, task.start_q, INSTANTS)[:, : task.system.n_q_u]
    pairs = compute_grasp(task.system, task.start_q, 30.0, 0.4).pairs
    rolled = roll_along(task.system, task.start_q, path, pairs, 30.0, 0.4)
    assert rolled.is_complete
    hold = StartHolding(task.system, [PlantPerturbation(size_scale=0.97), PlantPerturbation(size_scale=1.03)])
    assert hold.share([(rolled.q, rolled.u)]) == 1.0
    opened = rolled.q[:, task.system.n_q_u :] - 4.0 * (rolled.u - rolled.q[:, task.system.n_q_u :])
    assert hold.share([(rolled.q, opened)]) == 0.0
