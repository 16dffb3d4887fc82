"""Contact forces from joint torques, against those that the physics engine of the plant computes."""

import numpy as np
import pytest

from contact_mpc.estimation.contact_estimate import ContactEstimate, ContactEstimator
from contact_mpc.loop.holding_effort import HoldingController
from contact_mpc.plants.common.plant import PlantState
from contact_mpc.plants.registry import make_plant
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.task import load_task

TASK = load_task("allegro_ball")
SYSTEM = TASK.system
SETTLING_STEPS = 1500  # of 1 ms
FORCE_TOLERANCE_N = 1e-3  # the plant still creeps at 2e-4 rad/s, and the least squares are regularised
REACH_M = 4e-3


@pytest.fixture(scope="module", params=["drake", "mujoco"])
def held(request: pytest.FixtureRequest) -> PlantState:
    """The ball at rest in the hand."""
    pytest.importorskip({"drake": "pydrake"}.get(request.param, request.param))
    plant = make_plant(request.param, SYSTEM, gravity_compensation=False)
    plant.reset(TASK.start_q)
    controller = HoldingController(SYSTEM, TASK, "bridge")
    for _ in range(SETTLING_STEPS):
        state = plant.state(with_contacts=False)
        plant.step(controller.effort(state.q, state.v))
    return plant.state()


def estimate(state: PlantState, tau: np.ndarray) -> ContactEstimate:
    covariance = np.zeros((SYSTEM.n_v_u, SYSTEM.n_v_u))
    return ContactEstimator(SYSTEM, REACH_M).estimate(EstimatedState(0, state.q, state.v, tau, covariance))


def test_forces_from_torques_are_those_of_the_engine(held: PlantState) -> None:
    """The plant's rows are point, force on the object, depth."""
    found = estimate(held, held.tau_applied)
    assert found.forces is not None
    assert len(held.contacts) == len(found.contacts) == 4
    for point, force in zip(found.points, found.forces, strict=True):
        nearest = min(held.contacts, key=lambda row: float(np.linalg.norm(row[:3] - point)))
        np.testing.assert_allclose(point, nearest[:3], atol=1e-3)
        np.testing.assert_allclose(force, nearest[3:6], atol=FORCE_TOLERANCE_N)


def test_forces_carry_the_object(held: PlantState) -> None:
    forces = estimate(held, held.tau_applied).forces
    assert forces is not None
    weight_n = -SYSTEM.tree.mass[0] * np.array(SYSTEM.config.gravity_m_s2)
    np.testing.assert_allclose(forces.sum(axis=0), weight_n, atol=FORCE_TOLERANCE_N)


def test_without_torques_there_are_contacts_and_no_forces(held: PlantState) -> None:
    found = estimate(held, np.full(SYSTEM.n_a, np.nan))
    assert found.forces is None and len(found.points) == 4
