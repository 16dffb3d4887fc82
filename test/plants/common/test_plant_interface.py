"""The plant's contract: commands, limits, drives, reset, determinism, refused input."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.errors import ConfigError, InputError, ModelError
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import DriveDisturbance, PlantPerturbation
from contact_mpc.plants.common.plant import STEP_NS, T0_NS
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings import registry as registry_module

ENGINES = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("drake", "mujoco")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_rebuilt", [False, True], ids=["reset", "rebuilt"])
def test_two_runs_of_500_steps_are_equal_bit_for_bit(engine: str, is_rebuilt: bool, allegro: System) -> None:
    perturbation = PlantPerturbation(torque_ripple_fraction=0.02, hysteresis_fraction=0.02, seed=3)
    commands = 0.4 + 0.1 * np.sin(np.arange(500)[:, None] * 0.01 + np.arange(allegro.n_a))
    plant, runs = None, []
    for _ in range(2):
        if plant is None or is_rebuilt:
            plant = make_plant(engine, allegro, "position", perturbation, gravity_compensation=True)
        plant.reset(allegro.q_default)
        trace = []
        for command in commands:
            plant.step(command)
            state = plant.state()
            trace.append(np.concatenate([state.q, state.v, state.tau_applied, state.contacts.ravel()]).tobytes())
        runs.append(trace)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_time_starts_at_t0_and_advances_by_a_millisecond(engine: str, planar: System) -> None:
    plant = make_plant(engine, planar, gravity_compensation=False)
    assert (plant.time_ns, plant.state().t_ns) == (T0_NS, T0_NS)
    assert plant.state().contacts.shape == (0, 7)
    for _ in range(3):
        plant.step(np.zeros(4))
    assert plant.time_ns == plant.state().t_ns == T0_NS + 3 * STEP_NS
    plant.reset(planar.q_default)
    assert plant.time_ns == T0_NS


@pytest.mark.parametrize("engine", ENGINES)
def test_torques_are_clipped_at_the_effort_limits(engine: str, planar: System) -> None:
    plant = make_plant(engine, planar, gravity_compensation=False)
    plant.step(np.array([1e3, -1e3, 1.0, 0.0]))
    np.testing.assert_array_equal(plant.state().tau_applied, [10.0, -10.0, 1.0, 0.0])
    weak = make_plant(engine, planar, gravity_compensation=False)
    weak.step(np.array([10.0, -10.0, 1.0, 0.0]))
    np.testing.assert_array_equal(plant.state().v, weak.state().v)


@pytest.mark.parametrize("engine", ENGINES)
def test_position_interface_applies_the_joint_impedance(engine: str, planar: System) -> None:
    q = planar.q_default.copy()
    q[:3] = [0.0, 1.9, 0.0]
    q[3:] = [-0.7, -0.8, 0.7, 0.8]
    v = np.concatenate([np.zeros(3), [0.1, -0.2, 0.3, 0.0]])
    plant = make_plant(engine, planar, "position", gravity_compensation=False)
    plant.reset(q, v)
    u = q[3:] + np.array([0.05, -0.05, 0.02, 0.0])
    plant.step(u)
    expected = planar.kp * (u - q[3:]) - planar.kd * v[3:]
    np.testing.assert_allclose(plant.state().tau_applied, expected, atol=1e-12)
    for _ in range(3000):
        plant.step(u)
    np.testing.assert_allclose(plant.state().q[3:], u, atol=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_hand_sags_without_gravity_compensation_and_not_with_it(engine: str, allegro: System) -> None:
    q = allegro.q_default.copy()
    q[4:7] = [1.0, 1.0, 1.0]
    u = q[allegro.n_q_u :] + 0.1
    sag = []
    for is_compensated in (False, True):
        plant = make_plant(engine, allegro, "position", gravity_compensation=is_compensated)
        plant.reset(q)
        for _ in range(1500):
            plant.step(u)
        sag.append(np.max(np.abs(plant.state().q[allegro.n_q_u :] - u)))
    assert sag[0] > 2e-3 and sag[1] < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
def test_joint_stops_at_its_limit(engine: str, planar: System) -> None:
    q = planar.q_default.copy()
    q[:3] = [0.0, 1.9, 0.0]
    plant = make_plant(engine, planar, gravity_compensation=False)
    plant.reset(q)
    for _ in range(500):
        plant.step(np.array([1.0, 0.0, 0.0, 0.0]))  # left_1 starts at its upper limit, 0
    assert plant.state().q[3] < planar.q_max[0] + 0.01


@pytest.mark.parametrize("engine", ENGINES)
def test_object_offset_moves_the_object_at_reset(engine: str, allegro: System, planar: System) -> None:
    perturbation = PlantPerturbation(object_offset_m=(0.0, 0.003, -0.002))
    for system in (allegro, planar):
        plant = make_plant(engine, system, "effort", perturbation, gravity_compensation=False)
        plant.reset(system.q_default)
        nominal, moved = system.object_pose(system.q_default)[1], system.object_pose(plant.state().q)[1]
        np.testing.assert_allclose(moved - nominal, [0.0, 0.003, -0.002], atol=1e-9)


def test_ripple_is_periodic_in_the_joint_and_seeded(planar: System) -> None:
    ripple = PlantPerturbation(torque_ripple_fraction=0.02, torque_ripple_periods_per_turn=12, seed=1)
    drive = DriveDisturbance(planar, ripple)
    q = np.array([-0.3, -0.5, 0.3, 0.5])
    period = 2.0 * np.pi / 12
    np.testing.assert_allclose(drive.compute_torque(q), drive.compute_torque(q + period), atol=1e-12)
    sweep = np.array([drive.compute_torque(q + x) for x in np.linspace(0.0, period, 200)])
    np.testing.assert_allclose(sweep.max(axis=0), 0.02 * planar.tau_max_nm, rtol=1e-3)
    other = DriveDisturbance(planar, PlantPerturbation(torque_ripple_fraction=0.02, seed=2))
    assert not np.allclose(drive.compute_torque(q), other.compute_torque(q))


def test_drive_friction_opposes_motion_and_stays_when_it_ends(planar: System) -> None:
    drive = DriveDisturbance(planar, PlantPerturbation(hysteresis_fraction=0.05))
    drive.reset(np.zeros(4))
    np.testing.assert_array_equal(drive.compute_torque(np.zeros(4)), 0.0)
    limit = 0.05 * planar.tau_max_nm
    np.testing.assert_allclose(drive.compute_torque(np.full(4, 0.1)), -limit)
    np.testing.assert_allclose(drive.compute_torque(np.full(4, 0.1)), -limit)
    np.testing.assert_allclose(drive.compute_torque(np.full(4, 0.0)), limit)


def test_drive_friction_does_not_depend_on_how_a_motion_is_cut_into_steps(planar: System) -> None:
    perturbation = PlantPerturbation(hysteresis_fraction=0.05)
    coarse, fine = DriveDisturbance(planar, perturbation), DriveDisturbance(planar, perturbation)
    for drive in (coarse, fine):
        drive.reset(np.zeros(4))
    for x in np.linspace(0.0, 0.003, 50)[1:]:
        torque = fine.compute_torque(np.full(4, x))
    np.testing.assert_allclose(coarse.compute_torque(np.full(4, 0.003)), torque, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_imperfect_drives_act_on_the_joints_but_not_on_the_measured_torque(engine: str, planar: System) -> None:
    states = []
    for fraction in (0.0, 0.05):
        perturbation = PlantPerturbation(torque_ripple_fraction=fraction)
        plant = make_plant(engine, planar, "effort", perturbation, gravity_compensation=False)
        plant.step(np.full(4, 0.5))
        states.append(plant.state())
    np.testing.assert_array_equal(states[0].tau_applied, states[1].tau_applied)
    assert np.all(states[0].tau_disturbance == 0.0) and np.any(states[1].tau_disturbance != 0.0)
    assert not np.allclose(states[0].v, states[1].v)


@pytest.mark.parametrize(
    "bad",
    [
        {"mass_scale": 0.0},
        {"size_scale": -1.0},
        {"friction": -0.1},
        {"hysteresis_fraction": -0.1},
        {"mass_scale": float("nan")},
        {"object_offset_m": (0.0, float("nan"), 0.0)},
        {"object_offset_m": (0.0, 0.0)},
    ],
)
def test_perturbation_refuses_impossible_values_by_name(bad: dict) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        PlantPerturbation(**bad)


def test_unknown_engine_and_interface_name_the_allowed_ones(planar: System) -> None:
    with pytest.raises(ConfigError, match="drake, mujoco"):
        make_plant("bullet", planar, gravity_compensation=False)
    with pytest.raises(InputError, match="effort, position"):
        make_plant("drake", planar, "velocity", gravity_compensation=False)


def test_missing_engine_says_what_to_install(planar: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"install with: pip install .*\[mujoco\]"):
        make_plant("mujoco", planar, gravity_compensation=False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("command", [np.zeros(3), np.array([0.0, np.nan, 0.0, 0.0])], ids=["shape", "nan"])
def test_bad_command_is_refused_and_leaves_the_plant_where_it_was(
    engine: str, command: np.ndarray, planar: System
) -> None:
    plant = make_plant(engine, planar, gravity_compensation=False)
    before = plant.state()
    with pytest.raises(InputError, match="command"):
        plant.step(command)
    after = plant.state()
    assert after.t_ns == before.t_ns and np.array_equal(after.q, before.q)


@pytest.mark.drake
def test_drake_gets_the_friction_of_every_pair(allegro: System, tmp_path) -> None:
    from contact_mpc.model.system_builder import load_system
    from contact_mpc.plants.drake.plant import solve_friction
    from contact_mpc.settings.resources import resource

    text = resource("systems", "allegro_ball").read_text()
    path = tmp_path / "allegro_ball.yaml"
    path.write_text(text.replace("pairs: []", "pairs: [{bodies: [ball, palm_link], mu: 0.3}]"))
    system = load_system(path)
    mu = PlantPerturbation().pair_friction(system)
    assert set(mu) == {0.3, 1.0}
    geometry_mu = solve_friction(system, mu)
    for value, pair in zip(mu, system.pairs, strict=True):
        a, b = geometry_mu[pair.geometry_a], geometry_mu[pair.geometry_b]
        assert 2.0 * a * b / (a + b) == pytest.approx(value, rel=1e-12)


@pytest.mark.drake
@pytest.mark.parametrize("name", ["allegro_door", "allegro_plate", "iiwa_bimanual_box"])
def test_drake_gets_the_friction_of_chains_of_pairs(name: str, named_system: Callable[[str], System]) -> None:
    """Two objects, or a hand and the ground, with different friction."""
    from contact_mpc.plants.drake.plant import solve_friction

    system = named_system(name)
    mu = PlantPerturbation().pair_friction(system)
    assert len(set(mu)) == 2
    geometry_mu = solve_friction(system, mu)
    for value, pair in zip(mu, system.pairs, strict=True):
        a, b = geometry_mu[pair.geometry_a], geometry_mu[pair.geometry_b]
        assert 2.0 * a * b / (a + b) == pytest.approx(value, rel=1e-12)


@pytest.mark.drake
def test_drake_refuses_friction_that_it_cannot_combine(tmp_path) -> None:
    from contact_mpc.model.system_builder import load_system
    from contact_mpc.plants.drake.plant import solve_friction
    from contact_mpc.settings.resources import resource

    ball = resource("urdf", "ball").read_text()
    extra = """<link name="nub"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
      <joint name="weld" type="fixed"><parent link="ball"/><child link="nub"/></joint></robot>"""
    (tmp_path / "ball.urdf").write_text(ball.replace("</robot>", extra))
    pairs = "pairs: [{bodies: [ball, palm_link], mu: 0.3}, {bodies: [nub, palm_link], mu: 0.9}]"
    path = tmp_path / "allegro_ball.yaml"
    path.write_text(resource("systems", "allegro_ball").read_text().replace("pairs: []", pairs))
    system = load_system(path)
    with pytest.raises(ModelError, match="palm_link"):
        solve_friction(system, PlantPerturbation().pair_friction(system))
