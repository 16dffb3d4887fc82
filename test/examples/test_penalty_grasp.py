"""Grippers and grasps of the penalty study: what is built, what holds, at which force."""

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.examples.grasp.grippers import BUNNY_M, GRIPPERS, MASS_KG, build_grasp, bunny
from contact_mpc.examples.grasp.run import GRIP_N, RAMP_S, Law, simulate_penalty, touching_start
from contact_mpc.examples.penalty_grasp import penalty_grasp
from contact_mpc.examples.registry import run_example
from contact_mpc.examples.result import Settings
from contact_mpc.plants.penalty.engine import PenaltyEngine


@pytest.mark.parametrize("gripper", GRIPPERS)
def test_fingers_start_just_apart_from_the_object(gripper: str) -> None:
    grasp = build_grasp(gripper, "box")
    engine = PenaltyEngine(grasp.system)
    q = touching_start(engine, grasp)
    engine.reset(q)
    assert not np.any(engine.work.rows[:, 0])
    q[grasp.system.n_q_u + 1 :] += 5e-4 / grasp.lever_m
    engine.reset(q)
    assert np.all(engine.work.rows[:, 0] > 0.0)
    assert len(engine.work.rows) == int(gripper[0]) and grasp.system.tree.mass[0] == MASS_KG


def test_coordination_takes_no_grip_force_and_acts_against_what_fingers_differ_by() -> None:
    law = Law(np.zeros(2), 0.05)
    q, v, bias = np.array([0.0, 0.12, 0.1]), np.zeros(3), np.zeros(3)
    torques = law.torques(1.0, q, v, bias)
    assert torques[1:].mean() == pytest.approx(GRIP_N * 0.05)
    assert torques[1] < torques[2]
    assert law.torques(0.5 * RAMP_S, 0.0 * q, v, bias)[1] == pytest.approx(0.5 * GRIP_N * 0.05)


def test_prismatic_fingers_hold_the_box_at_the_force_of_their_drives() -> None:
    run = simulate_penalty(build_grasp("2p", "box"), 0.11)
    assert not run.error
    np.testing.assert_allclose(run.forces_n[-1], GRIP_N, rtol=0.01)
    assert run.slip_m < 1e-3


def test_bunny_is_closed_and_held() -> None:
    pytest.importorskip("pybullet_data")
    mesh = bunny()
    assert np.ptp(mesh.vertices, axis=0).max() == pytest.approx(BUNNY_M)
    np.testing.assert_allclose(mesh.centroid, 0.0, atol=1e-12)
    run = simulate_penalty(build_grasp("2p", "bunny"), 0.08)
    np.testing.assert_allclose(run.forces_n[-1], GRIP_N, rtol=0.05)


def test_bullet_ends_at_the_same_force() -> None:
    pytest.importorskip("pybullet")
    from contact_mpc.examples.grasp.bullet import simulate_bullet

    grasp = build_grasp("2p", "sphere")
    q = touching_start(PenaltyEngine(grasp.system), grasp)
    run = simulate_bullet(grasp, q, 0.3)
    np.testing.assert_allclose(run.forces_n[-1], GRIP_N, rtol=0.05)


def test_what_does_not_apply_is_refused() -> None:
    for settings, message in (
        (Settings(gripper="5"), "allowed: 2p, 2, 3, 4"),
        (Settings(thing="egg"), "allowed: sphere, box, bunny"),
        (Settings(duration_s=1e9), "0.2 to 60"),
        (Settings(h_s=0.1), "expected a time step"),
        (Settings(formulation="qp"), "leave it out"),
    ):
        with pytest.raises(InputError, match=message):
            penalty_grasp(settings)
    with pytest.raises(InputError, match="belong to the example penalty_grasp"):
        run_example("cube", Settings(gripper="2"))
