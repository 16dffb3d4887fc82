"""Tool and gap as numbers, from the same expressions as the program's."""

import casadi as ca
import numpy as np

from contact_mpc.planning.push.buffered import Buffered
from contact_mpc.planning.push.program.model import Model
from contact_mpc.settings.arrays import FloatArray

DAMPING = 1e-4
RESOLVING_STEPS = 3
LEADING_POINTS = 20
MARGIN_RAD = 0.02


class ToolGeometry:
    """The tool's head and its gap to the object, evaluated; built once per model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        q, w, heading = ca.SX.sym("q", model.n_r), ca.SX.sym("w", model.n_o), ca.SX.sym("heading")
        head = model.arm.point(model.settings.tool_link, np.zeros(3), q)
        gap = model.thing.gap(w, head, heading) - model.head_radius_m
        self._head = Buffered("head", [q], [head, ca.jacobian(head, q)])
        self._gap = Buffered("gap", [q, w, heading], [gap, ca.gradient(gap, w)])

    def head(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the centre of the head (3,), m, and its Jacobian (3, n_r)."""
        p, J = self._head(q)
        return p, J

    def gap(self, q: FloatArray, w: FloatArray, heading_rad: float) -> tuple[float, FloatArray]:
        """Return phi, m, and its gradient along w (n_o,)."""
        phi, slope = self._gap(q, w, heading_rad)
        return float(phi[0]), slope

    def follow(self, q_start: FloatArray, path: FloatArray) -> FloatArray:
        """Return joint positions (n, n_r) whose heads are near the path (n, 3), step by step from q_start.

        Damped least squares, a few steps per point, within the joint limits.
        """
        system, found, q = self._model.system, [], np.array(q_start)
        for target in path:
            for _ in range(RESOLVING_STEPS):
                p, J = self.head(q)
                q = q + J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(3), target - p)
            q = np.clip(q, system.q_min + MARGIN_RAD, system.q_max - MARGIN_RAD)
            found.append(q)
        return np.array(found)

    def lead(self, q_start: FloatArray, target: FloatArray) -> FloatArray:
        """Return joint positions (n_r,) whose head is near target (3,), m, led there straight from q_start."""
        p, _ = self.head(q_start)
        return self.follow(q_start, p + np.linspace(0.0, 1.0, LEADING_POINTS)[:, None] * (target - p))[-1]
