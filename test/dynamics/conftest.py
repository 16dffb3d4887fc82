"""Random states of contact."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from held_tasks import held_task

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.random_states import draw_states
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system

TEST_SYSTEMS = Path(__file__).resolve().parents[1] / "systems"


@pytest.fixture(scope="session")
def random_states() -> Callable[..., list[tuple[np.ndarray, np.ndarray]]]:
    """Return a generator of states (q, u) of a system, with the object in reach of the robot and turned at random."""

    def draw(
        dynamics: ContactDynamics, count: int, gap: tuple[float, float], seed: int, deepest: float = 3e-3
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        system, rng = dynamics.system, np.random.default_rng(seed)
        if system.path.is_relative_to(TEST_SYSTEMS):
            return draw_states(dynamics, system.q_default, 0.3, count, gap, rng, False, deepest)
        return draw_states(dynamics, held_task(system.name).start_q, 0.01, count, gap, rng, True, deepest)

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
