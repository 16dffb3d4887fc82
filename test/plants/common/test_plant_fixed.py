"""Objects on fixed shapes in both engines: they stand, carry their weight, slide by Coulomb's law, and robots pass."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import Plant
from contact_mpc.plants.registry import make_plant

ENGINES = ("drake", "mujoco")
SETTLE_S = 0.3
LEVEL_RAD = 1e-3  # a box on four compliant corners stands level to that
FORCE_TOLERANCE = 0.02  # of the weight; measured 0.1 % in Drake, 0.3 % in MuJoCo
CREEP_M = 1e-4  # a stuck box creeps by less while it is pushed


@pytest.fixture
def on_the_ground(named_system: Callable[[str], System]) -> Callable[..., tuple[Plant, System]]:
    """Return a maker of box_pushing's plant with the box at rest on the ground, the pusher away from it."""

    def make(engine: str, **perturbation: float) -> tuple[Plant, System]:
        system = named_system("box_pushing")
        plant = make_plant(engine, system, "position", PlantPerturbation(**perturbation), gravity_compensation=True)
        q = system.q_default.copy()
        q[6:] = [0.15 * perturbation.get("size_scale", 1.0), -0.3, 0.0, 0.05]
        plant.reset(q)
        for _ in range(round(SETTLE_S * 1000)):
            plant.step(q[7:])
        return plant, system

    return make


@pytest.mark.parametrize("engine", ENGINES)
def test_box_stands_on_its_four_corners_and_they_carry_its_weight(engine: str, on_the_ground: Callable) -> None:
    plant, system = on_the_ground(engine)
    state = plant.state()
    weight = system.tree.mass[0] * 9.81
    assert len(state.contacts) == 4
    np.testing.assert_allclose(state.contacts[:, 3:6].sum(axis=0), [0.0, 0.0, weight], atol=FORCE_TOLERANCE * weight)
    corners = np.abs(state.contacts[:, :2] - state.q[4:6])
    np.testing.assert_allclose(corners, np.tile([0.15, 0.2], (4, 1)), atol=1e-3)
    assert np.linalg.norm(state.q[1:4]) < LEVEL_RAD


@pytest.mark.parametrize("engine", ENGINES)
def test_larger_box_stands_higher(engine: str, on_the_ground: Callable) -> None:
    heights = [on_the_ground(engine, size_scale=scale)[0].state().q[6] for scale in (1.0, 1.1)]
    assert heights[1] - heights[0] == pytest.approx(0.015, abs=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("share", "moves"), [(0.8, False), (1.3, True)])
def test_pushed_box_slides_above_the_friction_force_alone(
    engine: str, share: float, moves: bool, on_the_ground: Callable
) -> None:
    """The pusher's spring presses with a share of mu m g at 0.05 m height, where the box does not tip."""
    plant, system = on_the_ground(engine)
    contact_x = plant.state().q[4] - 0.15 - 0.03
    push_m = share * 0.6 * system.tree.mass[0] * 9.81 / system.kp[0]
    x_start = plant.state().q[4]
    for x in np.linspace(contact_x - 0.005, contact_x + push_m, 1500):  # slowly: no impact
        plant.step(np.array([x, 0.0, 0.05]))
    moved = plant.state().q[4] - x_start
    assert (moved > 10.0 * CREEP_M) if moves else (abs(moved) < CREEP_M)


@pytest.mark.parametrize("engine", ENGINES)
def test_robot_passes_through_the_ground(engine: str, on_the_ground: Callable) -> None:
    plant, _ = on_the_ground(engine)
    for _ in range(400):
        plant.step(np.array([-0.3, 0.0, -0.1]))
    assert plant.state().q[9] == pytest.approx(-0.1, abs=1e-3)
