"""Bodies at rest on redundant contacts: they stay, in every exact formulation, whatever round-off their gaps have."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.cli.bench.dynamics.named_states import load_press
from contact_mpc.model.system import System

EXACT = ("socp", "qp", "lcp")
CENTRE_M = np.array([0.0475, 0.0, 0.0411])  # of the cube, lying on the palm
STEPS, STAYS_M = 10, 2e-6  # the gaps at the start are up to 1 um


@pytest.fixture
def press(tmp_path: Path) -> System:
    """Return a cube of 0.06 m on the ground and a plate above it on a vertical slide."""
    return load_press(tmp_path)


@pytest.mark.parametrize("formulation", EXACT)
def test_cube_on_the_palm_stays(formulation: str, named_system: Callable) -> None:
    system, rng = named_system("allegro_cube"), np.random.default_rng(0)
    dynamics = ContactDynamics(system, formulation, regularization="quasidynamic")
    for gap in (0.0, 0.0, 1e-13, 1e-12, 1e-9, 1e-6):
        start = system.q_default.copy()
        start[system.n_q_u :] = 0.0
        start[:7] = [1.0, 0.0, 0.0, 0.0, *CENTRE_M + [*rng.uniform(-4e-3, 4e-3, 2), gap]]
        q = start
        for _ in range(STEPS):
            result = dynamics.step(q, start[system.n_q_u :])
            assert result.is_converged, result.status
            q = result.q_next
        assert np.abs(system.difference(start, q)[:6]).max() <= STAYS_M


@pytest.mark.parametrize("regularization", ["quasistatic", "quasidynamic"])
@pytest.mark.parametrize("formulation", EXACT)
def test_cube_under_a_plate_stays_and_carries_its_load(formulation: str, regularization: str, press: System) -> None:
    """Eight corners and more hold it: forces are not unique, but the plate's are 2000 N/m times 1 mm in sum."""
    dynamics, rng = ContactDynamics(press, formulation, regularization=regularization), np.random.default_rng(1)
    for _ in range(4):
        yaw = rng.uniform(-np.pi, np.pi)
        start = press.q_default.copy()
        start[:4] = [np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)]
        start[4:7] = [*rng.uniform(-0.03, 0.03, 2), 0.03]
        start[7] = 0.06
        q = start
        for _ in range(3):
            result = dynamics.step(q, np.array([0.059]))
            assert result.is_converged, result.status
            q = result.q_next
        assert np.abs(press.difference(start, q)).max() <= STAYS_M
        total = result.impulses.sum(axis=0) / dynamics.h_s
        np.testing.assert_allclose(total, [0.0, 0.0, 0.1 * 9.81], atol=1e-3)
        assert np.abs(result.impulses[:, 2]).sum() / dynamics.h_s == pytest.approx(2.0 * 2.0 + 0.981, rel=1e-2)
