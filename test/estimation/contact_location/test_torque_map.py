"""Torques of forces on links, against Drake's Jacobians, and how they change along a surface."""

import numpy as np
import pytest

from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import ContactDraw
from contact_mpc.estimation.contact_location.surfaces import retract
from contact_mpc.estimation.contact_location.torque_map import fill_motion, fit_at, tangents, to_world
from contact_mpc.geometry.vectors import row
from contact_mpc.model.system_builder import load_system

SYSTEM = load_system("iiwa_box")
LINKS = tuple(f"link_{k}" for k in range(1, 8))


@pytest.fixture(scope="module")
def locator() -> ContactLocator:
    return ContactLocator(SYSTEM)


def test_torques_of_a_force_are_those_of_drake(locator: ContactLocator) -> None:
    """The rows A of a point, and pinocchio's torques, with which the benchmark judges."""
    pytest.importorskip("pydrake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import JacobianWrtVariable

    plant = MultibodyPlant(0.0)
    model = Parser(plant).AddModelsFromString(SYSTEM.urdfs["iiwa"].text, "urdf")[0]
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(SYSTEM.urdfs["iiwa"].root))
    plant.Finalize()
    context, draw = plant.CreateDefaultContext(), ContactDraw(locator, LINKS, (5.0, 50.0), seed=3)
    for _ in range(10):
        q_a = draw.configuration()
        contact = draw.contact()
        plant.SetPositions(context, q_a)
        frame = plant.GetBodyByName(contact.link, model).body_frame()
        local = frame.CalcPoseInWorld(context).inverse().multiply(contact.p)
        J = plant.CalcJacobianTranslationalVelocity(
            context, JacobianWrtVariable.kQDot, frame, local, plant.world_frame(), plant.world_frame()
        )
        tau = J.T @ contact.f
        np.testing.assert_allclose(draw.torques([contact]), tau, atol=1e-9)
        arm = locator.set_torques(locator.chains[0], tau)
        fit_at(arm, contact.body, tuple(contact.p), tuple(contact.n), 0.5)
        t_1, t_2 = tangents(tuple(contact.n))
        parts = np.array([-contact.n @ contact.f, np.dot(t_1, contact.f), np.dot(t_2, contact.f)])
        count = arm.chain_count[contact.body]
        np.testing.assert_allclose(arm.A[:count] @ parts * locator.config.sigma_nm, tau[:count], atol=1e-9)
        assert not tau[count:].any()


def test_change_along_the_surface_is_that_of_differences(locator: ContactLocator) -> None:
    """S for a force that keeps its parts along normal and tangents while these turn with the surface."""
    draw = ContactDraw(locator, LINKS, (5.0, 50.0), seed=4)
    draw.configuration()
    for _ in range(10):
        contact = draw.contact()
        s, body = contact.surface, contact.body
        arm = locator.set_torques(locator.chains[0], draw.torques([contact]))
        R, origin, count = arm.R_WG[s].copy(), arm.p_WG[s].copy(), arm.chain_count[body]
        x, n = R.T @ (contact.p - origin), contact.n
        fill_motion(arm, locator.surfaces, s, tuple(x), tuple(contact.p), tuple(n), _parts(contact.f, n))
        S = arm.S[:count].copy()
        for j, t in enumerate(tangents(tuple(n))):
            step, rows = 1e-6, []
            for sign in (1.0, -1.0):
                moved, normal = retract(locator.surfaces, s, tuple(x + sign * step * R.T @ np.array(t)))
                turn = np.cross(n, R @ np.array(normal))  # a small rotation vector
                fit_at(arm, body, to_world(arm, s, moved), row(np.eye(3), 0), 0.5)
                A = arm.A[:count].copy()  # in the frame of a fixed normal
                force = contact.f + np.cross(turn, contact.f)
                rows.append(A @ np.array(_parts(force, np.eye(3)[0])))
            np.testing.assert_allclose(S[:, j], (rows[0] - rows[1]) / (2.0 * step), atol=1e-3 * np.abs(S).max())


def _parts(f: np.ndarray, n: np.ndarray) -> tuple[float, float, float]:
    t_1, t_2 = tangents(tuple(n))
    return float(-n @ f), float(np.dot(t_1, f)), float(np.dot(t_2, f))


def test_rows_of_a_hand_on_slides_are_those_of_pinocchio() -> None:
    """Prismatic joints, and a base that is turned."""
    hand = ContactLocator(load_system("allegro_door"))
    draw, (chain,) = ContactDraw(hand, ("middle_tip", "thumb_link_3"), (2.0, 4.0), seed=2), hand.chains
    for _ in range(4):
        draw.configuration()
        contact = draw.contact()
        tau = draw.torques([contact])
        assert np.abs(tau[:3]).min() > 0.01  # the slides feel it
        assert hand.chi2_at(chain, contact.surface, contact.p, contact.n, tau) < 1e-9
