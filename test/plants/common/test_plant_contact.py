"""Physics of the plants against closed forms: fall, weight, Coulomb's threshold, sliding, a held ball."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import STEP_S, Plant
from contact_mpc.plants.registry import make_plant

ENGINES = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("drake", "mujoco")]
G = 9.81
MU = 0.5  # of the table
# Share of error of the mean force while slip makes the contact hop, see the modules of the plants.
SLIDING_TOLERANCE = {"drake": 0.002, "mujoco": 0.01}
MakeTable = Callable[..., System]


def run(plant: Plant, command: np.ndarray, steps: int) -> None:
    for _ in range(steps):
        plant.step(command)


def tilted(tangent: float) -> tuple[float, float, float]:
    """Gravity on a table that leans towards +x by atan(tangent)."""
    angle = np.arctan(tangent)
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


@pytest.mark.parametrize("engine", ENGINES)
def test_free_fall_has_the_first_order_error_of_semi_implicit_steps(engine: str, make_table: MakeTable) -> None:
    system = make_table("ball", (0.0, 0.0, -G), 5.0)
    plant = make_plant(engine, system, gravity_compensation=False)
    for steps in (10, 100, 200):
        plant.reset(system.q_default)
        run(plant, np.zeros(1), steps)
        t = steps * STEP_S
        # v is taken at the end of each step: z = z0 - g t (t + h) / 2, too low by g t h / 2.
        np.testing.assert_allclose(plant.state().q[6], 5.0 - 0.5 * G * t * (t + STEP_S), atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_thrown_spinning_ball_keeps_its_velocity_in_world_axes(engine: str, make_table: MakeTable) -> None:
    system = make_table("ball", (0.0, 0.0, 0.0), 5.0)
    plant = make_plant(engine, system, gravity_compensation=False)
    v = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3, 0.0])
    q = system.q_default.copy()
    q[:4] = np.array([1.0, 2.0, -1.0, 0.5]) / 2.5
    plant.reset(q, v)
    np.testing.assert_allclose(plant.state().v, v, atol=1e-12)
    run(plant, np.zeros(1), 100)
    np.testing.assert_allclose(plant.state().v, v, atol=1e-6)
    moved = system.difference(q, plant.state().q)
    np.testing.assert_allclose(moved[3:6], 0.1 * v[3:6], atol=1e-9)
    np.testing.assert_allclose(moved[:3], 0.1 * v[:3], atol=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_ball_at_rest_carries_its_weight(engine: str, make_table: MakeTable) -> None:
    system = make_table("ball", (0.0, 0.0, -G), 0.0601)
    plant = make_plant(engine, system, gravity_compensation=False)
    run(plant, np.zeros(1), 1500)
    contacts = plant.state().contacts
    np.testing.assert_allclose(contacts[:, 3:6].sum(axis=0), [0.0, 0.0, 0.1 * G], atol=1e-4)
    assert np.all((contacts[:, 6] >= 0.0) & (contacts[:, 6] < 1e-3))
    np.testing.assert_allclose(contacts[:, :3], np.zeros((len(contacts), 3)), atol=1e-3)
    assert plant.state().q[6] == pytest.approx(0.06, abs=5e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_slider_sticks_below_the_friction_cone(engine: str, make_table: MakeTable) -> None:
    system = make_table("slider", tilted(0.9 * MU), 0.05)
    plant = make_plant(engine, system, gravity_compensation=False)
    run(plant, np.zeros(1), 500)
    start = plant.state().q[0]
    run(plant, np.zeros(1), 1000)
    # Both engines regularise friction: a stuck contact creeps, by less than a tenth of a millimetre a second.
    assert abs(plant.state().q[0] - start) < 1e-4


@pytest.mark.parametrize("engine", ENGINES)
def test_sliding_friction_is_mu_times_the_weight(engine: str, make_table: MakeTable) -> None:
    angle = np.arctan(1.1 * MU)
    system = make_table("slider", tilted(1.1 * MU), 0.05)
    plant = make_plant(engine, system, gravity_compensation=False)
    forces = np.zeros((500, 3))
    for k in range(500):
        plant.step(np.zeros(1))
        forces[k] = plant.state().contacts[:, 3:6].sum(axis=0)
    touching = forces[forces[:, 2] > 1e-3]
    np.testing.assert_allclose(-touching[50:, 0] / touching[50:, 2], MU, rtol=1e-3)
    weight, share = G * np.cos(angle), SLIDING_TOLERANCE[engine]
    assert forces[:, 2].mean() == pytest.approx(weight, rel=share)
    # Friction carries 10/11 of the pull along the table, so its share of error counts elevenfold in the rest.
    expected = G * np.sin(angle) - MU * weight
    assert plant.state().v[0] / 0.5 == pytest.approx(expected, rel=11.0 * share)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "perturbation", [PlantPerturbation(friction=0.8), PlantPerturbation(friction_scale=1.6)], ids=["value", "scale"]
)
def test_perturbed_friction_holds_what_the_nominal_one_does_not(
    engine: str, perturbation: PlantPerturbation, make_table: MakeTable
) -> None:
    system = make_table("slider", tilted(0.7), 0.05)
    moved = []
    for case in (PlantPerturbation(), perturbation):
        plant = make_plant(engine, system, "effort", case, gravity_compensation=False)
        run(plant, np.zeros(1), 500)
        moved.append(plant.state().q[0])
    assert moved[0] > 0.1 and moved[1] < 1e-3


@pytest.mark.parametrize("engine", ENGINES)
def test_perturbed_mass_and_size_change_weight_and_height(engine: str, make_table: MakeTable) -> None:
    system = make_table("ball", (0.0, 0.0, -G), 0.08)
    heavy_and_large = PlantPerturbation(mass_scale=2.0, size_scale=1.25)
    plant = make_plant(engine, system, "effort", heavy_and_large, gravity_compensation=False)
    run(plant, np.zeros(1), 1500)
    assert plant.state().contacts[:, 5].sum() == pytest.approx(2.0 * 0.1 * G, abs=1e-3)
    assert plant.state().q[6] == pytest.approx(1.25 * 0.06, abs=5e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_held_ball_is_carried_by_the_contacts_that_the_hand_makes(engine: str, allegro: System) -> None:
    grasp = {
        "index": (0.0242, 0.473, 0.047, 0.1574),
        "middle": (-0.1284, 0.1467, 0.5347, 0.2768),
        "ring": (0.0261, 0.3587, 0.572, 0.5242),
        "thumb": (0.9559, 0.4831, 0.6822, 1.0872),
    }
    q = allegro.q_default.copy()
    q[allegro.n_q_u :] = [grasp[name.split("_")[0]][int(name[-1])] for name in allegro.joint_names]
    squeeze = np.array([0.0 if name.endswith("_0") else 0.015 for name in allegro.joint_names])
    plant = make_plant(engine, allegro, "position", gravity_compensation=True)
    plant.reset(q)
    run(plant, q[allegro.n_q_u :] + squeeze, 1000)
    state = plant.state()
    np.testing.assert_allclose(state.contacts[:, 3:6].sum(axis=0), [0.0, 0.0, 0.1 * G], atol=5e-3)
    assert np.linalg.norm(state.q[4:7] - q[4:7]) < 2e-3
    arms = state.contacts[:, :3] - state.q[4:7]
    np.testing.assert_allclose(np.cross(arms, state.contacts[:, 3:6]).sum(axis=0), 0.0, atol=5e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_fingers_pass_through_each_other(engine: str, planar: System) -> None:
    q = planar.q_default.copy()
    q[:3] = [0.0, 1.9, 0.0]  # the disc out of reach
    q[3:] = [-1.5, -2.3, 1.5, 2.3]  # left over right
    plant = make_plant(engine, planar, "position", gravity_compensation=False)
    plant.reset(q)
    run(plant, q[3:], 20)
    assert len(plant.state().contacts) == 0
    np.testing.assert_allclose(plant.state().q[3:], q[3:], atol=1e-6)
