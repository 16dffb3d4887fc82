"""Contact sampling as laid out for compiled code: postures by weight, fingers by the contacts that they move."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.tree.growth.contact_sampling import STILL, WHOLE, build_sampler
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import Problem, load_problem


def test_unknown_joint_of_a_posture_is_refused(problem: Problem, tmp_path: Path) -> None:
    text = problem.path.read_text().replace("left_1: [-0.9, -0.05]", "left_7: [-0.9, -0.05]")
    path = tmp_path / "problem.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="no joint 'left_7' in system 'planar_hand_ball'"):
        TreePlanner(load_problem(path))


def test_postures_are_drawn_as_often_as_their_weights_say(planner: TreePlanner, problem: Problem) -> None:
    posture = problem.file.contacts.close[0]
    weighted = tuple(posture.model_copy(update={"weight": weight}) for weight in (1.0, 3.0, 4.0))
    contacts = problem.file.contacts.model_copy(update={"close": weighted})
    sampler = build_sampler(problem.system, planner.model, contacts, "file")
    np.testing.assert_allclose(sampler.chance, [0.125, 0.5, 1.0])
    assert sampler.open_low.shape == (3, problem.system.n_a)


def test_a_finger_touches_by_the_contacts_that_its_joints_move(planner: TreePlanner) -> None:
    sampler = planner.sampler
    for p, count in enumerate(sampler.fingers):
        for f in range(count):
            closing = sampler.finger[p] == f
            assert np.array_equal(sampler.touches[p, f], sampler.moved_by[closing].any(axis=0))
            assert sampler.touches[p, f].any()
        assert np.all((sampler.finger[p] < count) & (sampler.finger[p] >= min(WHOLE, STILL)))


def test_a_finger_that_moves_no_contact_is_refused_by_name(problem: Problem) -> None:
    deaf = TreePlanner(problem).model
    deaf = deaf._replace(pairs=deaf.pairs._replace(dof_count=np.zeros_like(deaf.pairs.dof_count)))
    with pytest.raises(ConfigError, match="fingers.*: no contact pair moves with the joints"):
        build_sampler(problem.system, deaf, problem.file.contacts, "file")


def test_a_grasp_from_which_no_finger_may_stay_open_has_all_of_them_near(problem: Problem) -> None:
    """`least_touching` fingers of a root are within the preload of the object."""
    most = len(problem.file.contacts.close[0].fingers)
    contacts = problem.file.contacts.model_copy(update={"least_touching": most})
    strict = TreePlanner(replace(problem, file=problem.file.model_copy(update={"contacts": contacts})))
    assert strict.sampler.least_touching == most
    root = strict.grow(seed=5, nodes=1).tree
    loads = np.abs(root.u[0] - root.q[0, problem.system.n_q_u :])
    for f in range(most):
        assert loads[strict.sampler.finger[root.posture[0]] == f].max() > 1e-4
