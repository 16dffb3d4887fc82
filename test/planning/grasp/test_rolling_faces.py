"""Rolling of faces: which of the points of two shapes touch changes on the way."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.geometry.fingers import touching_rows
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.grasp import rolling
from contact_mpc.planning.grasp.balance import Grasp
from contact_mpc.planning.grasp.scene import make_scene

TIP_M, CUBE_M, GAP_M = 0.02, 0.1, 3e-4
TIPS = {"mesh": '<mesh filename="tip.obj"/>', "box": f'<box size="{TIP_M} {TIP_M} {TIP_M}"/>'}
SYSTEM = """name: face
friction: {default: 0.5}
robots: [{name: finger, urdf: finger.urdf, joint_stiffness_nm_per_rad: 100.0, joint_damping_nms_per_rad: 1.0}]
objects: [{name: cube, urdf: cube.urdf, mobility: free}]
"""
INERTIAL = '<inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'


def cube_mesh(side_m: float) -> str:
    half = 0.5 * side_m
    corners = [(x, y, z) for x in (-half, half) for y in (-half, half) for z in (-half, half)]
    faces = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    return "\n".join([*lines, *(f"f {a} {b} {c}\nf {a} {c} {d}" for a, b, c, d in faces), ""])


@pytest.fixture(params=TIPS)
def flat_finger(tmp_path: Path, request: pytest.FixtureRequest) -> System:
    """A cube, and a finger that slides along three axes and ends in a smaller cube, flat on its face.

    Of a mesh the points are one pair of shapes, of a box those of its corners and edges are several.
    """
    (tmp_path / "tip.obj").write_text(cube_mesh(TIP_M))
    (tmp_path / "cube.urdf").write_text(
        f'<robot name="cube"><link name="cube">{INERTIAL}<collision><geometry><box size="{CUBE_M} {CUBE_M} {CUBE_M}"/>'
        "</geometry></collision></link></robot>"
    )
    links, joints = '<link name="base"/>', ""
    for i, axis in enumerate(("1 0 0", "0 1 0", "0 0 1")):
        tip = f"<collision><geometry>{TIPS[request.param]}</geometry></collision>" if i == 2 else ""
        links += f'<link name="link_{i}">{INERTIAL}{tip}</link>'
        parent = "base" if i == 0 else f"link_{i - 1}"
        joints += (
            f'<joint name="slide_{i}" type="prismatic"><parent link="{parent}"/><child link="link_{i}"/>'
            f'<axis xyz="{axis}"/><limit lower="-1" upper="1" effort="100" velocity="1"/></joint>'
        )
    (tmp_path / "finger.urdf").write_text(f'<robot name="finger">{links}{joints}</robot>')
    (tmp_path / "face.yaml").write_text(SYSTEM)
    return load_system(tmp_path / "face.yaml")


@pytest.mark.parametrize("turn_deg", [-6.0, 6.0])
def test_a_finger_rolls_on_from_its_face_to_an_edge(
    flat_finger: System, monkeypatch: pytest.MonkeyPatch, turn_deg: float
) -> None:
    """Flat on the cube all four corners touch; turned, two leave it, and the others keep the gap, whichever it had.

    One substep is late: it turns by 0.1 deg, a corner's lever is 10 mm.
    """
    system, scene = flat_finger, make_scene(flat_finger)
    q = np.array([1.0, 0, 0, 0, 0, 0, 0, 0.5 * (CUBE_M + TIP_M) + GAP_M, 0, 0])
    rolling.prepare_step(scene.model, scene.newton, q, q[7:].copy(), np.zeros(len(scene.model.mu)))
    corners = np.flatnonzero(scene.newton.con.phi < 2.0 * GAP_M)
    assert len(corners) >= 4
    held = Grasp(True, corners[:1], np.ones(1), np.ones(1), q[7:])
    monkeypatch.setattr(rolling, "compute_grasp", lambda *_args, **_options: held)
    angles = np.deg2rad(np.linspace(0.0, turn_deg, 13))
    path = np.stack([np.cos(angles / 2), *np.zeros((2, 13)), np.sin(angles / 2), *np.zeros((3, 13))], axis=1)
    for corner in corners:
        rolled = rolling.roll_along(system, q, path, np.array([corner]), 1.0, 0.5, scene=scene)
        assert rolled.is_complete, rolled.reason
        for row in rolled.q:
            rolling.prepare_step(scene.model, scene.newton, row, row[7:].copy(), np.zeros(len(scene.model.mu)))
            assert scene.newton.con.phi.min() == pytest.approx(GAP_M, abs=1e-4)


def test_rows_of_other_links_never_take_over() -> None:
    links, gaps = np.array([0, 0, 1, 1]), np.array([0.3, np.inf, 0.2, 0.1])
    assert touching_rows(links, gaps, np.array([1, 2])).tolist() == [0, 3]


def test_rows_that_are_as_near_stay() -> None:
    np.testing.assert_array_equal(touching_rows(np.zeros(4, dtype=np.int64), np.ones(4), np.arange(4)), np.arange(4))
