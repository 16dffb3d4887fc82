"""All single contacts that explain torques: on an arm, on a hand, on a bar with one joint, and on bad input."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from patience import HANG_S

from contact_mpc.errors import InputError, ModelError
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.contact_location.hypothesis import ChainContacts
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw, PinocchioTorques
from contact_mpc.model.system_builder import load_system

BAR = """<robot name="bar">
  <link name="base"/>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="100"/>
  </joint>
  <link name="bar">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.06"/></geometry></collision>
  </link>
</robot>"""
SYSTEM_FILE = """name: bar
gravity_m_s2: [0.0, 0.0, 0.0]
h_s: 0.1
activation_distance_m: 0.1
friction: {default: 0.5}
robots:
  - {name: bar, urdf: bar.urdf, joint_stiffness_nm_per_rad: 10.0, joint_damping_nms_per_rad: 0.3}
objects: []
"""


@pytest.fixture(scope="module")
def arm() -> ContactLocator:
    return ContactLocator(load_system("iiwa_box"))


@pytest.fixture(scope="module")
def hand() -> ContactLocator:
    return ContactLocator(load_system("allegro_ball"), LocationConfig(torque_noise_nm=0.005, friction=1.0))


def nearest_mm(found: ChainContacts, body: int, p: np.ndarray) -> float:
    gaps = [np.linalg.norm(item.points - p, axis=1).min() for item in found.hypotheses if item.body == body]
    return 1e3 * float(min(gaps, default=np.inf))


def test_a_bar_on_one_joint_is_touched_wherever_force_times_lever_is_the_torque(tmp_path: Path) -> None:
    """A force on its upper or lower face, or on its end: what is left open are regions, not points."""
    (tmp_path / "bar.urdf").write_text(BAR)
    (tmp_path / "bar.yaml").write_text(SYSTEM_FILE)
    locator = ContactLocator(load_system(tmp_path / "bar.yaml"))
    (found,) = locator.locate(np.zeros(1), np.array([2.0]))  # about +y: pushes the bar down
    assert found.status == "explained"
    points, forces = (np.vstack([getattr(item, key) for item in found.hypotheses]) for key in ("points", "forces"))
    np.testing.assert_allclose(np.cross(points, forces)[:, 1], 2.0, atol=3.3 * 0.05)
    on_top = points[:, 2] > 0.0299
    assert (points[on_top, 0].min() < 0.05) and (points[on_top, 0].max() > 0.35)
    assert not (points[:, 2] < -0.0299).any() or (points[points[:, 2] < -0.0299, 0] < 0.05).all()


def test_the_true_contact_is_found_and_its_force(arm: ContactLocator) -> None:
    """Seven torques without noise leave one of the minima at the true place, with the true force."""
    draw = ContactDraw(arm, ("link_6", "link_7"), (10.0, 50.0), seed=5)
    for _ in range(8):
        q_a, contact = draw.configuration(), draw.contact()
        (found,) = arm.locate(q_a, draw.torques([contact]))
        assert nearest_mm(found, contact.body, contact.p) < 1.0
        own = [item for item in found.hypotheses if item.body == contact.body]
        points, forces = (np.vstack([getattr(item, key) for item in own]) for key in ("points", "forces"))
        force = forces[np.linalg.norm(points - contact.p, axis=1).argmin()]
        np.testing.assert_allclose(force, contact.f, atol=0.05 * np.linalg.norm(contact.f))


def test_each_minimum_reproduces_the_torques_within_noise(arm: ContactLocator) -> None:
    """By pinocchio's Jacobians, in the cone, pushing inwards; the residual is what is reported."""
    draw, truth = ContactDraw(arm, ("link_3", "link_4", "link_5"), (5.0, 50.0), seed=6), PinocchioTorques(arm.system)
    for _ in range(3):
        q_a, contact = draw.configuration(), draw.contact()
        tau = draw.torques([contact]) + draw.noise(arm.config.sigma_nm)
        (found,) = arm.locate(q_a, tau)
        truth.place(q_a)
        for item in found.hypotheses:
            for p, n, f, chi2 in zip(item.points, item.normals, item.forces, item.chi2, strict=True):
                left = truth.torques(item.link, p, f) - tau
                assert left @ left == pytest.approx(chi2 * arm.config.sigma_nm**2, rel=1e-6, abs=1e-12)
                assert np.linalg.norm(left) <= found.limit_nm
                assert np.linalg.norm(f + (f @ -n) * n) <= arm.config.friction * (f @ -n) + 1e-6


def test_fingers_are_chains_of_their_own(hand: ContactLocator) -> None:
    draw = ContactDraw(hand, ("index_tip", "thumb_link_3"), (2.0, 4.0), seed=1)
    q_a = draw.configuration()
    contacts = [draw.contact() for _ in range(6)]
    pair = [next(c for c in contacts if c.link == link) for link in ("index_tip", "thumb_link_3")]
    found = {item.joints[0].split("_")[0]: item for item in hand.locate(q_a, draw.torques(pair))}
    assert found["middle"].status == found["ring"].status == "free"
    assert nearest_mm(found["index"], pair[0].body, pair[0].p) < 5.0
    assert nearest_mm(found["thumb"], pair[1].body, pair[1].p) < 5.0


def test_nothing_felt_is_no_contact(arm: ContactLocator) -> None:
    (found,) = arm.locate(np.zeros(7), np.full(7, 0.01))
    assert found.status == "free" and not found.hypotheses and "no contact" in found.describe()


def test_torques_that_no_contact_makes_are_named_with_their_residual(arm: ContactLocator) -> None:
    """Only the last joint twists: a force on link 7, a ball about its axis, cannot."""
    (found,) = arm.locate(arm.system.q_default[-7:], np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0]))
    assert found.status == "unexplained" and not found.hypotheses
    assert found.residual_nm > found.limit_nm
    assert "no contact explains this, residual" in found.describe()


def test_two_fingers_of_a_hand_on_slides_are_no_single_contact() -> None:
    """No link moves the joints of both: the residual is what the better one cannot carry."""
    hand = ContactLocator(load_system("allegro_door"), LocationConfig(torque_noise_nm=0.005))
    names, tau = list(hand.system.joint_names), np.zeros(hand.system.n_a)
    for name, value in (("index_1", 0.3), ("ring_1", 0.2)):
        tau[names.index(name)] = value
    (found,) = hand.locate(hand.system.q_default[hand.system.n_q_u :], tau)
    assert found.status == "unexplained" and found.residual_nm == pytest.approx(0.2)


@pytest.mark.parametrize("tau", [np.full(7, np.nan), np.zeros(6)])
def test_unknown_torques_are_refused(arm: ContactLocator, tau: np.ndarray) -> None:
    with pytest.raises(InputError, match="tau_ext"):
        arm.locate(np.zeros(7), tau)


def test_a_robot_without_shapes_is_refused(tmp_path: Path) -> None:
    start, end = BAR.index("    <collision>"), BAR.index("</collision>\n") + len("</collision>\n")
    (tmp_path / "bar.urdf").write_text(BAR[:start] + BAR[end:])
    (tmp_path / "bar.yaml").write_text(SYSTEM_FILE)
    with pytest.raises(ModelError, match="no moving link"):
        ContactLocator(load_system(tmp_path / "bar.yaml"))


def test_bias_and_resolution_count_as_noise() -> None:
    config = LocationConfig(torque_noise_nm=0.03, torque_bias_nm=0.04, torque_resolution_nm=0.0)
    assert config.sigma_nm == pytest.approx(0.05)
    assert LocationConfig(torque_noise_nm=1e-9, torque_resolution_nm=0.12).sigma_nm == pytest.approx(0.12 / 12**0.5)


WARM = """
import sys
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw
from contact_mpc.model.system_builder import load_system

locator = ContactLocator(load_system("iiwa_box"))
draw = ContactDraw(locator, ("link_5",), (20.0, 30.0), 0)
q_a, contact = draw.configuration(), draw.contact()
tau = draw.torques([contact])
modules = [module for name, module in sys.modules.items() if name.startswith("contact_mpc.")]
functions = [item for module in modules for item in vars(module).values() if hasattr(item, "overloads")]
compiled = [item for item in functions if hasattr(item, "py_func")]
locator.warm_up()
before = {item.py_func.__qualname__: len(item.overloads) for item in compiled}
(found,) = locator.locate(q_a, tau)
after = {item.py_func.__qualname__: len(item.overloads) for item in compiled}
assert found.status == "explained", found.status
print({name: count for name, count in after.items() if count > before[name]})
"""


def test_the_first_touch_waits_for_no_compiler() -> None:
    """What explains a touch had not been called by the warm-up: four seconds in a state estimator, once."""
    done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.stdout.strip() == "{}", done.stdout + done.stderr
