"""Drake, MuJoCo and pinocchio read one model the same way: kinematics, gravity, the response of a free joint."""

import re
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import pytest

from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.drake.plant import DrakePlant
from contact_mpc.plants.mujoco.plant import MujocoPlant
from contact_mpc.plants.registry import make_plant
from contact_mpc.settings.resources import resource

pytestmark = [pytest.mark.drake, pytest.mark.mujoco]
SYSTEMS = ("allegro_ball", "planar_hand_ball")


def random_q(system: System, seed: int) -> np.ndarray:
    """Return a configuration with the joints anywhere within their limits and the object far away."""
    rng = np.random.default_rng(seed)
    q = system.q_default.copy()
    q[system.n_q_u :] = rng.uniform(system.q_min, system.q_max)
    if system.n_q_u == 7:
        q[:4] = rng.normal(size=4)
        q[:4] /= np.linalg.norm(q[:4])
        q[4:7] = rng.uniform(-1.0, 1.0, 3)
    else:
        q[:3] = rng.uniform(-1.0, 1.0, 3)
    return q


def nominal(system: System) -> tuple[DrakePlant, MujocoPlant]:
    return (
        DrakePlant(system, "effort", PlantPerturbation(), False),
        MujocoPlant(system, "effort", PlantPerturbation(), False),
    )


def pinocchio_robot(system: System) -> tuple[pinocchio.Model, np.ndarray]:
    """Return the robot in the world with the system's gravity, and the places of q_a in its q."""
    robot = system.config.robots[0]
    model = pinocchio.buildModelFromUrdf(str(resource("urdf", robot.urdf)))
    R_WR = pinocchio.rpy.rpyToMatrix(*robot.base_rpy_rad)
    model.gravity.linear = R_WR.T @ np.array(system.config.gravity_m_s2)
    return model, np.array([model.joints[model.getJointId(name)].idx_q for name in system.joint_names])


@pytest.mark.parametrize("name", SYSTEMS)
def test_forward_kinematics_agree_to_round_off(name: str) -> None:
    system = load_system(name)
    drake, mj = nominal(system)
    robot = system.config.robots[0]
    model, order = pinocchio_robot(system)
    data, R_WR = model.createData(), pinocchio.rpy.rpyToMatrix(*robot.base_rpy_rad)
    for seed in range(10):
        q = random_q(system, seed)
        drake.reset(q)
        mj.reset(q)
        mujoco.mj_kinematics(mj._model, mj._data)
        q_pin = np.zeros(model.nq)
        q_pin[order] = q[system.n_q_u :]
        pinocchio.framesForwardKinematics(model, data, q_pin)
        for link in system.urdfs[robot.name].links:
            body = drake._plant.GetBodyByName(link, drake._instances[robot.name])
            X_drake = drake._plant.EvalBodyPoseInWorld(drake._context, body)
            X_mujoco = mj._data.body(f"{robot.name}/{link}")
            X_pin = data.oMf[model.getFrameId(link)]
            np.testing.assert_allclose(X_drake.translation(), X_mujoco.xpos, atol=1e-9)
            np.testing.assert_allclose(X_drake.rotation().matrix().ravel(), X_mujoco.xmat, atol=1e-9)
            np.testing.assert_allclose(X_drake.translation(), R_WR @ X_pin.translation, atol=1e-9)
            np.testing.assert_allclose(X_drake.rotation().matrix(), R_WR @ X_pin.rotation, atol=1e-9)


@pytest.mark.parametrize("name", SYSTEMS)
def test_object_is_where_the_system_says(name: str) -> None:
    system = load_system(name)
    drake, mj = nominal(system)
    item = system.config.objects[0]
    link = list(system.urdfs[item.name].links)[-1]
    for seed in range(5):
        q = random_q(system, seed)
        R_WB, p_WB = system.object_pose(q)
        drake.reset(q)
        mj.reset(q)
        mujoco.mj_kinematics(mj._model, mj._data)
        body = drake._plant.GetBodyByName(link, drake._instances[item.name])
        X_drake = drake._plant.EvalBodyPoseInWorld(drake._context, body)
        np.testing.assert_allclose(X_drake.translation(), p_WB, atol=1e-12)
        np.testing.assert_allclose(X_drake.rotation().matrix(), R_WB, atol=1e-12)
        np.testing.assert_allclose(mj._data.body(f"{item.name}/{link}").xpos, p_WB, atol=1e-12)
        for plant in (drake, mj):
            np.testing.assert_allclose(plant.state().q, q, atol=1e-12)


def test_gravity_torques_agree(allegro: System) -> None:
    drake, mj = nominal(allegro)
    model, order = pinocchio_robot(allegro)
    data = model.createData()
    for seed in range(10):
        q = random_q(allegro, seed)
        drake.reset(q)
        mj.reset(q)
        q_pin = np.zeros(model.nq)
        q_pin[order] = q[allegro.n_q_u :]
        expected = pinocchio.computeGeneralizedGravity(model, data, q_pin)[order]
        np.testing.assert_allclose(drake._compute_gravity(), expected, atol=1e-6)
        np.testing.assert_allclose(mj._compute_gravity(), expected, atol=1e-6)
        assert np.max(np.abs(expected)) > 0.01


def test_free_finger_responds_alike_to_a_step_of_torque(allegro: System) -> None:
    q = allegro.q_default.copy()
    q[4:7] = [1.0, 1.0, 1.0]
    tau = np.zeros(allegro.n_a)
    tau[allegro.joint_names.index("index_1")] = 0.2  # gravity takes about 0.07 of it
    final = []
    for plant in nominal(allegro):
        plant.reset(q)
        for _ in range(100):
            plant.step(tau)
        final.append(plant.state().q[allegro.n_q_u :])
    moved = final[0][allegro.joint_names.index("index_1")] - q[allegro.n_q_u + 1]
    assert moved > 0.1
    np.testing.assert_allclose(final[0], final[1], atol=0.01 * moved)


def test_single_joint_follows_its_equation_of_motion(make_table) -> None:
    system = make_table("ball", (0.0, 0.0, 0.0), 5.0)
    inertia = 1e-3 + 0.2 * 0.1**2 + 1e-3  # link about its joint, and the reflected inertia
    for plant in nominal(system):
        plant.reset(system.q_default)
        for _ in range(100):
            plant.step(np.array([0.1]))
        assert plant.state().v[system.n_v_u] == pytest.approx(0.1 / inertia * 0.1, rel=1e-6)


@pytest.mark.parametrize("engine", ["drake", "mujoco"])
def test_joints_are_matched_by_name_whatever_their_order_in_the_file(engine: str, tmp_path: Path) -> None:
    ordered = load_system("allegro_ball")
    text = resource("urdf", "allegro_right").read_text()
    joints = re.findall(r"  <joint name=.*?</joint>\n", text, flags=re.DOTALL)
    for joint in joints:
        text = text.replace(joint, "")
    (tmp_path / "allegro_right.urdf").write_text(text.replace("</robot>", "".join(reversed(joints)) + "</robot>"))
    (tmp_path / "allegro_ball.yaml").write_text(resource("systems", "allegro_ball").read_text())
    shuffled = load_system(tmp_path / "allegro_ball.yaml")
    assert shuffled.joint_names != ordered.joint_names
    results = []
    for system in (ordered, shuffled):
        u = {name: 0.3 + 0.02 * index for index, name in enumerate(ordered.joint_names)}
        plant = make_plant(engine, system, "position", gravity_compensation=True)
        for _ in range(50):
            plant.step(np.array([u[name] for name in system.joint_names]))
        results.append(dict(zip(system.joint_names, plant.state().q[system.n_q_u :], strict=True)))
    for name in ordered.joint_names:
        assert results[0][name] == pytest.approx(results[1][name], abs=1e-9)
