"""Systems: index maps, kinematics and masses against pinocchio, tangent space, clear refusals of wrong files."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.errors import ConfigError, InputError, ModelError
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import Pose
from contact_mpc.settings.resources import resource

ROUND_OFF = 1e-12


@functools.cache
def load_system_once(name: str) -> System:
    return load_system(name)


def random_q(system: System, seed: int) -> np.ndarray:
    return system.integrate(system.q_default, np.random.default_rng(seed).normal(0.0, 0.6, system.n_v))


def pose_of_link(system: System, q: np.ndarray, owner: str, link: str) -> Pose:
    body, X_BL = system.links[owner, link]
    R, p = forward_kinematics(system.tree, q)
    return X_BL if body < 0 else Pose(R[body], p[body]) @ X_BL


def pinocchio_state(system: System, owner: str, urdf: str, q: np.ndarray) -> tuple:
    """Return pinocchio's model, data and configuration of one URDF of the system, its root at the world's origin."""
    item = next(item for item in system.config.objects + system.config.robots if item.name == owner)
    is_free = getattr(item, "mobility", "") == "free"
    root = [pinocchio.JointModelFreeFlyer()] if is_free else []
    model = pinocchio.buildModelFromUrdf(str(resource("urdf", urdf)), *root)
    if is_free:
        q_pin = np.concatenate([q[4:7], q[1:4], q[:1]])
    else:
        names = [joint.name for joint in system.urdfs[owner].joints if joint.kind != "fixed"]
        own = q[: system.n_q_u] if item in system.config.objects else q[system.n_q_u :]
        q_pin = np.zeros(model.nq)
        for name, value in zip(names, own, strict=True):
            q_pin[model.joints[model.getJointId(name)].idx_q] = value
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q_pin)
    return model, data, q_pin


PARTS = [
    ("allegro_ball", "allegro", "allegro_right"),
    ("allegro_ball", "ball", "ball"),
    ("allegro_cube", "cube", "cube"),
    ("planar_hand_ball", "planar_hand", "planar_hand"),
    ("planar_hand_ball", "disc", "disc"),
]


@pytest.mark.parametrize(("name", "owner", "urdf"), PARTS)
def test_every_link_is_where_pinocchio_has_it(name: str, owner: str, urdf: str) -> None:
    system = load_system(name)
    base = {item.name: Pose(np.eye(3), np.zeros(3)) for item in system.config.objects}
    for robot in system.config.robots:
        base[robot.name] = pose_of_link(system, system.q_default, robot.name, system.urdfs[robot.name].root)
    for seed in range(5):
        q = random_q(system, seed)
        model, data, _ = pinocchio_state(system, owner, urdf, q)
        for link in system.urdfs[owner].links:
            X_RL = data.oMf[model.getFrameId(link)]
            expected, found = base[owner] @ Pose(X_RL.rotation, X_RL.translation), pose_of_link(system, q, owner, link)
            np.testing.assert_allclose(found.R, expected.R, atol=ROUND_OFF)
            np.testing.assert_allclose(found.p, expected.p, atol=ROUND_OFF)


@pytest.mark.parametrize(("name", "owner", "urdf"), PARTS)
def test_masses_and_mass_matrix_are_those_of_pinocchio(name: str, owner: str, urdf: str) -> None:
    system = load_system(name)
    model, data, q_pin = pinocchio_state(system, owner, urdf, system.q_default)
    tree, bodies = system.tree, sorted({b for (who, _), (b, _) in system.links.items() if who == owner and b >= 0})
    moving = sum(inertia.mass for inertia in list(model.inertias)[1:])
    assert tree.mass[bodies].sum() == pytest.approx(moving, rel=1e-12)
    assert data is not None and q_pin.shape == (model.nq,)
    ours = np.sort([np.trace(tree.inertia_BC[b]) for b in bodies])
    theirs = np.sort([np.trace(inertia.inertia) for inertia in list(model.inertias)[1:]])
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)


def test_a_system_shows_itself_in_a_paragraph(allegro: System) -> None:
    """It printed 750 lines of arrays."""
    shown = repr(allegro)
    assert len(shown) < 1000 and "\n" not in shown and "q[" in shown and "allegro" in shown


def test_base_of_the_hand_is_placed_as_its_file_says(allegro: System) -> None:
    palm = pose_of_link(allegro, allegro.q_default, "allegro", "palm_link")
    np.testing.assert_allclose(palm.R[:, 0], [0.0, 0.0, 1.0], atol=ROUND_OFF)  # palm up


def test_indices_put_the_objects_first(allegro: System, planar: System) -> None:
    assert (allegro.n_q, allegro.n_v, allegro.n_q_u, allegro.n_v_u, allegro.n_a) == (23, 22, 7, 6, 16)
    assert (planar.n_q, planar.n_v, planar.n_q_u, planar.n_v_u, planar.n_a) == (7, 7, 3, 3, 4)
    assert planar.joint_names == ("left_1", "left_2", "right_1", "right_2")
    assert allegro.object_names == ("ball",) and planar.object_names == ("disc",)
    np.testing.assert_array_equal(planar.kp, [50.0, 25.0, 50.0, 25.0])
    assert allegro.check_q(allegro.q_default) is not None


@pytest.mark.parametrize("name", ["allegro_ball", "planar_hand_ball"])
@given(seed=st.integers(0, 10_000), scale=st.floats(0.0, 1.5))
def test_difference_inverts_integrate(name: str, seed: int, scale: float) -> None:
    system = load_system_once(name)
    q0 = random_q(system, seed)
    dq = scale * np.random.default_rng(seed + 1).uniform(-1.0, 1.0, system.n_v)  # rotations below pi
    q1 = system.integrate(q0, dq)
    np.testing.assert_allclose(system.difference(q0, q1), dq, atol=1e-12)
    np.testing.assert_allclose(system.difference(q1, q0), -dq, atol=1e-12)


def test_free_object_is_turned_in_the_world_frame(allegro: System) -> None:
    step = np.zeros(allegro.n_v)
    step[2] = 0.4
    q = random_q(allegro, 3)
    (R0, p0), (R1, p1) = allegro.object_pose(q), allegro.object_pose(allegro.integrate(q, step))
    turn = np.array([[np.cos(0.4), -np.sin(0.4), 0.0], [np.sin(0.4), np.cos(0.4), 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(R1, turn @ R0, atol=ROUND_OFF)
    np.testing.assert_array_equal(p0, p1)


@pytest.mark.parametrize("name", ["allegro_ball", "planar_hand_ball"])
def test_configuration_is_found_from_the_pose_of_the_object(name: str) -> None:
    system = load_system(name)
    for seed in range(5):
        q = random_q(system, seed)
        q_u = system.q_from_object_pose(*system.object_pose(q), system.q_default)
        found = system.object_pose(np.concatenate([q_u, q[system.n_q_u :]]))
        np.testing.assert_allclose(found[0], system.object_pose(q)[0], atol=1e-9)
        np.testing.assert_allclose(found[1], system.object_pose(q)[1], atol=1e-9)


def test_pose_out_of_the_plane_gives_the_nearest_one_in_it(planar: System) -> None:
    R, p = planar.object_pose(random_q(planar, 2))
    q_u = planar.q_from_object_pose(R, p + np.array([0.02, 0.0, 0.0]), planar.q_default)
    found = planar.object_pose(np.concatenate([q_u, planar.q_default[planar.n_q_u :]]))[1]
    np.testing.assert_allclose(found, p, atol=1e-9)


@pytest.mark.parametrize(
    ("index", "value", "words"),
    [(0, 2.0, "unit quaternion"), (3, np.nan, "non-finite"), (9, np.inf, "[9]")],
)
def test_unusable_q_is_refused(index: int, value: float, words: str, allegro: System) -> None:
    q = allegro.q_default.copy()
    q[index] = value
    with pytest.raises(InputError) as caught:
        allegro.check_q(q)
    assert words in str(caught.value)


def test_wrong_shape_is_refused_with_the_right_one(allegro: System) -> None:
    with pytest.raises(InputError, match=r"q has shape \(22,\); expected \(23,\)"):
        allegro.check_q(np.zeros(22))
    with pytest.raises(InputError, match=r"u has shape \(3,\); expected \(16,\)"):
        allegro.check_u(np.zeros(3))


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Return a maker of copies of the planar hand's system file and URDFs with some text replaced."""

    def make(*changes: tuple[str, str], file: str = "planar_hand_ball.yaml") -> Path:
        urdfs = (resource("urdf", name) for name in ("planar_hand", "disc"))
        for source in (resource("systems", "planar_hand_ball"), *urdfs):
            text = source.read_text()
            for old, new in changes if source.name == file else ():
                assert old in text
                text = text.replace(old, new, 1)
            (tmp_path / source.name).write_text(text)
        return tmp_path / "planar_hand_ball.yaml"

    return make


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kappa_per_j:", "kapa_per_j:", ("kapa_per_j", "did you mean 'kappa_per_j'")),
        ("joint_stiffness_nm_per_rad:", "joint_stifness_nm_per_rad:", ("did you mean 'joint_stiffness_nm_per_rad'",)),
        ("default: 0.8", "defualt: 0.8", ("friction.defualt", "did you mean 'default'")),
        ("default: 0.8", "default: -0.8", ("friction.default", "-0.8", "greater than or equal to 0")),
        ("h_s: 0.1 ", "h_s: 0 ", ("h_s", "greater than 0")),
        ("h_s: 0.1 ", "h_s: fast ", ("h_s", "fast", "number")),
        ("gravity_m_s2: [0.0, 0.0, 0.0]", "gravity_m_s2: [0.0, 0.0]", ("gravity_m_s2",)),
        ("gravity_m_s2: [0.0, 0.0, 0.0]", "gravity_m_s2: [0.0, 0.0, .nan]", ("gravity_m_s2", "finite")),
        ("[50.0, 25.0, 50.0, 25.0]", "[50.0, 25.0, 50.0]", ("joint_stiffness_nm_per_rad", "3 values", "1 or 4")),
        ("[50.0, 25.0, 50.0, 25.0]", "[50.0, 0.0, 1.0, 1.0]", ("nm_per_rad.1' = 0.0: Input should be greater than 0",)),
        ("[50.0, 25.0, 50.0, 25.0]", "0.0", ("joint_stiffness_nm_per_rad' = 0.0: Input should be greater than 0",)),
        ("mobility: jointed", "mobility: floating", ("mobility", "floating", "'free' or 'jointed'")),
        ("name: disc\n", "name: planar_hand\n", ("planar_hand", "given twice")),
        ("objects:", "fixed: [{name: disc, shape: half_space}]\nobjects:", ("disc", "given twice")),
        ("objects:", "fixed: [{name: wall, shape: box, size_m: [1.0]}]\nobjects:", ("fixed.0", "3 values, found 1")),
        ("pairs: []", "pairs: [{bodies: [disc, left_link_9], mu: 1.0}]", ("friction.pairs.0", "left_link_9", "disc")),
        ("robots:", "robots: [", ("YAML",)),
        ("name: planar_hand_ball", "- a list", ("YAML",)),
        ("urdf: disc.urdf", "urdf: disk.urdf", ("disk.urdf", "disc")),
    ],
)
def test_defect_of_a_system_file_is_named(old: str, new: str, words: tuple[str, ...], changed: Callable) -> None:
    with pytest.raises(ConfigError) as caught:
        load_system(changed((old, new)))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<limit lower="-1.5708" upper="0" effort="10" velocity="5"/>', ""),
        ('upper="0" ', ""),
        ('effort="10"', 'effort="0"'),
        ('lower="-1.5708" upper="0"', 'lower="1" upper="0"'),
        ('name="left_1" type="revolute"', 'name="left_1" type="continuous"'),
    ],
)
def test_robot_joint_without_limits_is_named(old: str, new: str, changed: Callable) -> None:
    with pytest.raises(ModelError, match=r"planar_hand\.urdf: joint 'left_1' needs finite <limit>"):
        load_system(changed((old, new), file="planar_hand.urdf"))


def test_two_robots_with_the_same_joint_names_are_refused(changed: Callable) -> None:
    second = "  - {name: twin, urdf: planar_hand.urdf, joint_stiffness_nm_per_rad: 1.0, joint_damping_nms_per_rad: 1.0}"
    with pytest.raises(ModelError, match="two robots have a joint 'left_1'"):
        load_system(changed(("objects:", second + "\nobjects:")))


def test_prefix_lets_two_robots_share_a_urdf(changed: Callable) -> None:
    gains = "joint_stiffness_nm_per_rad: 1.0, joint_damping_nms_per_rad: 1.0, base_position_m: [2.0, 0.0, 0.0]"
    second = f"  - {{name: twin, urdf: planar_hand.urdf, joint_prefix: twin_, {gains}}}"
    system = load_system(changed(("objects:", second + "\nobjects:")))
    first = ("left_1", "left_2", "right_1", "right_2")
    assert system.joint_names == first + tuple(f"twin_{name}" for name in first)
    R, p = forward_kinematics(system.tree, system.q_default)
    body, twin = (system.links[owner, "left_link_2"][0] for owner in ("planar_hand", "twin"))
    np.testing.assert_allclose(p[twin] - p[body], [2.0, 0.0, 0.0], atol=ROUND_OFF)
    np.testing.assert_allclose(R[twin], R[body], atol=ROUND_OFF)


SLIDE = "{name: rail, axis: y, lower_m: -1.0, upper_m: 1.0, effort_n: 5.0, velocity_m_s: 1.0}"
SLIDES = ("urdf: planar_hand.urdf\n    base_position_m: [0.0, 0.0, 0.0]\n    base_rpy_rad: [0.0, 0.0, 0.0]",
          f"urdf: planar_hand.urdf\n    base_position_m: [0.0, 0.1, 0.0]\n    base_rpy_rad: [0.5, 0.0, 0.0]\n"
          f"    base_slides: [{SLIDE}]")  # fmt: skip
GAINS = ("[50.0, 25.0, 50.0, 25.0]", "[100.0, 50.0, 25.0, 50.0, 25.0]")
DAMPING = ("[4.0, 1.0, 4.0, 1.0]", "3.0")


def test_slide_carries_the_robot_along_an_axis_of_the_world(changed: Callable) -> None:
    fixed, system = load_system(changed()), load_system(changed(SLIDES, GAINS, DAMPING))
    assert system.joint_names == ("rail", "left_1", "left_2", "right_1", "right_2")
    q_a = np.array([0.3, -0.4, -0.2, 0.5, 0.1])
    q = np.concatenate([system.q_default[:3], q_a])
    turn = Pose(np.array([[1.0, 0.0, 0.0], [0.0, np.cos(0.5), -np.sin(0.5)], [0.0, np.sin(0.5), np.cos(0.5)]]),
                np.array([0.0, 0.4, 0.0]))  # fmt: skip
    expected = turn @ pose_of_link(fixed, np.concatenate([q[:3], q_a[1:]]), "planar_hand", "right_link_2")
    found = pose_of_link(system, q, "planar_hand", "right_link_2")
    np.testing.assert_allclose(found.R, expected.R, atol=ROUND_OFF)
    np.testing.assert_allclose(found.p, expected.p, atol=ROUND_OFF)
    assert (system.q_max[0], system.tau_max_nm[0], system.kp[0]) == (1.0, 5.0, 100.0)


def test_slide_with_the_name_of_a_link_or_joint_is_refused(changed: Callable) -> None:
    taken = (SLIDES[0], SLIDES[1].replace("rail", "left_1"))
    with pytest.raises(ModelError, match="every joint needs a name of its own; found 'left_1'"):
        load_system(changed(taken, GAINS, DAMPING))


def test_default_joints_are_where_the_system_starts(changed: Callable) -> None:
    joints = ("mobility: jointed", "mobility: jointed\n    default_joints_rad: {disc_z: 0.4, disc_turn: 0.1}")
    hand = ("urdf: planar_hand.urdf", "urdf: planar_hand.urdf\n    default_joints_rad: {right_2: 0.3}")
    system = load_system(changed(joints, hand))
    np.testing.assert_array_equal(system.q_default, [0.0, 0.4, 0.1, 0.0, 0.0, 0.0, 0.3])


@pytest.mark.parametrize(
    ("given", "words"),
    [("{left_3: 0.1}", ("planar_hand.default_joints_rad", "left_3", "left_1")), ("{left_1: 0.1}", ("0.1", "-1.57"))],
)
def test_default_joint_that_cannot_be_is_named(given: str, words: tuple[str, ...], changed: Callable) -> None:
    with pytest.raises(ConfigError) as caught:
        load_system(changed(("urdf: planar_hand.urdf", f"urdf: planar_hand.urdf\n    default_joints_rad: {given}")))
    for word in words:
        assert word in str(caught.value)


def test_friction_of_a_named_pair_replaces_the_default(changed: Callable) -> None:
    system = load_system(changed(("pairs: []", "pairs: [{bodies: [left_link_2, disc], mu: 0.25}]")))
    links = [system.geometries[pair.geometry_b].link for pair in system.pairs]
    assert {link: pair.mu for link, pair in zip(links, system.pairs, strict=True)} == {
        "left_link_1": 0.8,
        "left_link_2": 0.25,
        "right_link_1": 0.8,
        "right_link_2": 0.8,
    }


def test_unknown_system_lists_those_that_exist() -> None:
    with pytest.raises(ConfigError, match="planar_hand_ball"):
        load_system("planar_hand")


def test_digest_changes_with_the_urdf_and_the_yaml(changed: Callable) -> None:
    digests = {
        load_system(changed()).digest,
        load_system(changed(("h_s: 0.1 ", "h_s: 0.05 "))).digest,
        load_system(changed(('effort="10"', 'effort="11"'), file="planar_hand.urdf")).digest,
    }
    assert len(digests) == 3


def test_digest_changes_with_a_mesh(changed: Callable, tmp_path: Path) -> None:
    """Its file is all that changes: the YAML and the URDF name it as before."""
    corners = [f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = ["f 1 2 4\n", "f 1 3 7\n", "f 5 6 8\n", "f 2 6 8\n"]
    digests = set()
    for scale in ("1", "0.5"):
        changed()
        disc = tmp_path / "disc.urdf"
        text = re.sub(
            r"<geometry>.*?</geometry>", '<geometry><mesh filename="a.obj"/></geometry>', disc.read_text(), flags=re.S
        )
        disc.write_text(text)
        (tmp_path / "a.obj").write_text("".join(corners + faces).replace("1 1 1\n", f"1 1 {scale}\n", 1))
        digests.add(load_system(tmp_path / "planar_hand_ball.yaml").digest)
    assert len(digests) == 2
