"""The systems of the papers: published parameters, bodies apart at the start, a step by every formulation, plants."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.model.system import System
from contact_mpc.plants.registry import make_plant


class Published(NamedTuple):
    """Parameters of one system: joints, stiffness (N m/rad or N/m), object's mass (kg), mu, gravity (m/s^2), h (s)."""

    n_a: int
    n_v_u: int
    stiffness: tuple[float, ...]
    mass_kg: float
    mu: float
    gravity_m_s2: float
    h_s: float


# Pang, Suh, Yang, Tedrake 2023 and the public files of quasistatic_simulator.
PUBLISHED = {
    "planar_pushing": Published(2, 3, (100.0,) * 2, 5.0, 0.667, 0.0, 0.1),
    "iiwa_bimanual_box": Published(14, 6, (800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0) * 2, 1.0, 0.5, 9.8, 0.05),
    "iiwa_planar_bimanual_cylinder": Published(6, 3, (800.0, 600.0, 200.0) * 2, 1.0, 0.5, 9.8, 0.05),
    "allegro_door": Published(19, 2, (100.0,) * 19, 0.4, 1.0, 0.0, 0.05),
    "allegro_plate": Published(19, 6, (100.0,) * 19, 0.1, 0.5, 9.8, 0.1),
    "allegro_pen": Published(19, 6, (100.0,) * 19, 0.1, 1.0, 9.8, 0.1),
}
CARRIAGES_KG = 1e-5  # of the bodies between the joints of planar objects
STEP_RAD = 0.02  # of the commands from the default configuration, rad or m
REST_S, REST_RAD = 0.05, 2e-3  # springs hold every robot within that in a plant


def object_mass(system: System) -> float:
    owners = {body for (owner, _), (body, _) in system.links.items() if owner in system.object_names and body >= 0}
    return float(system.tree.mass[sorted(owners)].sum())


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_the_published_ones(name: str, named_system: Callable[[str], System]) -> None:
    system, table = named_system(name), PUBLISHED[name]
    assert (system.n_a, system.n_v_u) == (table.n_a, table.n_v_u)
    np.testing.assert_array_equal(system.kp, table.stiffness)
    assert object_mass(system) == pytest.approx(table.mass_kg, abs=CARRIAGES_KG)
    assert system.config.friction.default == table.mu
    assert np.linalg.norm(system.config.gravity_m_s2) == pytest.approx(table.gravity_m_s2)
    assert system.config.h_s == table.h_s


@pytest.mark.parametrize("name", PUBLISHED)
def test_nothing_overlaps_in_the_default_configuration(name: str, named_system: Callable[[str], System]) -> None:
    system = named_system(name)
    step = ContactDynamics(system).step(system.q_default, system.q_default[system.n_q_u :])
    assert step.gaps.min() >= 0.0, system.geometries[system.contacts[int(step.gaps.argmin())].geometry_b].link


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", PUBLISHED)
def test_every_formulation_steps_from_the_default_configuration(
    name: str, formulation: str, named_system: Callable[[str], System]
) -> None:
    """After small random commands no gap is below the error of its linearisation."""
    system = named_system(name)
    dynamics = ContactDynamics(system, formulation=formulation)
    rng = np.random.default_rng(0)
    q = system.q_default
    u = np.clip(q[system.n_q_u :] + rng.uniform(-STEP_RAD, STEP_RAD, system.n_a), system.q_min, system.q_max)
    step = dynamics.step(q, u)
    assert step.is_converged, step.status
    assert dynamics.step(step.q_next, u).gaps.min() > -1e-3


@pytest.mark.parametrize("engine", ["drake", "mujoco"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_plants_hold_the_robots_at_rest(name: str, engine: str, named_system: Callable[[str], System]) -> None:
    system = named_system(name)
    plant = make_plant(engine, system, "position", None, gravity_compensation=True)
    plant.reset(system.q_default)
    held = system.q_default[system.n_q_u :]
    for _ in range(round(REST_S * 1000)):
        plant.step(held)
    np.testing.assert_allclose(plant.state().q[system.n_q_u :], held, atol=REST_RAD)
