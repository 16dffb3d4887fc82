"""The search of start postures: the last links alone touch, at the start and on the way."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.model.rotations import rotation_from_rpy, rotation_log
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.candidate import Course, GraspCandidate
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.rolling import RollingPath, roll_along
from contact_mpc.planning.grasp.search import GraspSearch, search_grasp
from contact_mpc.planning.start_posture import make_search
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.task.task import TaskConfig, load_task

INSTANTS = 5
CONFIG = GraspSearchConfig()
# A start of the cube from which the fingertips roll all the way about +x, with a link of the index inside the cube
BLOCKED_JOINTS_RAD = {
    "index_0": 0.1149, "index_1": 0.6744, "index_2": 0.5356, "index_3": 0.5173,
    "middle_0": -0.1210, "middle_1": 0.1708, "middle_2": 0.9135, "middle_3": 0.7996,
    "ring_0": 0.1531, "ring_1": 0.5423, "ring_2": 0.7968, "ring_3": 0.9941,
    "thumb_0": 0.8896, "thumb_1": 0.5162, "thumb_2": 1.0683, "thumb_3": 0.9914,
}  # fmt: skip
BLOCKED_POSITION_M, BLOCKED_RPY_RAD = [-0.0445, 0.0192, 0.0882], [-0.1651, 0.1069, 0.7463]


def search_for(task: TaskConfig, q: np.ndarray, axes: tuple[str, ...], spread_rad: float = 0.0) -> GraspSearch:
    first = task.system.n_q_u
    turns = [task.about(axis) for axis in axes]
    return GraspSearch(
        task.system, q,
        lambda start, _: [Course([object_path(turn, start, INSTANTS)[:, :first] for turn in turns])],
        seed=3, minimum_force_n=2.0, spread_rad=spread_rad,
    )  # fmt: skip


def gaps_of(system: System, q: np.ndarray) -> np.ndarray:
    model = build_model(system)
    return np.array(measure_gaps(model, make_newton(model), q))


def roll(task: TaskConfig, candidate: GraspCandidate, axis: str) -> RollingPath:
    path = object_path(task.about(axis), candidate.q, INSTANTS)[:, : task.system.n_q_u]
    return roll_along(task.system, candidate.q, path, candidate.grasp.pairs, 2.0, 0.5)


def clear_instants(system: System, rolled: RollingPath, pairs: np.ndarray) -> int:
    clear = [np.delete(gaps_of(system, q), pairs).min() >= CONFIG.clearance_m for q in rolled.q]
    return int(np.argmin([*clear, False]))


@pytest.fixture(scope="module")
def variants() -> tuple[TaskConfig, list[GraspCandidate]]:
    task = load_task("allegro_ball")
    search = search_for(task, task.start_q, ("+z",))
    start = search.judge(task.start_q)
    assert start is not None
    found = [search.vary(start) for _ in range(30)]
    return task, [start, *(candidate for candidate in found if candidate is not None)]


def test_one_tip_of_every_finger_touches_and_nothing_else(variants: tuple[TaskConfig, list[GraspCandidate]]) -> None:
    task, candidates = variants
    assert len(candidates) > 2
    for candidate in candidates[1:]:
        gaps = gaps_of(task.system, candidate.q)
        held = gaps[candidate.grasp.pairs]
        assert len(held) == 4
        assert held.min() >= 0.5 * CONFIG.contact_gap_m and held.max() <= 2.0 * CONFIG.contact_gap_m
        assert candidate.fraction == 0.0 or np.delete(gaps, candidate.grasp.pairs).min() >= CONFIG.clearance_m


def test_fraction_is_the_share_of_the_path_with_all_other_links_clear(
    variants: tuple[TaskConfig, list[GraspCandidate]],
) -> None:
    task, candidates = variants
    for candidate in candidates:
        count = clear_instants(task.system, roll(task, candidate, "+z"), candidate.grasp.pairs)
        assert candidate.fraction == pytest.approx(count / INSTANTS)


def test_path_through_a_link_of_the_hand_does_not_count() -> None:
    task = load_task("allegro_cube")
    system, q = task.system, task.start_q.copy()
    by_name = {name.split("/")[-1]: index for index, name in enumerate(system.joint_names)}
    for name, angle in BLOCKED_JOINTS_RAD.items():
        q[system.n_q_u + by_name[name]] = angle
    pose = rotation_from_rpy(np.array(BLOCKED_RPY_RAD)), np.array(BLOCKED_POSITION_M)
    q[: system.n_q_u] = system.q_from_object_pose(*pose, q)
    candidate = search_for(task, q, ("+x",)).judge(q)
    assert candidate is not None
    rolled = roll(task, candidate, "+x")
    assert rolled.is_complete
    assert candidate.fraction < 1.0
    assert candidate.fraction == pytest.approx(clear_instants(system, rolled, candidate.grasp.pairs) / INSTANTS)


def test_turns_of_the_start_stay_within_their_spread() -> None:
    task = load_task("allegro_ball")
    spread_rad = 0.2
    search = search_for(task, task.start_q, ("+z",), spread_rad)
    found = [candidate for candidate in (search.sample() for _ in range(40)) if candidate is not None]
    assert found
    R0, _ = task.system.object_pose(task.start_q)
    turns = [rotation_log(task.system.object_pose(candidate.q)[0] @ R0.T) for candidate in found]
    assert np.abs(turns).max() <= spread_rad
    assert np.abs(turns).max() > 0.0


def test_what_failed_is_told_per_finger_and_the_best_so_far_is_kept() -> None:
    task = load_task("allegro_ball")
    search = search_for(task, task.start_q, ("+z",))
    search.friction = 0.02  # nothing holds the ball

    def stop(count: int, _: float) -> None:
        if count == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_grasp(search, 100, stop)
    assert search.drawn == 6 and search.best is None
    assert "no forces of 2 N within friction 0.02 hold it" in search.why()[0]
    search.best = search_for(task, task.start_q, ("+z",)).judge(task.start_q)
    with pytest.raises(KeyboardInterrupt):
        search_grasp(search, 100, stop)
    assert search.best is not None


def test_finger_that_cannot_reach_is_left_open_and_named() -> None:
    """The thumb can hardly move: three fingers go on by themselves."""
    task = load_task("allegro_ball")
    system = task.system
    rest = system.q_default[system.n_q_u :]
    stiff = tuple(
        replace(joint, lower=q - 0.01, upper=q + 0.01) if name.startswith("thumb") else joint
        for joint, name, q in zip(system.joints, system.joint_names, rest, strict=True)
    )
    search = search_for(replace(task, system=replace(system, joints=stiff)), task.start_q, ("+z",))
    for _ in range(4):
        search.sample()
    thumb = next(name for name in search.misses if name.startswith("thumb"))
    assert search.misses[thumb] == 4
    assert not any("too few" in reason for reason in search.refusals)


def test_search_ends_once_its_best_can_hardly_be_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    task = load_task("allegro_ball")
    search = search_for(task, task.start_q, ("+z",))
    start = search.judge(task.start_q)
    assert start is not None and not start.is_complete  # nothing held it
    search.best = replace(start, fractions=(1.0, 1.0, 1.0), limit_room_rad=0.3, held=1.0)
    for name in ("sample", "vary"):
        monkeypatch.setattr(search, name, lambda *_: None)
    counts: list[int] = []
    assert search_grasp(search, 10 * CONFIG.patience, lambda count, _: counts.append(count)) is search.best
    assert counts[-1] == CONFIG.patience


@pytest.mark.parametrize("name", ["allegro_ball", "planar_hand_ball"])
def test_fingers_with_joints_to_spare_leave_a_choice_in_space_and_in_a_plane(name: str) -> None:
    task = load_task(name)
    search = search_for(task, task.start_q, ("",))
    start = search.judge(task.start_q)
    assert start is not None and search.leaves_choice(start)


def test_giving_up_early_changes_no_best_posture(monkeypatch: pytest.MonkeyPatch) -> None:
    task = load_task("allegro_ball")
    axes = ("+x", "-x", "+z")
    bests, rolled = [], []

    def counted(*arguments: object, **named: object) -> RollingPath:
        rolled[-1] += 1
        return roll_along(*arguments, **named)

    monkeypatch.setattr("contact_mpc.planning.grasp.search.roll_along", counted)
    for gives_up in (True, False):
        if not gives_up:
            monkeypatch.setattr(GraspSearch, "could_win", lambda *_: True)
        rolled.append(0)
        bests.append(search_grasp(search_for(task, task.start_q, axes), 40))
    assert bests[0] is not None and bests[1] is not None
    np.testing.assert_array_equal(bests[0].q, bests[1].q)
    assert bests[0].score == bests[1].score and rolled[0] < rolled[1]


def test_an_object_that_would_roll_off_its_support_is_not_gripped_there() -> None:
    """Fingers that let go of a ball at the palm's edge are followed by it, and turn it back on their way."""
    task = load_task("allegro_ball_so3")
    q = task.start_q.copy()
    q[4] -= 0.02  # the palm ends there
    search = make_search(replace(task, start_q=q), 0)
    assert all(search.sample() is None for _ in range(20))
    assert "20 of 20: it would not stay where it lies when the fingers let go" in search.why()
    inside = make_search(task, 0)
    for _ in range(20):
        inside.sample()
    assert inside.refusals["it would not stay where it lies when the fingers let go"] < 20
