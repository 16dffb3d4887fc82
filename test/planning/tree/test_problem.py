"""Problems: coordinates of objects, goals within their ranges, errors from the goal."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.planning.tree.problem import (
    Problem,
    coordinate_names,
    coordinates_of_object,
    load_problem,
    object_from_coordinates,
    with_goal,
    with_ranges,
    with_tolerances,
)


@pytest.mark.parametrize("goal", [9.0, float("nan")])
def test_goal_outside_its_range_is_refused_with_the_range(problem: Problem, goal: float) -> None:
    with pytest.raises(InputError, match=rf"goal of disc_turn_rad = {goal:g} is outside its range \[-0.01, 3.15\]"):
        with_goal(problem, {"disc_turn_rad": goal})


def test_unknown_goal_coordinate_is_refused_with_the_known_ones(problem: Problem) -> None:
    with pytest.raises(ConfigError, match="disc_spin.*disc_y_m, disc_z_m, disc_turn_rad"):
        with_goal(problem, {"disc_spin": 1.0})


def test_errors_are_angle_and_distance_to_the_goal(problem: Problem) -> None:
    names = coordinate_names(problem.system)
    goal = np.array([problem.file.objects[name].goal for name in names])
    off = goal + np.where([name.endswith("_rad") for name in names], np.deg2rad(4.0), 0.0)
    off[names.index("disc_y_m")] += 3e-3
    q = problem.configuration(object_from_coordinates(problem.system, off))
    assert problem.errors(q) == pytest.approx((4.0, 3.0))
    assert with_tolerances(problem, 4.1, 3.1).is_reached(q) and not with_tolerances(problem, 3.9, 3.1).is_reached(q)


def test_a_range_that_leaves_out_the_start_is_refused(problem: Problem) -> None:
    with pytest.raises(InputError, match="start of disc_turn_rad = .* is outside its range"):
        with_ranges(problem, {"disc_turn_rad": (2.0, 3.15)})


def test_joints_of_a_start_are_all_given_and_within_their_limits(tmp_path: Path) -> None:
    text, path = load_problem("planar_pushing").path.read_text(), tmp_path / "problem.yaml"
    known = load_problem("planar_pushing")
    name, limit = known.system.joint_names[0], float(known.system.q_max[0])
    start = {item: float(value) for item, value in known.file.start_joints_rad.items()}
    assert start
    for joints, words in (
        ({**start, name: limit + 1.0}, f"start_joints_rad.{name} = .* is outside its limits"),
        ({name: 0.0}, "needs exactly the joints"),
    ):
        lines = [line for line in text.splitlines() if not line.startswith("start_joints_rad")]
        path.write_text("\n".join([*lines, f"start_joints_rad: {joints}"]))
        with pytest.raises((ConfigError, InputError), match=words):
            load_problem(path)


@pytest.fixture(scope="module")
def plate() -> Problem:
    return load_problem("allegro_plate")


@settings(max_examples=20, deadline=None)
@given(arrays(float, 6, elements=st.floats(-1.4, 1.4)), st.integers(-2, 2))
def test_coordinates_of_a_free_object_are_those_next_to_the_goal(plate: Problem, x: np.ndarray, turns: int) -> None:
    items = dict(plate.file.objects)
    items["plate_yaw_rad"] = items["plate_yaw_rad"].model_copy(update={"goal": x[5] + 2.0 * np.pi * turns})
    turned = replace(plate, file=plate.file.model_copy(update={"objects": items}))
    q = plate.configuration(object_from_coordinates(plate.system, x))
    x[5] += 2.0 * np.pi * turns
    np.testing.assert_allclose(list(coordinates_of_object(turned, q).values()), x, atol=1e-9)
