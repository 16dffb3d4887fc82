"""Small systems that the plant tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system

TABLE = """<robot name="table">
  <link name="top"><collision><origin xyz="0 0 -0.1"/><geometry><box size="40 2 0.2"/></geometry></collision></link>
  <joint name="knob_turn" type="revolute"><parent link="top"/><child link="knob"/><origin xyz="0 0 -1"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="2" velocity="5"/></joint>
  <link name="knob"><inertial><origin xyz="0.1 0 0"/><mass value="0.2"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""
SLIDER = """<robot name="slider">
  <link name="origin"/>
  <joint name="slide_x" type="prismatic"><parent link="origin"/><child link="carriage"/><axis xyz="1 0 0"/>
    <limit lower="-20" upper="20" effort="0" velocity="10"/></joint>
  <link name="carriage"><inertial><mass value="1e-6"/>
    <inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide_z" type="prismatic"><parent link="carriage"/><child link="slider"/><axis xyz="0 0 1"/>
    <limit lower="-20" upper="20" effort="0" velocity="10"/></joint>
  <link name="slider"><inertial><mass value="1"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
</robot>"""
YAML = """name: table_system
gravity_m_s2: [{gravity}]
friction: {{default: 0.5, pairs: []}}
robots:
  - {{name: table, urdf: table.urdf, joint_stiffness_nm_per_rad: 10.0, joint_damping_nms_per_rad: 0.3,
     joint_reflected_inertia_kg_m2: 1.0e-3}}
objects:
  - {{name: thing, urdf: {urdf}, mobility: {mobility}, position_m: [0.0, 0.0, {height}], rpy_rad: [0.0, 0.0, 0.0]}}
"""


@pytest.fixture
def make_table(tmp_path: Path) -> Callable[..., System]:
    """Return a builder of a table (mu 0.5) with a ball of 0.1 kg or a slider of 1 kg that cannot roll on it."""

    def make(thing: str, gravity: tuple[float, float, float], height: float) -> System:
        (tmp_path / "table.urdf").write_text(TABLE)
        (tmp_path / "slider.urdf").write_text(SLIDER)
        mobility = {"ball": "free", "slider": "jointed"}[thing]
        text = YAML.format(gravity=", ".join(map(str, gravity)), urdf=f"{thing}.urdf", mobility=mobility, height=height)
        (tmp_path / "table.yaml").write_text(text)
        return load_system(tmp_path / "table.yaml")

    return make


@pytest.fixture(scope="session")
def allegro() -> System:
    return load_system("allegro_ball")


@pytest.fixture(scope="session")
def planar() -> System:
    return load_system("planar_hand_ball")
