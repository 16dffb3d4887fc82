"""What a step refuses, and the statuses of its numerical outcomes."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.errors import ConfigError, InputError, ModelError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.resources import resource
from contact_mpc.task.task import TaskConfig, load_task

WALLS = """<robot name="walls"><link name="base">{walls}</link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="tip"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="5" velocity="5"/></joint>
  <link name="tip"><collision><geometry><sphere radius="0.01"/></geometry></collision></link></robot>"""
WALL = '<collision><origin xyz="0 {y} 0"/><geometry><box size="1 0.1 1"/></geometry></collision>'
SYSTEM = """name: slot
friction: {default: 0.5}
robots: [{name: walls, urdf: walls.urdf, joint_stiffness_nm_per_rad: 100.0, joint_damping_nms_per_rad: 1.0}]
objects: [{name: ball, urdf: ball.urdf, mobility: free}]
"""


@pytest.fixture
def slot(tmp_path: Path) -> Callable[[float], System]:
    """Return a maker of a slot of some width, m, between two fixed walls with a ball of radius 0.06 m in its middle."""

    def make(width: float) -> System:
        walls = "".join(WALL.format(y=s * (0.5 * width + 0.05)) for s in (1.0, -1.0))
        (tmp_path / "walls.urdf").write_text(WALLS.format(walls=walls))
        (tmp_path / "slot.yaml").write_text(SYSTEM)
        return load_system(tmp_path / "slot.yaml")

    return make


# A state of `allegro_pen`, 2 cm of command from rest: quaternion, position, joints; and its command.
OVERTURNED_Q = [
    *(0.9994, 0.0239, 0.0144, -0.0189, 0.0807, -0.0291, 0.0318, -0.0351, -0.0104, 0.0292, 0.056, 0.0008, -0.0292),
    *(0.0375, 0.0105, -0.0033, 0.0005, 0.0029, -0.0202, 0.0064, -0.0345, 0.0254, 0.2517, -0.0065, -0.0161, -0.0231),
]
OVERTURNED_U = [
    *(0.0185, -0.0296, 0.0667, 0.044, -0.0121, -0.0392, 0.0528, 0.0123, -0.0137, -0.0159, -0.0096, -0.0228, -0.0137),
    *(-0.0387, -0.0064, 0.2408, -0.0473, -0.0365, -0.0295),
]


@pytest.mark.parametrize("formulation", ["log_barrier", "socp", "qp", "lcp"])
def test_a_step_that_turns_a_body_by_more_than_half_a_turn_is_refused(formulation: str) -> None:
    """Of 3.3 rad about an axis the next orientation shows 2.9 rad the other way."""
    system = load_system("allegro_pen")
    q = np.array(OVERTURNED_Q)
    q[:4] /= np.linalg.norm(q[:4])
    dynamics = ContactDynamics(system, formulation, regularization="quasidynamic")
    assert dynamics.step(q, np.array(OVERTURNED_U)).status == "runaway"
    assert dynamics.step(q, q[system.n_q_u :]).status != "runaway"


@pytest.mark.parametrize("what", ["q", "u"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(what: str, value: float, allegro: System) -> None:
    arguments = {"q": allegro.q_default.copy(), "u": np.zeros(allegro.n_a)}
    arguments[what][5] = value
    for method in (ContactDynamics(allegro).step, ContactDynamics(allegro).linearize):
        with pytest.raises(InputError, match=rf"{what} has non-finite values at indices \[5\]"):
            method(**arguments)


def test_wrong_shapes_and_quaternions_are_refused(allegro: System) -> None:
    dynamics, q, u = ContactDynamics(allegro), allegro.q_default, np.zeros(allegro.n_a)
    with pytest.raises(InputError, match=r"q has shape \(22,\); expected \(23,\)"):
        dynamics.step(q[:-1], u)
    with pytest.raises(InputError, match=r"u has shape \(1, 16\); expected \(16,\)"):
        dynamics.step(q, u[None])
    with pytest.raises(InputError, match="offset has shape"):
        dynamics.step(q, u, np.zeros(3))
    with pytest.raises(InputError, match="norm 1.01; a unit quaternion"):
        dynamics.step(q * np.where(np.arange(23) < 4, 1.01, 1.0), u)


def test_what_is_no_vector_of_real_numbers_is_refused(planar: System) -> None:
    dynamics, u = ContactDynamics(planar), np.zeros(planar.n_a)
    with pytest.raises(InputError, match=r"q = 'upright'; expected \(7,\) numbers"):
        dynamics.step("upright", u)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="u has complex entries"):
        dynamics.step(planar.q_default, u + 1j)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_object_without_mass_is_refused(formulation: str, slot: Callable, tmp_path: Path) -> None:
    text = resource("urdf", "ball").read_text()
    (tmp_path / "ball.urdf").write_text(re.sub('mass value="[^"]*"', 'mass value="0"', text))
    with pytest.raises(ModelError, match="slot.yaml: objects ball can move without inertia .* positive <mass>"):
        ContactDynamics(slot(0.2), formulation)


@pytest.mark.parametrize("formulation", ["log_barrier", "socp", "qp"])
def test_deep_penetration_has_no_derivatives(formulation: str) -> None:
    system = load_system("box_pushing")
    q = system.q_default.copy()
    q[6] -= 0.02
    found = ContactDynamics(system, formulation).linearize(q, q[-3:])
    assert found.step.status == "deep_penetration" and not found.is_differentiable


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"friction": -0.1}, "friction = -0.1; expected a coefficient >= 0"),
        ({"friction": np.nan}, "friction = nan"),
        ({"h_s": 0.0}, "h_s = 0.0; expected a positive time step"),
        ({"h_s": np.inf}, "h_s = inf"),
        ({"h_s": "x"}, "h_s = 'x'; expected a number"),
        ({"friction": [0.5, 0.6]}, r"friction = \[0.5, 0.6\]; expected a number"),
        ({"kappa": "x"}, "kappa = 'x'; expected a number"),
        ({"tolerance": "x"}, "tolerance = 'x'; expected a number"),
        ({"epsilon": "x"}, "epsilon = 'x'; expected a number"),
        ({"kappa": -1.0}, "kappa = -1.0; expected a positive"),
        ({"kappa": np.nan}, "kappa = nan"),
        ({"tolerance": 0.0}, "tolerance = 0.0; expected more than 0, at most 0.0001"),
        ({"tolerance": np.nan}, "tolerance = nan"),
        ({"formulation": "log_barier"}, "formulation 'log_barier' is unknown; allowed: .*log_barrier"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict, words: str, planar: System) -> None:
    with pytest.raises(InputError, match=words):
        ContactDynamics(planar, **arguments)


def test_joint_without_stiffness_is_refused(tmp_path: Path) -> None:
    text = resource("systems", "planar_hand_ball").read_text().replace("[50.0, 25.0", "[50.0, 0.0")
    (tmp_path / "soft.yaml").write_text(text)
    with pytest.raises(ConfigError, match="joint_stiffness_nm_per_rad.*greater than 0"):
        load_system(tmp_path / "soft.yaml")


def test_ball_in_a_slot_too_narrow_for_it_is_infeasible(slot: Callable) -> None:
    system = slot(0.115)
    result = ContactDynamics(system).step(system.q_default, np.zeros(1))
    assert result.status == "infeasible" and not result.is_converged
    assert result.gaps.min() == pytest.approx(-0.0025, abs=1e-12)
    assert np.all(np.isfinite(result.q_next))


def test_ball_in_a_slot_with_a_hair_of_room_falls_and_keeps_its_distance(slot: Callable) -> None:
    system = slot(0.1202)
    result = ContactDynamics(system).step(system.q_default, np.zeros(1))
    assert result.is_converged
    assert result.q_next[6] < 0.0
    np.testing.assert_allclose(result.impulses[:2, 1].sum(), 0.0, atol=1e-9)


def test_deep_penetration_is_pushed_out_in_one_step_and_reported(each_task: TaskConfig) -> None:
    system, dynamics = each_task.system, ContactDynamics(each_task.system)
    q = each_task.start_q.copy()
    axis = system.n_q_u - 1 if system.config.objects[0].mobility == "free" else 1
    q[axis] -= 0.03  # into the fingers below
    result = dynamics.step(q, each_task.start_u)
    assert result.gaps.min() < -0.01
    assert result.status == "deep_penetration"
    assert dynamics.step(result.q_next, each_task.start_u).gaps.min() > 0.2 * result.gaps.min()


def test_same_input_gives_the_same_bits_whatever_came_before() -> None:
    task = load_task("allegro_ball")
    dynamics, fresh = ContactDynamics(task.system), ContactDynamics(task.system)
    dynamics.step(task.system.integrate(task.start_q, np.full(task.system.n_v, 0.01)), task.start_u)
    first, second = dynamics.linearize(task.start_q, task.start_u), fresh.linearize(task.start_q, task.start_u)
    np.testing.assert_array_equal(first.A, second.A)
    np.testing.assert_array_equal(first.step.impulses, second.step.impulses)
