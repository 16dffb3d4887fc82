"""The scene in the browser: links that move, the goal as a gizmo with a ghost of the object, forces as lines."""

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from contact_mpc.errors import InputError
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.view.address import LOOPBACK
from contact_mpc.view.meshes import link_meshes

GHOST_OPACITY = 0.3
FORCE_COLOUR = (217, 84, 26)
FORCE_WIDTH_M = 0.0015
PoseCallback = Callable[[FloatArray, FloatArray], None]


class LiveScene:
    """A scene on a web page of this machine.

    Parameters
    ----------
    system : System
        What is drawn; starts at its default configuration.
    port : int
        Port of the page.
    host : str
        Address that the page listens on; the loopback interface unless said otherwise.

    Raises
    ------
    InputError
        The port is in use.
    """

    def __init__(self, system: System, port: int, host: str = LOOPBACK) -> None:
        self._system = system
        self.server = viser.ViserServer(host=host, port=port, label=f"contact_mpc: {system.name}", verbose=False)
        if self.server.get_port() != port:
            found = self.server.get_port()
            self.server.stop()
            raise InputError(f"port {port} is in use ({found} would be free); choose another --port, or end its user")
        scene = self.server.scene
        scene.set_up_direction("+z")
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)  # sharing leaves this machine
        self._links = list(link_meshes(system))
        self._handles = [
            scene.add_mesh_simple(f"/{m.owner}/{m.link}", m.mesh.vertices, m.mesh.faces, color=m.colour)
            for m in self._links
        ]
        self._radius_m = max((float(m.mesh.bounding_sphere.primitive.radius) for m in self._objects()), default=0.05)
        self._axes = scene.add_frame("/axes", axes_length=1.6 * self._radius_m, axes_radius=0.03 * self._radius_m)
        self._gizmo = scene.add_transform_controls("/goal", scale=2.2 * self._radius_m, line_width=2.0)
        for mesh in self._objects():
            vertices = mesh.mesh.vertices
            scene.add_mesh_simple(
                f"/goal/{mesh.link}", vertices, mesh.mesh.faces, color=mesh.colour, opacity=GHOST_OPACITY
            )
        self._is_dragged = False
        self.show(system.q_default)
        self.show_goal(*system.object_pose(system.q_default))
        self._place_camera()

    def show(self, q: FloatArray) -> None:
        """Move all links to configuration q (n_q,)."""
        R, p = forward_kinematics(self._system.tree, np.ascontiguousarray(q, dtype=np.float64))
        with self.server.atomic():
            for link, handle in zip(self._links, self._handles, strict=True):
                if link.body >= 0:
                    handle.wxyz = matrix_to_quaternion(np.ascontiguousarray(R[link.body]))
                    handle.position = p[link.body]
            R_WB, p_WB = self._system.object_pose(q)
            self._axes.wxyz, self._axes.position = matrix_to_quaternion(np.ascontiguousarray(R_WB)), p_WB

    def show_goal(self, R_WB: FloatArray, p_WB: FloatArray) -> None:
        """Move the gizmo to a goal of the first object, unless a hand is at it."""
        if not self._is_dragged:
            self._gizmo.wxyz, self._gizmo.position = matrix_to_quaternion(np.ascontiguousarray(R_WB)), p_WB

    def show_forces(self, lines: FloatArray) -> None:
        """Draw contact forces: lines (n, 2, 3) from the contact point to its force's tip, m, world frame."""
        if len(lines):
            self.server.scene.add_line_segments("/forces", lines, FORCE_COLOUR, thickness=FORCE_WIDTH_M)
        else:
            self.server.scene.remove_by_name("/forces")

    def on_goal(self, callback: PoseCallback) -> None:
        """Have `callback` called with (R_WB (3, 3), p_WB (3,)) where the gizmo is let go."""

        @self._gizmo.on_update
        async def update(event: Any) -> None:
            self._is_dragged = event.phase != "end"
            if not self._is_dragged:
                wxyz = np.asarray(self._gizmo.wxyz, dtype=np.float64)
                R_WB = quaternion_to_matrix(wxyz / np.linalg.norm(wxyz))
                callback(R_WB, np.asarray(self._gizmo.position, dtype=np.float64))

    def stop(self) -> None:
        """Close the page."""
        self.server.stop()

    def _objects(self) -> list[Any]:
        first = self._system.object_names[0]
        return [mesh for mesh in self._links if mesh.owner == first]

    def _place_camera(self) -> None:
        _, p = self._system.object_pose(self._system.q_default)
        points = np.array([*(handle.position for handle in self._handles), p])
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        reach = float(np.linalg.norm(points - centre, axis=1).max()) + self._radius_m
        self.server.initial_camera.position = tuple(centre + reach * np.array([1.35, -1.35, 1.1]))
        self.server.initial_camera.look_at = tuple(centre)
