"""States in which steps were once wrong without a word, judged again with every audit.

corner     a corner that touches a face of another box from outside: the normal is that of the face
palm       the cube of `allegro_cube` lying on the palm at round-off gaps: it stays (socp, qp, lcp)
pressed    a free cube on the ground under a plate that presses it, quasi-static and quasi-dynamic: it stays
bimanual   `iiwa_bimanual_box` through commands about its start, by socp and qp: every step is judged by the laws
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from contact_mpc.dynamics.analysis.audit import COMMAND_SPREAD, Audit, judge_step
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.geometry.sphere_distance import core_distance
from contact_mpc.model.kinematic_tree import BOX
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.file_access import write_text
from contact_mpc.task.task import load_task

HALF = (0.02, 0.15, 0.3)  # of the box, m
PALM_CENTRE_M, PALM_SPREAD_M = np.array([0.0475, 0.0, 0.0411]), 4e-3
PALM_GAPS_M = (0.0, 0.0, 0.0, 1e-13, 1e-12, 1e-9)
STAYS_M = 2e-6
PALM_STEPS, PRESS_STEPS, PRESS_STARTS, BIMANUAL_STEPS = 10, 3, 10, 300
PRESS = """name: press
friction: {default: 0.6}
robots:
  - {name: press, urdf: press.urdf, joint_stiffness_nm_per_rad: 2000.0, joint_damping_nms_per_rad: 10.0}
objects: [{name: cube, urdf: cube.urdf, mobility: free, position_m: [0, 0, 0.03]}]
fixed: [{name: ground, shape: half_space}]
"""
PLATE = (
    '<robot name="press"><link name="base"/><joint name="down" type="prismatic"><parent link="base"/>'
    '<child link="plate"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="500" velocity="1"/></joint>'
    '<link name="plate"><inertial><mass value="1"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'
    '</inertial><collision><origin xyz="0 0 0.01"/><geometry><box size="0.2 0.2 0.02"/></geometry></collision></link>'
    "</robot>"
)

Start = tuple[FloatArray, FloatArray]


def judge_named_states(starts: int, seed: int) -> list[dict[str, Any]]:
    """Return name, formulation, steps and wrong steps of each case; `starts` of the cube on the palm."""
    rows = [judge_corners()]
    palm = load_system("allegro_cube")
    for method in ("socp", "qp", "lcp"):
        rows.append(_judge_rest("palm", palm, method, "quasidynamic", _on_the_palm(palm, starts, seed), PALM_STEPS))
    with TemporaryDirectory() as folder:
        press = load_press(Path(folder))
    for method, kind in product(("socp", "qp", "lcp"), ("quasistatic", "quasidynamic")):
        rows.append(_judge_rest(f"pressed, {kind}", press, method, kind, _pressed(press, seed), PRESS_STEPS))
    return [*rows, *(judge_bimanual(method, BIMANUAL_STEPS, seed) for method in ("socp", "qp"))]


def judge_corners() -> dict[str, Any]:
    """Judge the normal at points that are outside a face of a box by the least that a double can tell."""
    wrong = 0
    for axis, side in product(range(3), (1.0, -1.0)):
        point, normal = np.zeros(3), side * np.eye(3)[axis]
        point[axis] = side * np.nextafter(HALF[axis], 1.0)
        _, n, _ = core_distance(BOX, HALF, tuple(point.tolist()))
        wrong += int(np.any(np.array(n) != normal))
    return {"case": "corner", "formulation": "", "steps": 6, "wrong_steps": wrong}


def judge_bimanual(method: str, steps: int, seed: int) -> dict[str, Any]:
    """Step from the task's start through random commands about its own; what does not converge begins anew."""
    task, rng, found, wrong = load_task("iiwa_bimanual_box"), np.random.default_rng(seed), Audit(), 0
    dynamics = ContactDynamics(task.system, method, regularization="quasidynamic")
    q = task.start_q
    for _ in range(steps):
        u = task.start_u + rng.normal(0.0, COMMAND_SPREAD, task.system.n_a)
        result = dynamics.step(q, u)
        wrong += int(result.is_converged and not judge_step(dynamics, q, u, result, found))
        q = result.q_next if result.is_converged else task.start_q
    return {"case": "bimanual", "formulation": method, "steps": steps, "wrong_steps": wrong}


def load_press(folder: Path) -> System:
    """Return a cube of 0.06 m on the ground and a plate above it on a vertical slide, from files in `folder`."""
    write_text(folder / "press.urdf", PLATE)
    write_text(folder / "press.yaml", PRESS)
    return load_system(folder / "press.yaml")


def _judge_rest(
    name: str, system: System, method: str, regularization: str, starts: Iterator[Start], steps: int
) -> dict[str, Any]:
    """Judge steps that have to converge, to obey the laws and to leave the objects where they are."""
    dynamics = ContactDynamics(system, method, regularization=regularization)
    found, wrong, count = Audit(), 0, 0
    for start, u in starts:
        q = start
        for _ in range(steps):
            result, count = dynamics.step(q, u), count + 1
            is_right = result.is_converged and judge_step(dynamics, q, u, result, found)
            q = result.q_next
            if not is_right or np.abs(system.difference(start, q)[: dynamics.model.n_v_u]).max() > STAYS_M:
                wrong += 1
                break
    return {"case": name, "formulation": method, "steps": count, "wrong_steps": wrong}


def _on_the_palm(system: System, starts: int, seed: int) -> Iterator[Start]:
    """Yield places of the cube on the palm, fingers stretched."""
    rng = np.random.default_rng(seed)
    for k in range(starts):
        q = system.q_default.copy()
        q[system.n_q_u :] = 0.0
        aside = [*rng.uniform(-PALM_SPREAD_M, PALM_SPREAD_M, 2), PALM_GAPS_M[k % len(PALM_GAPS_M)]]
        q[:7] = [1.0, 0.0, 0.0, 0.0, *(PALM_CENTRE_M + aside)]
        yield q, q[system.n_q_u :].copy()


def _pressed(system: System, seed: int) -> Iterator[Start]:
    """Yield turns and places of the cube under the plate, which is told to go 1 mm into it."""
    rng = np.random.default_rng(seed)
    for _ in range(PRESS_STARTS):
        yaw, q = rng.uniform(-np.pi, np.pi), system.q_default.copy()
        q[:8] = [np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw), *rng.uniform(-0.03, 0.03, 2), 0.03, 0.06]
        yield q, np.array([0.059])
