"""The view beside a running stack: who drags the goal in a browser sees the object follow."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_page import BrowserPage, browser_or_skip
from free_port import free_port
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("viser")
pytest.importorskip("mujoco")

from geometry_msgs.msg import PoseStamped

from contact_mpc.model.rotations import rotation_log
from contact_mpc.ros.client import GoalClient, GoalOutcome
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.ros.stack.stack import Stack, StackSpec
from contact_mpc.ros.stack.viewing import viewing
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import load_task
from contact_mpc.view.meshes import link_meshes

pytestmark = [pytest.mark.end_to_end, pytest.mark.dds, pytest.mark.mujoco, pytest.mark.chromium]

TASK = load_task("allegro_ball")
SIZE = (1000, 520)  # small: the page is drawn by the processor; wide: the panel must not cover the object
FIELD_OF_VIEW_RAD = np.deg2rad(75.0)  # of viser's camera, over the height
FROM_M = np.array([0.12, -0.12, 0.3])  # the camera, seen from the object
ARC = 0.65  # of the gizmo's scale is the radius of the arcs that turn it, in viser's client
GIZMO_SCALE = 2.2  # radii of the object: `LiveScene`
DRAG_DEG = np.arange(40.0, 66.0, 5.0)  # along the arc about z, from the x axis on
DRAWN_FRAMES = 20  # from the first word of the stack on: by then the scene has come and the camera stands
TRIES = 5  # the page is drawn by the processor, and may not have been when the mouse comes


def to_pixel(x: FloatArray, target: FloatArray) -> tuple[float, float]:
    """Return where the page shows the point x (3,), m, world, with the camera at target + FROM_M and z up."""
    forward = -FROM_M / np.linalg.norm(FROM_M)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    ray = x - target - FROM_M
    focal = 0.5 * SIZE[1] / np.tan(0.5 * FIELD_OF_VIEW_RAD)
    along = ray @ forward
    up = ray @ np.cross(right, forward)
    return 0.5 * SIZE[0] + focal * (ray @ right) / along, 0.5 * SIZE[1] - focal * up / along


def arc_about_z(R_WB: FloatArray, p_WB: FloatArray, target: FloatArray) -> list[tuple[float, float]]:
    """Return the pixels of the gizmo's arc about its z axis."""
    radius_m = max(mesh.mesh.bounding_sphere.primitive.radius for mesh in link_meshes(TASK.system) if is_object(mesh))
    r = ARC * GIZMO_SCALE * radius_m
    angles = np.deg2rad(DRAG_DEG)
    return [to_pixel(p_WB + R_WB @ np.array([r * np.cos(a), r * np.sin(a), 0.0]), target) for a in angles]


def is_object(mesh: Any) -> bool:
    return bool(mesh.owner == TASK.system.object_names[0])


def wait_for(
    spin: Callable[[], GoalOutcome], condition: Callable[[GoalOutcome], bool], timeout_s: float
) -> GoalOutcome:
    deadline = time.monotonic() + timeout_s
    outcome = spin()
    while not condition(outcome) and time.monotonic() < deadline:
        outcome = spin()
    return outcome


def test_the_object_follows_a_goal_that_is_dragged_in_the_browser(tmp_path: Path) -> None:
    browser_or_skip()
    options = RunOptions("mujoco", "lockstep", 0, "allegro_ball", recorded=False, endless=True)
    parameters = build_parameters(TASK, options, tmp_path, tmp_path / "plan.npz")
    namespace, port, goals = "/" + TASK.system.config.robots[0].name, free_port(), list[PoseStamped]()
    with Stack(StackSpec(namespace, parameters, tmp_path)) as stack:
        stack.start()
        stack.bring_up()
        stack.node.create_subscription(PoseStamped, "goal_pose", goals.append, 1)
        with viewing(TASK.system, tmp_path, stack.domain, port), GoalClient(domain=stack.domain) as client:

            def spin() -> GoalOutcome:
                stack.spin(0.0)
                stack.check()
                return client.status

            log = tmp_path / "viewer.log"
            wait_for(spin, lambda _: "the view is at" in log.read_text(), HANG_S)
            _, target = TASK.system.object_pose(TASK.start_q)
            camera = f"initialCameraPosition={','.join(map(str, target + FROM_M))}&initialCameraLookAt="
            url = f"http://127.0.0.1:{port}/?{camera}{','.join(map(str, target))}"
            with BrowserPage(url, tmp_path, SIZE) as page:
                page.wait_for("document.body.innerText.includes('solve status')")
                page.wait_for_frames(DRAWN_FRAMES)
                page.picture(tmp_path / "before.png")
                for _ in range(TRIES):
                    before = spin()
                    page.drag(arc_about_z(before.R, before.p, target))
                    wait_for(spin, lambda _: bool(goals), 10.0)
                    if goals:
                        break
                assert goals, f"no goal after {TRIES} drags; {tmp_path}/before.png"
                R_goal, p_goal = messages.read_pose(goals[-1].pose)
                asked = messages.from_stamp(goals[-1].header.stamp)
                page.rest(True)
                after = wait_for(spin, lambda now: now.goal_ns == asked and now.has_ended, HANG_S)
                page.rest(False)
                page.picture(tmp_path / "after.png")
    turn = np.rad2deg(rotation_log(R_goal @ before.R.T))
    assert 10.0 < turn[2] < 45.0 and np.linalg.norm(turn[:2]) < 3.0, turn
    assert np.linalg.norm(p_goal - before.p) < 3e-3
    assert after.state == "reached", after.message
    angle_deg = np.rad2deg(np.linalg.norm(rotation_log(after.R @ R_goal.T)))
    assert angle_deg < TASK.tolerance_deg
    assert 1e3 * np.linalg.norm(after.p - p_goal) < TASK.tolerance_mm
