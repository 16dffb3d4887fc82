"""Gazebo classic as plant: physics against closed forms, the arm against Drake, the contract of all plants."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.model.rotations import rotation_from_rpy, rpy_from_rotation
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import STEP_NS, STEP_S, T0_NS, Plant
from contact_mpc.plants.gazebo.server import ROOT_VARIABLE, find_root
from contact_mpc.plants.gazebo.world import SMALLEST_SHARE, build_world, smaller_friction
from contact_mpc.plants.registry import make_plant
from contact_mpc.task.task import load_task

G, MU = 9.81, 0.3
REPORTED_FORCE = 0.99  # of the true one, see contact_mpc.plants.gazebo.world
LINKS_WITHOUT_MASS = 3 * SMALLEST_SHARE  # the block's carriages weigh that share of it each
STOPPING_TOLERANCE_M = 4e-3  # the ground's spring takes up the weight within 3 ms, at 1 m/s; and the carriages
SAME_ARM_RAD = 5e-3  # both integrate to first order: what a joint moves in a step at the 5 rad/s that it reaches


def why_not() -> str | None:
    try:
        find_root()
    except ConfigError as error:
        return str(error)
    return None


REASON = why_not()
needs_gazebo = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pytestmark = pytest.mark.gazebo


@pytest.fixture(scope="module")
def system() -> System:
    return load_system("anypulator_block")


@pytest.fixture(scope="module")
def plant(system: System) -> Plant:
    if REASON is not None:
        pytest.skip(REASON)
    return make_plant("gazebo", system, "position", gravity_compensation=True)


def run(plant: Plant, command: np.ndarray, steps: int) -> np.ndarray:
    """Return the states of some steps as one array of numbers."""
    trace = []
    for _ in range(steps):
        plant.step(command)
        state = plant.state()
        trace.append(np.concatenate([state.q, state.v, state.tau_applied]))
    return np.array(trace)


def test_the_block_at_rest_carries_its_weight(plant: Plant) -> None:
    task = load_task("anypulator_block")
    plant.reset(task.start_q)
    run(plant, task.start_u, 300)
    state = plant.state()
    np.testing.assert_allclose(state.contacts[:, 5].sum(), REPORTED_FORCE * G, rtol=LINKS_WITHOUT_MASS)
    np.testing.assert_allclose(state.q, task.start_q, atol=2e-4)
    np.testing.assert_allclose(state.v, 0.0, atol=1e-4)


def test_the_block_slides_as_far_as_coulomb_says(plant: Plant, system: System) -> None:
    task = load_task("anypulator_block")
    v = np.zeros(system.n_v)
    v[0] = 1.0
    plant.reset(task.start_q, v)
    run(plant, task.start_u, 600)
    moved = plant.state().q[:4] - task.start_q[:4]
    np.testing.assert_allclose(moved[0], 1.0 / (2.0 * MU * G), atol=STOPPING_TOLERANCE_M)
    np.testing.assert_allclose(moved[[1, 3]], 0.0, atol=1e-3)


@pytest.mark.drake
def test_the_arm_moves_as_in_drake(system: System) -> None:
    """One torque from rest, in free space: joints, masses and inertias are the same."""
    if REASON is not None:
        pytest.skip(REASON)
    task = load_task("anypulator_block")
    tau, found = np.array([1.0, -2.0, 1.0, 0.5, 0.3]), []
    for engine in ("gazebo", "drake"):
        plant = make_plant(engine, system, gravity_compensation=True)
        plant.reset(task.start_q)
        found.append(run(plant, tau, 300)[-1, 4:9])
    assert np.max(np.abs(found[1] - task.start_q[4:])) > 0.2
    np.testing.assert_allclose(found[0], found[1], atol=SAME_ARM_RAD)


@needs_gazebo
@pytest.mark.parametrize("is_rebuilt", [False, True], ids=["reset", "rebuilt"])
def test_two_runs_are_equal_bit_for_bit(is_rebuilt: bool, system: System) -> None:
    task = load_task("anypulator_block")
    runs, plant = [], None
    for _ in range(2):
        if plant is None or is_rebuilt:
            plant = make_plant("gazebo", system, "position", gravity_compensation=True)
        plant.reset(task.start_q)
        runs.append(run(plant, task.start_u + 0.2, 400).tobytes())
    assert runs[0] == runs[1]


def test_time_starts_at_t0_and_advances_by_a_millisecond(plant: Plant, system: System) -> None:
    plant.reset(system.q_default)
    assert (plant.time_ns, plant.state().t_ns) == (T0_NS, T0_NS)
    plant.step(system.q_default[system.n_q_u :])
    assert plant.time_ns == plant.state().t_ns == T0_NS + STEP_NS


@needs_gazebo
def test_a_free_ball_falls_and_turns(make_table: Callable[..., System]) -> None:
    system = make_table("ball", (0.0, 0.0, -G), 5.0)
    plant = make_plant("gazebo", system, gravity_compensation=False)
    v = np.array([0.0, 0.0, 2.0, 0.5, 0.0, 0.0, 0.0])
    plant.reset(system.q_default, v)
    run(plant, np.zeros(1), 100)
    state, t = plant.state(), 100 * STEP_S
    np.testing.assert_allclose(state.q[6], 5.0 - 0.5 * G * t * (t + STEP_S), atol=1e-6)
    np.testing.assert_allclose(state.q[4], 0.5 * t, atol=1e-6)
    np.testing.assert_allclose(state.v[:3], [0.0, 0.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(state.q[:4], [np.cos(0.1), 0.0, 0.0, np.sin(0.1)], atol=1e-6)


# Without Gazebo.


def test_heavier_and_larger_objects_reach_the_world(system: System) -> None:
    plain = build_world(system, PlantPerturbation(), 1, "p.so").sdf
    changed = build_world(system, PlantPerturbation(mass_scale=1.5, size_scale=1.1, friction=0.0), 1, "p.so").sdf
    assert "<mass>1.0</mass>" in plain and "<mass>1.5</mass>" in changed
    assert "<size>0.2 0.3 0.19</size>" in plain and "<size>0.22" in changed
    assert "<mu>0.3</mu>" in plain and "<mu>0.3</mu>" not in changed


def test_the_smaller_friction_of_two_shapes_is_that_of_the_pair(system: System) -> None:
    mu = np.array([pair.mu for pair in system.pairs])
    found = smaller_friction(system, mu)
    for value, pair in zip(mu, system.pairs, strict=True):
        assert min(found[pair.geometry_a], found[pair.geometry_b]) == value


def test_what_ode_lacks_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="joint_reflected_inertia_kg_m2"):
        build_world(load_system("allegro_ball"), PlantPerturbation(), 1, "p.so")


def test_without_gazebo_the_message_says_how_to_install_it(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match=rf"gazebo/classic/install {tmp_path}"):
        make_plant("gazebo", system, gravity_compensation=False)


@pytest.mark.parametrize("rpy", [(0.1, -0.4, 2.0), (0.3, np.pi / 2, 0.0), (-0.2, -np.pi / 2, 0.5), (3.0, 0.0, -3.0)])
def test_roll_pitch_yaw_of_a_rotation_give_it_back(rpy: tuple[float, float, float]) -> None:
    R = rotation_from_rpy(np.array(rpy))
    np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=1e-12)
