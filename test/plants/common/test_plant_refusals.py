"""Meshes in the plants: their hulls are simulated, and refused where an engine does not, not left out."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings.resources import resource

TETRAHEDRON = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
WEDGE = (
    "v 0 0 0\nv 0.08 0 0\nv 0 0.05 0\nv 0.08 0.05 0\nv 0 0 0.04\nv 0 0.05 0.04\nf 1 2 3\nf 2 4 3\nf 1 3 5\nf 3 6 5\n"
    "f 1 5 2\nf 3 4 6\nf 2 5 4\nf 4 5 6\n"
)
LIFT = """name: lift
friction: {default: 0.7}
robots: [{name: arm, urdf: arm.urdf, joint_stiffness_nm_per_rad: 5000.0, joint_damping_nms_per_rad: 50.0}]
objects: [{name: thing, urdf: thing.urdf, mobility: free, position_m: [0.0, 0.0, 0.0105]}]
"""


@pytest.fixture
def with_mesh(tmp_path: Path) -> System:
    """The pushed box as a tetrahedron."""
    (tmp_path / "tetrahedron.obj").write_text(TETRAHEDRON)
    text = resource("urdf", "box").read_text()
    mesh = '<mesh filename="tetrahedron.obj"/>'
    (tmp_path / "box.urdf").write_text(text.replace('<box size="0.3 0.4 0.3"/>', mesh))
    path = tmp_path / "box_pushing.yaml"
    path.write_text(resource("systems", "box_pushing").read_text())
    return load_system(path)


def test_system_with_a_mesh_is_refused_by_gazebo_with_a_remedy(with_mesh: System) -> None:
    with pytest.raises(ModelError, match="no meshes; found box: use primitives"):
        make_plant("gazebo", with_mesh, "effort", gravity_compensation=False)


@pytest.mark.parametrize("engine", ["drake", "mujoco"])
def test_hull_that_lies_on_a_plate_is_carried_with_its_weight(engine: str, tmp_path: Path) -> None:
    pytest.importorskip({"drake": "pydrake", "mujoco": "mujoco"}[engine])
    (tmp_path / "wedge.obj").write_text(WEDGE)
    inertia = '<inertia ixx="1e-3" iyy="2e-3" izz="1.5e-3" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="0.5"/>{inertia}</inertial>'
    (tmp_path / "thing.urdf").write_text(
        f'<robot name="thing"><link name="thing">{inertial}<collision><origin xyz="-0.03 -0.025 0"/><geometry>'
        '<mesh filename="wedge.obj"/></geometry></collision></link></robot>'
    )
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm"><link name="base"/><joint name="slide" type="prismatic"><parent link="base"/>'
        '<child link="tip"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="5"/></joint>'
        f'<link name="tip">{inertial}<collision><geometry><box size="0.2 0.2 0.02"/></geometry></collision></link>'
        "</robot>"
    )
    (tmp_path / "lift.yaml").write_text(LIFT)
    plant = make_plant(engine, load_system(tmp_path / "lift.yaml"), "position", gravity_compensation=True)
    forces = []
    for _ in range(600):
        plant.step(np.zeros(1))
        contacts = plant.state().contacts
        forces.append(contacts[:, 5].sum() if len(contacts) else 0.0)
    assert np.mean(forces[300:]) == pytest.approx(0.5 * 9.81, rel=0.02)
