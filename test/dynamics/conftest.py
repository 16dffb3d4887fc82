"""Random states of contact."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.newton import make_newton, prepare_step
from contact_mpc.model.system import System, load_system
from contact_mpc.model.task import load_task

TEST_SYSTEMS = Path(__file__).resolve().parents[1] / "systems"


def _usual_q(system: System, rng: np.random.Generator) -> np.ndarray:
    """A posture with the object in reach of the robot, turned at random."""
    if system.path.is_relative_to(TEST_SYSTEMS):
        return system.integrate(system.q_default, rng.normal(0.0, 0.3, system.n_v))
    q = system.integrate(load_task(system.name).start_q, rng.normal(0.0, 0.01, system.n_v))
    if system.config.objects[0].mobility == "free":
        quaternion = rng.normal(size=4)
        q[:4] = quaternion / np.linalg.norm(quaternion)
    return q


def _bring_to_gap(system: System, q: np.ndarray, c: int, gap: float) -> np.ndarray:
    """Move along the contact Jacobian until pair c has this gap."""
    model = build_model(system)
    ws = make_newton(model)
    for _ in range(20):
        prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
        row = np.zeros(system.n_v)
        count = model.pairs.dof_count[c]
        row[model.pairs.dofs[c, :count]] = ws.con.J[c, :count] @ ws.con.n[c]
        step = row * (gap - ws.con.phi[c]) / (row @ row)
        q = system.integrate(q, step * min(1.0, 0.2 / max(np.abs(step).max(), 1e-12)))
        if abs(gap - ws.con.phi[c]) < 1e-12:
            break
    return q


@pytest.fixture(scope="session")
def random_states() -> Callable[..., list[tuple[np.ndarray, np.ndarray]]]:
    """Return a generator of states (q, u) of a system, one pair brought to a gap, none deeper than that allows.

    At most `deepest` m of penetration in any pair, and a step that has a solution.
    """

    def draw(
        dynamics: ContactDynamics, count: int, gap: tuple[float, float], seed: int, deepest: float = 3e-3
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        system, rng, found = dynamics.system, np.random.default_rng(seed), []
        for _ in range(200 * count):
            c = int(rng.integers(len(dynamics.model.mu)))
            q = _bring_to_gap(system, _usual_q(system, rng), c, rng.uniform(*gap))
            u = q[system.n_q_u :] + rng.normal(0.0, 0.02, system.n_a)
            result = dynamics.step(q, u)
            if result.gaps.min() > -deepest - 1e-9 and gap[0] - 1e-9 <= result.gaps[c] <= gap[1] + 1e-9:
                if result.is_converged:
                    found.append((q, u))
            if len(found) == count:
                return found
        raise AssertionError(f"only {len(found)} of {count} states of {system.name} found")

    return draw


@pytest.fixture(scope="session")
def narrow_slot(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Return a ball of radius 0.06 m between two fixed walls 0.115 m apart."""
    folder = tmp_path_factory.mktemp("narrow_slot")
    wall = '<collision><origin xyz="0 {y} 0"/><geometry><box size="1 0.1 1"/></geometry></collision>'
    (folder / "walls.urdf").write_text(
        f'<robot name="walls"><link name="base">{wall.format(y=0.1075)}{wall.format(y=-0.1075)}</link>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="tip"/><origin xyz="0 0 1"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="5"/></joint>'
        '<link name="tip"><collision><geometry><sphere radius="0.01"/></geometry></collision></link></robot>'
    )
    (folder / "slot.yaml").write_text(
        "name: slot\nfriction: {default: 0.5}\n"
        "robots: [{name: walls, urdf: walls.urdf, joint_stiffness_nm_per_rad: 1.0, joint_damping_nms_per_rad: 1.0}]\n"
        "objects: [{name: ball, urdf: ball.urdf, mobility: free}]\n"
    )
    return load_system(folder / "slot.yaml")
