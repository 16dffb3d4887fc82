"""Contacts of whole systems: gaps against coal and pinocchio, Jacobians against the motion of material points."""

from collections.abc import Callable

import coal
import numpy as np
import pinocchio
import pytest

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, prepare_step
from contact_mpc.errors import ModelError
from contact_mpc.geometry.fingers import finger_of_pairs
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.resources import resource

COAL_TOLERANCE_M = 2e-6  # coal's own on cylinders
NAMES = ("allegro_ball", "planar_hand_ball", "dumbbell", "nunchaku", "door")
COAL_SHAPES = {"sphere": coal.Sphere, "box": coal.Box, "capsule": coal.Capsule, "cylinder": coal.Cylinder}


def random_q(system: System, seed: int) -> np.ndarray:
    return system.integrate(system.q_default, np.random.default_rng(seed).normal(0.0, 0.3, system.n_v))


class Evaluation:
    """Contacts of a system at one q: gaps (n_c,), normals and points (n_c, 3), J (n_c, 3, n_v)."""

    def __init__(self, system: System, q: np.ndarray) -> None:
        model = build_model(system)
        ws = make_newton(model)
        prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
        self.pairs = model.pairs
        self.gaps, self.normals, self.points = ws.con.phi.copy(), ws.con.n.copy(), ws.con.p.copy()
        self.J = np.zeros((len(model.mu), 3, system.n_v))
        for c, count in enumerate(model.pairs.dof_count):
            self.J[c][:, model.pairs.dofs[c, :count]] = ws.con.J[c, :count].T


def geometry_pose(system: System, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    geometry = system.geometries[index]
    if geometry.body < 0:
        return geometry.X_BG.R, geometry.X_BG.p
    R, p = forward_kinematics(system.tree, q)
    return R[geometry.body] @ geometry.X_BG.R, R[geometry.body] @ geometry.X_BG.p + p[geometry.body]


@pytest.mark.parametrize("name", NAMES)
def test_gaps_and_normals_are_those_of_coal(name: str, named_system: Callable) -> None:
    system = named_system(name)
    for seed in range(5):
        q = random_q(system, seed)
        found = Evaluation(system, q)
        for c in range(len(found.gaps)):
            indices = int(found.pairs.geom_b[c]), int(found.pairs.geom_a[c])
            shapes = [system.geometries[g].shape for g in indices]
            b, a = (COAL_SHAPES[shape.kind](*shape.size) for shape in shapes)
            X_b, X_a = (coal.Transform3s(*geometry_pose(system, q, g)) for g in indices)
            result = coal.DistanceResult()
            gap = coal.distance(b, X_b, a, X_a, coal.DistanceRequest(), result)
            assert found.gaps[c] == pytest.approx(gap, abs=COAL_TOLERANCE_M), shapes[0].kind
            if abs(gap) > 1e-3:
                np.testing.assert_allclose(found.normals[c], result.normal, atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_gap_changes_by_the_normal_part_of_the_jacobian(
    name: str, named_system: Callable, check_jacobian: Callable
) -> None:
    system = named_system(name)
    for seed in range(5):
        q = random_q(system, seed)
        found = Evaluation(system, q)
        J_n = np.einsum("ci,cid->cd", found.normals, found.J)
        check_jacobian(J_n, lambda x, q=q: Evaluation(system, system.integrate(q, x)).gaps, 1e-7, step=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_jacobian_is_the_relative_motion_of_the_points_that_touch(
    name: str, named_system: Callable, check_jacobian: Callable
) -> None:
    system = named_system(name)
    bodies = [geometry.body for geometry in system.geometries]
    for seed in range(3):
        q = random_q(system, seed)
        found = Evaluation(system, q)
        start = forward_kinematics(system.tree, q)

        def carried(body: int, point: np.ndarray, moved: tuple, start: tuple = start) -> np.ndarray:
            if body < 0:
                return point
            return moved[0][body] @ start[0][body].T @ (point - start[1][body]) + moved[1][body]

        def relative(x: np.ndarray, q=q, found=found, carried=carried) -> np.ndarray:
            moved = forward_kinematics(system.tree, system.integrate(q, x))
            pairs = zip(found.pairs.geom_a, found.pairs.geom_b, found.points, strict=True)
            return np.array([carried(bodies[a], p, moved) - carried(bodies[b], p, moved) for a, b, p in pairs])

        check_jacobian(found.J, relative, tolerance=1e-9, step=1e-3)


def test_finger_columns_are_the_frame_jacobians_of_pinocchio(allegro: System) -> None:
    model = pinocchio.buildModelFromUrdf(str(resource("urdf", "allegro_right")))
    data = model.createData()
    R_WP = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # base_rpy_rad = (0, -pi/2, 0)
    order = [model.joints[model.getJointId(name)].idx_v for name in allegro.joint_names]
    for seed in range(3):
        q = random_q(allegro, seed)
        found = Evaluation(allegro, q)
        q_pin = np.zeros(model.nq)
        q_pin[order] = q[allegro.n_q_u :]
        pinocchio.computeJointJacobians(model, data, q_pin)
        pinocchio.updateFramePlacements(model, data)
        for c, pair in enumerate(allegro.pairs):
            link = model.getFrameId(allegro.geometries[pair.geometry_b].link)
            J = pinocchio.getFrameJacobian(model, data, link, pinocchio.LOCAL_WORLD_ALIGNED)[:, order]
            arm = found.points[c] - R_WP @ data.oMf[link].translation
            moved = R_WP @ J[:3] + np.cross((R_WP @ J[3:]).T, arm).T
            np.testing.assert_allclose(found.J[c][:, allegro.n_v_u :], -moved, atol=1e-12)  # object less finger


def test_system_in_which_nothing_can_touch_is_refused(tmp_path) -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    (tmp_path / "ghost.urdf").write_text(f'<robot name="ghost"><link name="ghost">{inertial}</link></robot>')
    text = resource("systems", "planar_hand_ball").read_text()
    (tmp_path / "ghost.yaml").write_text(text.replace("disc.urdf", "ghost.urdf").replace("jointed", "free"))
    with pytest.raises(ModelError, match="nothing can touch"):
        build_model(load_system(tmp_path / "ghost.yaml"))


@pytest.mark.parametrize(("name", "count"), [("allegro_ball", 4), ("allegro_pen", 5), ("planar_hand_ball", 2)])
def test_fingers_are_the_branches_of_a_hand(name: str, count: int, named_system: Callable[[str], System]) -> None:
    """On linear axes the palm is a body of its own; the fingers stay apart."""
    system = named_system(name)
    fingers = finger_of_pairs(system)
    assert len(set(fingers[fingers >= 0].tolist())) == count
    links: dict[int, set[str]] = {}
    for finger, contact in zip(fingers.tolist(), system.contacts, strict=True):
        link = system.geometries[system.pairs[contact.pair].geometry_b].link
        links.setdefault(finger, set()).add(link.split("_")[0])
    assert all(len(names) == 1 for names in links.values())


def test_links_of_an_arm_hold_each_for_itself(named_system: Callable[[str], System]) -> None:
    system = named_system("iiwa_bimanual_box")
    for finger, contact in zip(finger_of_pairs(system), system.contacts, strict=True):
        assert finger == system.geometries[system.pairs[contact.pair].geometry_b].body
