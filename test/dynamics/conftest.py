"""Systems that hide nothing: off-centre inertias, orientations that matter, every pair of shapes; random states."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.log_barrier import make_newton, prepare_step
from contact_mpc.model.system import System, load_system
from contact_mpc.model.task import load_task

INERTIAL = """<inertial><origin xyz="{com}" rpy="0.3 -0.2 0.5"/><mass value="{mass}"/>
  <inertia ixx="1.2e-3" iyy="3.1e-3" izz="3.6e-3" ixy="2e-4" ixz="-3e-4" iyz="1e-4"/></inertial>"""
LIMIT = '<limit lower="-2" upper="2" effort="5" velocity="5"/>'


def _link(name: str, shape: str = "", origin: str = "0 0 0", com: str = "0.02 0.01 -0.01", mass: float = 0.4) -> str:
    collision = f'<collision><origin xyz="{origin}" rpy="0.4 0.2 -0.3"/><geometry>{shape}</geometry></collision>'
    return f'<link name="{name}">{INERTIAL.format(com=com, mass=mass)}{collision if shape else ""}</link>'


def _joint(name: str, kind: str, parent: str, child: str, origin: str, axis: str) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="0.2 -0.1 0.3"/><axis xyz="{axis}"/>{LIMIT}</joint>'
    )


# A robot with every shape, on sliding and turning joints and fixed to the world.
GANTRY = "".join([
    '<robot name="gantry">', _link("base", '<box size="2 2 0.1"/>', "0 0 -0.4"),
    _joint("slide", "prismatic", "base", "carriage", "0 0 0", "1 0 0.2"), _link("carriage"),
    _joint("swing", "revolute", "carriage", "paddle", "0 0 0.1", "0.3 1 0.2"),
    _link("paddle", '<box size="0.2 0.1 0.06"/>', "0.1 0 0"),
    _joint("wrist", "revolute", "paddle", "rod", "0.25 0 0", "1 0 0.5"),
    _link("rod", '<capsule radius="0.03" length="0.12"/>', "0.05 0.02 0"),
    _joint("roll", "revolute", "base", "drum", "-0.3 0.1 0", "0 1 0.3"),
    _link("drum", '<cylinder radius="0.06" length="0.1"/>', "0 0 0.1"),
    _joint("poke", "prismatic", "base", "tip", "0 -0.3 0", "0 1 0"), _link("tip", '<sphere radius="0.04"/>'),
    "</robot>",
])
# A robot of spheres, to meet objects of every shape.
PROBE = "".join([
    '<robot name="probe">', _link("base"),
    _joint("slide", "prismatic", "base", "carriage", "0 -0.2 0", "1 0.3 0"),
    _link("carriage", '<sphere radius="0.04"/>', "0 0.05 0"),
    _joint("swing", "revolute", "carriage", "finger", "0 0.1 0.1", "0.2 0.1 1"),
    _link("finger", '<sphere radius="0.03"/>', "0.1 0.05 0"), "</robot>",
])
DUMBBELL = "".join([
    '<robot name="dumbbell">', _link("bar", '<sphere radius="0.05"/>', "0.12 0 0.02"),
    '<joint name="weld" type="fixed"><parent link="bar"/><child link="end"/><origin xyz="-0.09 0.03 0"/></joint>',
    _link("end", '<sphere radius="0.03"/>', "0 0 0.02", "0 0 0", 0.1), "</robot>",
])
# A free body that carries a link on a hinge of its own.
NUNCHAKU = DUMBBELL.replace("</robot>", "").replace("dumbbell", "nunchaku") + "".join([
    _joint("hinge", "revolute", "end", "second", "-0.05 0 0", "0.1 1 0.2"),
    _link("second", '<sphere radius="0.035"/>', "-0.08 0 0.01"), "</robot>",
])
# A door on a hinge, a handle that turns in it, a bolt that slides in the handle.
DOOR = "".join([
    '<robot name="door"><link name="frame"/>', _joint("hinge", "revolute", "frame", "panel", "-0.1 0.1 0", "0 0.1 1"),
    _link("panel", '<box size="0.3 0.04 0.2"/>', "0.2 0 0", "0.15 0.01 0.03"),
    _joint("turn", "revolute", "panel", "handle", "0.3 -0.03 0", "0.1 1 0"),
    _link("handle", '<cylinder radius="0.02" length="0.1"/>', "0.05 -0.05 0"),
    _joint("slide_out", "prismatic", "handle", "bolt", "0.1 0 0", "1 0.2 0"),
    _link("bolt", '<capsule radius="0.02" length="0.08"/>', "0.02 0 0.03"), "</robot>",
])
YAML = """name: {name}
gravity_m_s2: [0.3, -0.5, -9.81]
activation_distance_m: 0.2
friction: {{default: 0.7}}
robots:
  - {{name: robot, urdf: {robot}.urdf, base_position_m: [0.05, 0.0, -0.1], base_rpy_rad: [0.1, -0.2, 0.3],
     joint_stiffness_nm_per_rad: 80.0, joint_damping_nms_per_rad: 1.0}}
objects:
  - {{name: thing, urdf: {name}.urdf, mobility: {mobility}, position_m: [0.1, 0.05, 0.1], rpy_rad: [0.4, 0.5, -0.6]}}
"""
TEST_SYSTEMS = {
    "dumbbell": ("gantry", "free"), "nunchaku": ("gantry", "free"), "door": ("probe", "jointed"),
}
URDFS = {"gantry": GANTRY, "probe": PROBE, "dumbbell": DUMBBELL, "nunchaku": NUNCHAKU, "door": DOOR}


@pytest.fixture(scope="session")
def named_system(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], System]:
    """Return a loader of the test systems above and of those of the package, by name."""
    folder = tmp_path_factory.mktemp("systems")
    for name, text in URDFS.items():
        (folder / f"{name}.urdf").write_text(text)
    for name, (robot, mobility) in TEST_SYSTEMS.items():
        (folder / f"{name}.yaml").write_text(YAML.format(name=name, robot=robot, mobility=mobility))
    return lambda name: load_system(folder / f"{name}.yaml" if name in TEST_SYSTEMS else name)


def _usual_q(system: System, rng: np.random.Generator) -> np.ndarray:
    """A posture with the object in reach of the robot, turned at random."""
    if system.name in TEST_SYSTEMS:
        return system.integrate(system.q_default, rng.normal(0.0, 0.3, system.n_v))
    q = system.integrate(load_task(system.name).start_q, rng.normal(0.0, 0.01, system.n_v))
    if system.config.objects[0].mobility == "free":
        quaternion = rng.normal(size=4)
        q[:4] = quaternion / np.linalg.norm(quaternion)
    return q


def _bring_to_gap(system: System, q: np.ndarray, c: int, gap: float) -> np.ndarray:
    """Move along the contact Jacobian until pair c has this gap."""
    model = build_model(system)
    ws = make_newton(model)
    for _ in range(20):
        prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
        row = np.zeros(system.n_v)
        count = model.pairs.dof_count[c]
        row[model.pairs.dofs[c, :count]] = ws.con.J[c, :count] @ ws.con.n[c]
        step = row * (gap - ws.con.phi[c]) / (row @ row)
        q = system.integrate(q, step * min(1.0, 0.2 / max(np.abs(step).max(), 1e-12)))
        if abs(gap - ws.con.phi[c]) < 1e-12:
            break
    return q


@pytest.fixture(scope="session")
def random_states() -> Callable[..., list[tuple[np.ndarray, np.ndarray]]]:
    """Return a generator of states (q, u) of a system, one pair brought to a gap, none deeper than that allows.

    At most `deepest` m of penetration in any pair, and a step that has a solution.
    """

    def draw(
        dynamics: ContactDynamics, count: int, gap: tuple[float, float], seed: int, deepest: float = 3e-3
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        system, rng, found = dynamics.system, np.random.default_rng(seed), []
        for _ in range(200 * count):
            c = int(rng.integers(len(dynamics.model.mu)))
            q = _bring_to_gap(system, _usual_q(system, rng), c, rng.uniform(*gap))
            u = q[system.n_q_u :] + rng.normal(0.0, 0.02, system.n_a)
            result = dynamics.step(q, u)
            if result.gaps.min() > -deepest - 1e-9 and gap[0] - 1e-9 <= result.gaps[c] <= gap[1] + 1e-9:
                if result.is_converged:
                    found.append((q, u))
            if len(found) == count:
                return found
        raise AssertionError(f"only {len(found)} of {count} states of {system.name} found")

    return draw
