"""The URDFs: valid masses, data sheet limits, kinematics of the public description, one reading by every parser."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from contact_mpc.model.system import System
from contact_mpc.model.urdf import read_urdf
from contact_mpc.settings.resources import resource

URDFS = (
    "allegro_right",
    "ball",
    "planar_hand",
    "disc",
    "box_1m",
    "pusher_xy",
    "lbr_iiwa7",
    "lbr_iiwa14",
    "lbr_iiwa7_planar",
    "box_xl",
    "cylinder_planar",
    "handle_door",
    "plate",
    "pen",
)
FINGERS = ("index", "middle", "ring", "thumb")
# Position limits, rad: Wonik's allegro_hand_linux_v4 description, joints 0..3 of a finger and 12..15 of the thumb.
FINGER_LIMITS_RAD = ((-0.47, 0.47), (-0.196, 1.61), (-0.174, 1.709), (-0.227, 1.618))
THUMB_LIMITS_RAD = ((0.263, 1.396), (-0.105, 1.163), (-0.189, 1.644), (-0.162, 1.719))
# Effort and velocity: Wonik's data sheet, 0.70 N m and 0.11 s per 60 degrees (rounded to 0.01 rad/s in the URDF).
EFFORT_NM, VELOCITY_RAD_S = 0.70, np.deg2rad(60.0) / 0.11
PUBLIC_URDF = "robots/allegro_hand_description/urdf/allegro_right_hand.urdf"
# KUKA's data sheet: range, deg; velocity, deg/s; torque, N m, of A1..A7; mass, kg; height of the flange at q = 0, m.
IIWA_RANGE_DEG = (170, 120, 170, 120, 170, 120, 175)
IIWA = {
    "lbr_iiwa7": ((98, 98, 100, 130, 140, 180, 180), (176, 176, 110, 110, 110, 40, 40), 23.9, 1.266),
    "lbr_iiwa14": ((85, 85, 100, 75, 130, 135, 135), (320, 320, 176, 176, 110, 40, 40), 29.9, 1.306),
}
# A grasp of a ball of 0.06 m, world frame: middle, ring and thumb touch it.
GRASP_RAD = {
    "index": (0.0242, 0.473, 0.047, 0.1574),
    "middle": (-0.1284, 0.1467, 0.5347, 0.2768),
    "ring": (0.0261, 0.3587, 0.572, 0.5242),
    "thumb": (0.9559, 0.4831, 0.6822, 1.0872),
}
TIP_RADIUS_M, BALL_RADIUS_M = 0.012, 0.06


def public_urdf() -> Path | None:
    try:
        files = distribution("example-robot-data").files or []
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if str(file).endswith(PUBLIC_URDF)]
    return found[0] if found else None


@pytest.mark.parametrize("name", URDFS)
def test_every_link_with_mass_has_an_inertia_that_a_body_can_have(name: str) -> None:
    for link in read_urdf(resource("urdf", name)).links.values():
        if link.mass > 0.0:
            principal = np.linalg.eigvalsh(link.inertia)
            assert principal[0] > 0.0, link.name
            assert principal[0] + principal[1] >= principal[2] * (1.0 - 1e-6), link.name


def test_inertias_of_the_hand_are_those_of_bodies_no_larger_than_its_links() -> None:
    for link in read_urdf(resource("urdf", "allegro_right")).links.values():
        radius_of_gyration = np.sqrt(np.linalg.eigvalsh(link.inertia)[-1] / link.mass)
        assert radius_of_gyration < 0.05, link.name


def test_hand_has_the_public_masses() -> None:
    urdf = read_urdf(resource("urdf", "allegro_right"))
    total = sum(link.mass for link in urdf.links.values())
    assert total == pytest.approx(0.4154 + 3 * 0.1388 + 0.1231, abs=1e-9)


def test_ball_and_disc_are_uniform_solid_spheres() -> None:
    ball = read_urdf(resource("urdf", "ball")).links["ball"]
    disc = read_urdf(resource("urdf", "disc")).links["disc"]
    np.testing.assert_allclose(ball.inertia, 0.4 * 0.1 * 0.06**2 * np.eye(3), rtol=1e-6)
    np.testing.assert_allclose(disc.inertia, 0.4 * 1.0 * 0.25**2 * np.eye(3), rtol=1e-6)


@pytest.mark.parametrize("finger", FINGERS)
def test_hand_limits_are_those_of_the_data_sheet(finger: str) -> None:
    joints = {joint.name: joint for joint in read_urdf(resource("urdf", "allegro_right")).joints}
    table = THUMB_LIMITS_RAD if finger == "thumb" else FINGER_LIMITS_RAD
    for index, (lower, upper) in enumerate(table):
        joint = joints[f"{finger}_{index}"]
        assert (joint.lower, joint.upper, joint.effort) == (lower, upper, EFFORT_NM)
        assert joint.velocity == pytest.approx(VELOCITY_RAD_S, abs=5e-3)


@pytest.mark.parametrize("name", IIWA)
def test_arm_is_that_of_the_data_sheet(name: str) -> None:
    velocities, torques, mass, height = IIWA[name]
    urdf = read_urdf(resource("urdf", name))
    joints = [joint for joint in urdf.joints if joint.kind != "fixed"]
    assert [joint.name for joint in joints] == [f"A{k}" for k in range(1, 8)]
    np.testing.assert_allclose([joint.upper for joint in joints], np.deg2rad(IIWA_RANGE_DEG), atol=1e-6)
    np.testing.assert_array_equal([joint.lower for joint in joints], [-joint.upper for joint in joints])
    np.testing.assert_allclose([joint.velocity for joint in joints], np.deg2rad(velocities), atol=1e-6)
    assert [joint.effort for joint in joints] == list(torques)
    assert sum(link.mass for link in urdf.links.values()) == pytest.approx(mass, abs=0.01)
    model = pinocchio.buildModelFromUrdf(str(urdf.path))
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, np.zeros(model.nq))
    np.testing.assert_allclose(data.oMf[model.getFrameId("flange")].translation, [0.0, 0.0, height], atol=1e-9)


def test_planar_arm_is_the_arm_with_four_joints_welded() -> None:
    full, planar = (pinocchio.buildModelFromUrdf(str(resource("urdf", n))) for n in ("lbr_iiwa7", "lbr_iiwa7_planar"))
    data_full, data_planar = full.createData(), planar.createData()
    for seed in range(5):
        q = np.random.default_rng(seed).uniform(-2.0, 2.0, 3)
        pinocchio.framesForwardKinematics(planar, data_planar, q)
        q_full = np.array([q[0], np.pi / 2.0, np.pi / 2.0, q[1], 0.0, q[2], 0.0])
        pinocchio.framesForwardKinematics(full, data_full, q_full)
        for link in ("link_4", "link_6", "flange"):
            X_full, X_planar = data_full.oMf[full.getFrameId(link)], data_planar.oMf[planar.getFrameId(link)]
            np.testing.assert_allclose(X_planar.homogeneous, X_full.homogeneous, atol=1e-12)
        assert data_planar.oMf[planar.getFrameId("link_4")].translation[2] == pytest.approx(0.34 + 0.0105)


@pytest.mark.parametrize("name", ["lbr_iiwa7", "lbr_iiwa14"])
def test_spheres_of_the_arm_join_link_to_link_and_leave_the_others_apart(name: str) -> None:
    """In the upright arm the spheres of neighbours leave no hole for an object to enter; others do not touch."""
    model = pinocchio.buildModelFromUrdf(str(resource("urdf", name)))
    shapes = pinocchio.buildGeomFromUrdf(model, str(resource("urdf", name)), pinocchio.GeometryType.COLLISION)
    data, geometry = model.createData(), shapes.createData()
    pinocchio.updateGeometryPlacements(model, data, shapes, geometry, np.zeros(model.nq))
    link = np.array([int(item.name.split("_")[1]) for item in shapes.geometryObjects])
    centre = np.array([placement.translation for placement in geometry.oMg])
    radius = np.array([item.geometry.radius for item in shapes.geometryObjects])
    gap = np.linalg.norm(centre[:, None] - centre[None], axis=2) - radius[:, None] - radius[None]
    for a in range(8):
        assert a == 7 or gap[np.ix_(link == a, link == a + 1)].min() < 0.02
        for b in range(a + 2, 8):
            assert gap[np.ix_(link == a, link == b)].min() > 0.0, (a, b)


def test_pinocchio_reads_all_21_shapes_of_the_hand_in_the_same_joint_order(allegro: System) -> None:
    path = str(resource("urdf", "allegro_right"))
    model = pinocchio.buildModelFromUrdf(path)
    shapes = pinocchio.buildGeomFromUrdf(model, path, pinocchio.GeometryType.COLLISION)
    assert shapes.ngeoms == 21
    assert tuple(model.names)[1:] == allegro.joint_names


def test_hand_has_the_frames_of_the_public_description() -> None:
    path = public_urdf()
    if path is None:
        pytest.skip("example-robot-data is not installed: pip install example-robot-data compares with it")
    ours = pinocchio.buildModelFromUrdf(str(resource("urdf", "allegro_right")))
    public = pinocchio.buildModelFromUrdf(str(path))
    names = {f"{f}_{k}": f"joint_{4 * i + k}.0" for i, f in enumerate(FINGERS) for k in range(4)}
    frames = {f"{f}_tip": f"link_{4 * i + 3}.0_tip" for i, f in enumerate(FINGERS)}
    frames |= {f"{f}_link_{k}": f"link_{4 * i + k}.0" for i, f in enumerate(FINGERS) for k in range(4)}
    data_ours, data_public = ours.createData(), public.createData()
    for seed in range(20):
        values = np.random.default_rng(seed).uniform(-1.0, 1.0, len(names))
        q_ours, q_public = np.zeros(ours.nq), np.zeros(public.nq)
        for value, (name, public_name) in zip(values, names.items(), strict=True):
            q_ours[ours.joints[ours.getJointId(name)].idx_q] = value
            q_public[public.joints[public.getJointId(public_name)].idx_q] = value
        pinocchio.framesForwardKinematics(ours, data_ours, q_ours)
        pinocchio.framesForwardKinematics(public, data_public, q_public)
        for name, public_name in frames.items():
            X_ours = data_ours.oMf[ours.getFrameId(name)].homogeneous
            X_public = data_public.oMf[public.getFrameId(public_name)].homogeneous
            np.testing.assert_allclose(X_ours, X_public, atol=1e-12)


def test_known_grasp_touches_the_ball_with_middle_ring_and_thumb(allegro: System) -> None:
    model = pinocchio.buildModelFromUrdf(str(resource("urdf", "allegro_right")))
    data = model.createData()
    q_a = np.array([GRASP_RAD[name.split("_")[0]][int(name[-1])] for name in allegro.joint_names])
    pinocchio.framesForwardKinematics(model, data, q_a)
    p_WB = np.array(allegro.config.objects[0].position_m)
    R_WR = pinocchio.rpy.rpyToMatrix(*allegro.config.robots[0].base_rpy_rad)
    for finger in ("middle", "ring", "thumb"):
        p_WT = R_WR @ data.oMf[model.getFrameId(f"{finger}_tip")].translation
        gap = np.linalg.norm(p_WT - p_WB) - TIP_RADIUS_M - BALL_RADIUS_M
        assert abs(gap) < 0.5e-3, finger
