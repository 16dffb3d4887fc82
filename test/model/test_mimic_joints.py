"""Joints that follow others (<mimic>): one degree of freedom, several axes; against the same robot with free joints."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest

from contact_mpc.dynamics.analysis.audit import audit_states
from contact_mpc.dynamics.contact_dynamics import FORMULATIONS
from contact_mpc.errors import ModelError
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.geometry.contacts import (
    build_pairs,
    make_contacts,
    make_kinematics,
    update_contacts,
    update_kinematics,
)
from contact_mpc.geometry.fingers import contact_jacobian
from contact_mpc.geometry.reach import LinkFrame
from contact_mpc.model.gravity_torque import GravityTorque, pinocchio_model
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.model.urdf import Pose
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.gazebo.world import build_world
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.plants.registry import make_plant

SYSTEMS = Path(__file__).parents[1] / "systems"
LEADERS = {"slide": (0, 1.0, 0.0), "thumb": (1, 0.08, -0.02), "bend": (1, 1.0, 0.0), "curl": (1, 1.3, 0.4),
           "wag": (2, 1.0, 0.0)}  # fmt: skip


@pytest.fixture(scope="module")
def coupled(named_system: Callable) -> System:
    return named_system("linkage")


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Return the same robot with all its joints free."""
    folder = tmp_path_factory.mktemp("free")
    for name in ("linkage.yaml", "linkage.urdf", "dumbbell.urdf"):
        robot = (SYSTEMS / name).read_text()
        if name == "linkage.urdf":
            tree = ET.fromstring(robot)
            for joint in tree.findall("joint"):
                for mimic in joint.findall("mimic"):
                    joint.remove(mimic)
            robot = ET.tostring(tree, encoding="unicode")
        (folder / name).write_text(robot.replace("[20.0, 2.0, 1.0]", "1.0"))
    return load_system(folder / "linkage.yaml")


def spread(coupled: System, free: System) -> tuple[np.ndarray, np.ndarray]:
    """Return G (n_v of free, n_v of coupled) and c with v_free = G v and q_a of free = G_a q_a + c."""
    n_u = coupled.n_v_u
    G, c = np.zeros((free.n_v, coupled.n_v)), np.zeros(free.n_a)
    G[:n_u, :n_u] = np.eye(n_u)
    for row, name in enumerate(free.joint_names):
        column, ratio, offset = LEADERS[name]
        G[n_u + row, n_u + column], c[row] = ratio, offset
    return G, c


def states(coupled: System, free: System, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of configurations (q of coupled, q of free) that are the same."""
    rng, (G, c), n_u, n_q_u = np.random.default_rng(4), spread(coupled, free), coupled.n_v_u, coupled.n_q_u
    found = []
    for _ in range(count):
        q = coupled.integrate(coupled.q_default, rng.normal(0.0, 0.3, coupled.n_v))
        found.append((q, np.concatenate([q[:n_q_u], G[n_u:, n_u:] @ q[n_q_u:] + c])))
    return found


def test_a_mimic_joint_has_no_place_in_q_and_narrows_its_leader(coupled: System, free: System) -> None:
    assert coupled.joint_names == ("slide", "bend", "wag") and len(free.joint_names) == 5
    # -2 <= 1.3 q + 0.4 <= 2 is tighter than -2 <= q <= 2 and -1 <= 0.08 q - 0.02 <= 1; at 5 rad/s, 5 / 1.3 is left
    np.testing.assert_allclose(coupled.q_min, [-2.0, -2.4 / 1.3, -2.0])
    np.testing.assert_allclose(coupled.q_max, [2.0, 1.6 / 1.3, 2.0])
    np.testing.assert_allclose(coupled.v_max, [5.0, 5.0 / 1.3, 5.0])


def test_poses_and_contacts_are_those_of_the_free_robot(coupled: System, free: System) -> None:
    """J = J_free G, for every contact and for a point on a link; all poses alike."""
    G, _ = spread(coupled, free)
    far = [system.links["robot", "far"][0] for system in (coupled, free)]
    for q, q_free in states(coupled, free, 5):
        for ours, theirs in zip(
            forward_kinematics(coupled.tree, q), forward_kinematics(free.tree, q_free), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-14)
        found = []
        for system, x in ((coupled, q), (free, q_free)):
            pairs, kin = build_pairs(system), make_kinematics(system.tree)
            contacts = make_contacts(pairs)
            update_kinematics(system.tree, x, kin)
            update_contacts(system.tree, pairs, kin, contacts)
            found.append([contact_jacobian(pairs, contacts, c, system.n_v) for c in range(len(pairs.mu))])
        assert len(found[0]) == len(found[1]) > 4
        np.testing.assert_allclose(found[0], np.array(found[1]) @ G, atol=1e-14)
        frames = [LinkFrame(body, Pose(np.eye(3), np.array([0.05, 0.02, -0.01]))) for body in far]
        J = frames[1].jacobian(free, q_free) @ G[coupled.n_v_u :, coupled.n_v_u :]
        np.testing.assert_allclose(frames[0].jacobian(coupled, q), J, atol=1e-14)


def test_inertia_and_weight_are_those_of_the_linkage(coupled: System, free: System) -> None:
    """M = G' M_free G by Pinocchio; at constant speeds of the joints, b = G' b_free; g = G' g_free."""
    robot, n_u = free.config.robots[0], free.n_v_u
    model = pinocchio_model(free.urdfs["robot"])
    R_WR = pinocchio.rpy.rpyToMatrix(*robot.base_rpy_rad)
    model.gravity.linear = R_WR.T @ np.array(free.config.gravity_m_s2)
    data, engine, weight = model.createData(), PenaltyEngine(coupled), GravityTorque(coupled)
    order = [model.joints[model.getJointId(name)].idx_q for name in free.joint_names]
    G = spread(coupled, free)[0][n_u:, n_u:]
    rng, out = np.random.default_rng(0), np.zeros(coupled.n_a)
    for q, q_free in states(coupled, free, 3):
        v = rng.normal(size=coupled.n_v)
        x, dx = np.zeros((2, model.nq))
        x[order], dx[order] = q_free[free.n_q_u :], G @ v[n_u:]
        engine.reset(q, v)
        M, bias = engine._mass_and_bias(at_rest=False)
        full = pinocchio.crba(model, data, x)
        full = (np.triu(full) + np.triu(full, 1).T)[np.ix_(order, order)]
        np.testing.assert_allclose(M[n_u:, n_u:], G.T @ full @ G + np.diag(coupled.reflected_inertia), atol=1e-12)
        np.testing.assert_allclose(bias[n_u:], G.T @ pinocchio.nonLinearEffects(model, data, x, dx)[order], atol=1e-11)
        weight.compute(q[coupled.n_q_u :], out)
        expected = G.T @ pinocchio.computeGeneralizedGravity(model, data, x)[order]
        np.testing.assert_allclose(out, expected, atol=1e-12)
        np.testing.assert_allclose(engine.gravity_torques()[n_u:], expected, atol=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_steps_obey_the_laws_of_contact(coupled: System, formulation: str) -> None:
    """Balance, cones, gaps and derivatives by the audit, which knows nothing of the solvers."""
    found = audit_states(coupled, formulation, coupled.q_default, 20, seed=3)
    assert found.wrong_steps == 0 and found.converged >= 15
    assert found.worst["derivative_error"] < 1e-6


@pytest.mark.parametrize(
    "engine", [pytest.param("drake", marks=pytest.mark.drake), pytest.param("mujoco", marks=pytest.mark.mujoco)]
)
def test_engines_couple_and_carry_the_weight_of_mimic_joints(coupled: System, engine: str) -> None:
    """Held by its own weight compensation, the linkage rests; commanded, every joint goes where the command says."""
    plant = make_plant(engine, coupled, "position", gravity_compensation=True)
    q = coupled.q_default.copy()
    q[4:7] = 5.0  # out of reach
    plant.reset(q)
    goal = q[coupled.n_q_u :] + np.array([0.05, 0.2, -0.1])
    for _ in range(3000):
        plant.step(goal)
    np.testing.assert_allclose(plant.state().q[coupled.n_q_u :], goal, atol=2e-3)
    place = _mimic_places(plant, engine)
    for name, position in place.items():
        row, ratio, offset = LEADERS[name]
        assert position == pytest.approx(ratio * plant.state().q[coupled.n_q_u + row] + offset, abs=1e-4)


def _mimic_places(plant: Any, engine: str) -> dict[str, float]:
    if engine == "mujoco":
        return {
            name: float(plant._data.qpos[plant._model.joint(f"robot/{name}").qposadr[0]]) for name in ("thumb", "curl")
        }
    joints = {name: plant._plant.GetJointByName(name) for name in ("thumb", "curl")}
    return {name: float(joint.GetOnePosition(plant._context)) for name, joint in joints.items()}


def test_what_cannot_be_coupled_is_refused_in_one_line(coupled: System, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="joints follow others"):
        ContactLocator(coupled)
    with pytest.raises(ModelError, match="joint 'thumb' follows another .*ODE couples no joints"):
        build_world(coupled, PlantPerturbation(), 1, "plugin.so")
    text = (SYSTEMS / "linkage.yaml").read_text().replace("urdf: linkage.urdf", "urdf: probe.urdf")
    (tmp_path / "linkage.yaml").write_text(
        text.replace("dumbbell.urdf, mobility: free", "linkage.urdf, mobility: jointed")
    )
    for name in ("linkage.urdf", "probe.urdf"):
        (tmp_path / name).write_text((SYSTEMS / name).read_text())
    with pytest.raises(ModelError, match="joint 'thumb' mimics 'bend': only robots have"):
        load_system(tmp_path / "linkage.yaml")
    robot = (SYSTEMS / "linkage.urdf").read_text()
    (tmp_path / "linkage.urdf").write_text(robot.replace('offset="0.4"', 'offset="9"'))
    with pytest.raises(ModelError, match="joint 'bend' cannot move: the limits of what follows it leave no range"):
        load_system(tmp_path / "linkage.yaml")


def test_a_prefix_reaches_the_names_that_mimic_joints_give(tmp_path: Path) -> None:
    text = (SYSTEMS / "linkage.yaml").read_text().replace("urdf: linkage", "joint_prefix: left_, urdf: linkage")
    (tmp_path / "linkage.yaml").write_text(text)
    for name in ("linkage.urdf", "dumbbell.urdf"):
        (tmp_path / name).write_text((SYSTEMS / name).read_text())
    assert load_system(tmp_path / "linkage.yaml").joint_names == ("left_slide", "left_bend", "left_wag")
