"""Fingers leave what they hold along its normals and by their clearance, and touch it anew, whatever its size."""

import itertools

import numpy as np
import pytest

from contact_mpc.geometry.fingers import closest_pair_per_finger, contact_jacobian
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.pressing import press_with_all
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.leaving import LeavingFingers
from contact_mpc.planning.reorient.segments import build_planner, make_goal_plan
from contact_mpc.task.task import load_task

CLEAR_M = 4e-3


def test_fingers_let_go_along_their_normals() -> None:
    task, config = load_task("allegro_ball_so3"), ReorientationConfig()
    system, scene, q = task.system, make_scene(task.system), task.start_q
    tips = compute_grasp(system, q, config.minimum_force_n, config.grasp_friction, scene=scene).pairs
    assert len(tips) == 4
    fingers = LeavingFingers(system, scene, tips, config)
    gaps = scene.gaps(q).copy()
    normals = scene.newton.con.n[tips].copy()
    J = [contact_jacobian(scene.model.pairs, scene.newton.con, c, system.n_v)[:, system.n_v_u :] for c in tips]
    dq_a = (fingers.leave(q, config.loose_m, np.zeros(len(gaps))) - q)[system.n_q_u :]
    for c, n, J_c in zip(tips, normals, J, strict=True):
        d = J_c @ dq_a
        away = n @ d
        assert away > 0.5 * config.loose_m - gaps[c]
        assert np.linalg.norm(d - away * n) < 0.2 * away


@pytest.mark.parametrize("larger_m", [5e-3, -3e-3])
def test_fingers_leave_and_touch_a_disc_of_another_size_as_they_would_the_nominal_one(larger_m: float) -> None:
    """A disc with a radius larger by d is nearer by d to what is beside it: fingers touch it at nominal gaps of d."""
    task = load_task("planar_hand_ball_180")
    system, planner = task.system, build_planner(task)
    planner.begin(make_goal_plan(task))
    turn = planner.next_segment(task.start_q, task.start_u)
    assert turn is not None and turn.plan is not None
    scene, q = make_scene(system), turn.plan.q[-1].copy()
    tips = closest_pair_per_finger(scene.fingers, scene.gaps(q), 2e-3)
    links = tuple(np.flatnonzero(scene.links == scene.links[c]) for c in tips)
    assert press_with_all(system, scene, q, np.arange(system.n_a), links, larger_m)
    regrasp = planner.next_segment(q, turn.plan.u[-1])
    assert regrasp is not None and regrasp.plan is not None and not regrasp.is_tracked
    shares, rows = np.linspace(0.0, 1.0, 5), regrasp.plan.u[3:-2]
    way = [a + share * (b - a) for a, b in itertools.pairwise(rows) for share in shares]
    gaps = np.array([scene.gaps(np.concatenate([q[: system.n_q_u], u])).min() - larger_m for u in way])
    assert gaps.min() > CLEAR_M  # also between the instants that are planned
    touching = scene.gaps(np.concatenate([q[: system.n_q_u], regrasp.plan.u[-2]])) - larger_m
    nominal = scene.gaps(task.start_q)
    assert [touching[rows].min() for rows in links] == pytest.approx([nominal[rows].min() for rows in links], abs=2e-4)


def test_fingers_that_are_away_from_the_object_are_not_taken_to_touch_it() -> None:
    task = load_task("planar_hand_ball_180")
    planner, q = build_planner(task), task.start_q.copy()
    planner.begin(make_goal_plan(task))
    q[1] += 0.03  # beside them
    regrasp = planner.next_segment(q, task.start_u)
    assert regrasp is not None and regrasp.plan is not None and not regrasp.is_tracked
    touching = make_scene(task.system).gaps(np.concatenate([q[:3], regrasp.plan.u[-2]]))
    assert touching.min() < 1e-3
