"""The penalty engine as a plant: the contract of all plants, a ball that hands hold, a slow push beside Drake."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import STEP_NS, T0_NS
from contact_mpc.plants.registry import make_plant

AGREEMENT_M = 2e-3  # with Drake, on a slow push
GRASP = {
    "index": (0.0242, 0.473, 0.047, 0.1574),
    "middle": (-0.1284, 0.1467, 0.5347, 0.2768),
    "ring": (0.0261, 0.3587, 0.572, 0.5242),
    "thumb": (0.9559, 0.4831, 0.6822, 1.0872),
}


def apart(planar: System) -> np.ndarray:
    q = planar.q_default.copy()
    q[:3] = [0.0, 1.9, 0.0]
    q[3:] = [-0.7, -0.8, 0.7, 0.8]
    return q


def test_time_torques_and_commands_keep_the_contract(planar: System) -> None:
    plant = make_plant("penalty", planar, gravity_compensation=False)
    assert plant.time_ns == T0_NS and plant.state().contacts.shape == (0, 7)
    plant.reset(apart(planar))
    plant.step(np.array([1e3, -1e3, 1.0, 0.0]))
    np.testing.assert_array_equal(plant.state().tau_applied, [10.0, -10.0, 1.0, 0.0])
    assert plant.time_ns == plant.state().t_ns == T0_NS + STEP_NS
    before = plant.state()
    for command in (np.zeros(3), np.array([0.0, np.nan, 0.0, 0.0])):
        with pytest.raises(InputError, match="command"):
            plant.step(command)
    assert plant.time_ns == before.t_ns and np.array_equal(plant.state().q, before.q)


def test_two_runs_are_equal_bit_for_bit(planar: System) -> None:
    plant, runs = make_plant("penalty", planar, "position", gravity_compensation=True), []
    for _ in range(2):
        plant.reset(apart(planar))
        for k in range(20):
            plant.step(apart(planar)[3:] + 0.1 * np.sin(0.1 * k))
        state = plant.state()
        runs.append((state.q.tobytes(), state.v.tobytes(), state.contacts.tobytes()))
    assert runs[0] == runs[1]


def test_joint_stops_at_its_limit(planar: System) -> None:
    plant, q = make_plant("penalty", planar, gravity_compensation=False), apart(planar)
    q[3] = planar.q_max[0] - 0.005
    plant.reset(q)
    for _ in range(200):
        plant.step(np.array([1.0, 0.0, 0.0, 0.0]))
    assert plant.state().q[3] < planar.q_max[0] + 0.01


def test_fingers_pass_through_each_other(planar: System) -> None:
    plant, q = make_plant("penalty", planar, "position", gravity_compensation=False), apart(planar)
    q[3:] = [-1.5, -2.3, 1.5, 2.3]
    plant.reset(q)
    for _ in range(5):
        plant.step(q[3:])
    assert len(plant.state().contacts) == 0


def test_perturbed_mass_and_size_change_weight_and_height(make_table: Callable[..., System]) -> None:
    perturbation = PlantPerturbation(mass_scale=2.0, size_scale=1.25)
    system = make_table("ball", (0.0, 0.0, -9.81), 0.0749)
    plant = make_plant("penalty", system, "effort", perturbation, gravity_compensation=False)
    for _ in range(200):
        plant.step(np.zeros(1))
    assert plant.state().contacts[:, 5].sum() == pytest.approx(2.0 * 0.1 * 9.81, rel=0.01)
    assert plant.state().q[6] == pytest.approx(1.25 * 0.06, abs=5e-4)


def test_held_ball_is_carried_by_the_hand(allegro: System) -> None:
    q = allegro.q_default.copy()
    q[allegro.n_q_u :] = [GRASP[name.split("_")[0]][int(name[-1])] for name in allegro.joint_names]
    squeeze = np.array([0.0 if name.endswith("_0") else 0.015 for name in allegro.joint_names])
    plant = make_plant("penalty", allegro, "position", gravity_compensation=True)
    plant.reset(q)
    for _ in range(30):
        plant.step(q[allegro.n_q_u :] + squeeze)
    state = plant.state()
    np.testing.assert_allclose(state.contacts[:, 3:6].sum(axis=0), [0.0, 0.0, 0.1 * 9.81], atol=0.06)
    assert np.linalg.norm(state.q[4:7] - q[4:7]) < 2e-3


@pytest.mark.drake
def test_slow_push_of_a_box_ends_where_drakes_does(named_system: Callable[[str], System]) -> None:
    """The pusher of `box_pushing` moves the box of 2 kg with a command that goes 3 cm in 0.3 s."""
    system = named_system("box_pushing")
    q, ends = system.q_default.copy(), []
    q[system.n_q_u :] = [-0.181, 0.0, 0.15]
    for engine in ("drake", "penalty"):
        plant = make_plant(engine, system, "position", gravity_compensation=True)
        plant.reset(q)
        for k in range(300):
            plant.step(q[system.n_q_u :] + np.array([0.1 * k * 1e-3, 0.0, 0.0]))
        ends.append(plant.state().q[4:7])
    assert ends[0][0] > 0.005
    np.testing.assert_allclose(ends[0], ends[1], atol=AGREEMENT_M)
