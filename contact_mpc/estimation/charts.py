"""Charts: how the pose filter adds a displacement to an object's configuration and compares two configurations.

A free body moves on SO(3) x R3 with left perturbations in the world frame, R = Exp(dtheta) R_hat, p = p_hat + dp.
An object on joints of its own moves in the values of these joints; a measured pose becomes joint values by least
squares, and its noise is carried over by the Jacobian of the pose.
"""

from typing import Protocol

import numpy as np

from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.model.rotations import (
    left_jacobian,
    matrix_to_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    rotation_exp,
)
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


class Chart(Protocol):
    """Configuration space of one object. x: its part of q_u; n: dimension of its tangent space."""

    n: int

    def from_pose(self, R_WB: FloatArray, p_WB: FloatArray, guess: FloatArray | None) -> FloatArray:
        """Return the configuration x at (or nearest to) a pose."""

    def integrate(self, x: FloatArray, dx: FloatArray) -> FloatArray:
        """Return x moved by the tangent displacement dx (n,)."""

    def difference(self, x0: FloatArray, x1: FloatArray) -> FloatArray:
        """Return the tangent displacement (n,) from x0 to x1."""

    def transition(self, v: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Return (A, B), each (n, n): an error in x, and one in v, carried through a motion with v over dt."""

    def covariance(self, x: FloatArray, rotation_std: float, translation_std: float) -> FloatArray:
        """Return the covariance (n, n) in tangent space of isotropic pose noise (rad, m)."""

    def spread(self, dx: FloatArray) -> FloatArray:
        """Return sizes (n,) of the parts of a displacement dx (n,): an error of it may point anywhere in its part."""


class FreeBodyChart:
    """A free body: x = [qw qx qy qz px py pz], tangent [dtheta_W; dp_W]."""

    n = 6

    def from_pose(self, R_WB: FloatArray, p_WB: FloatArray, guess: FloatArray | None) -> FloatArray:
        """Return the configuration of a pose; the quaternion has the sign of the guess."""
        quaternion = matrix_to_quaternion(R_WB)
        if guess is not None and quaternion @ guess[:4] < 0.0:
            quaternion = -quaternion
        return np.concatenate([quaternion, p_WB])

    def integrate(self, x: FloatArray, dx: FloatArray) -> FloatArray:
        """Return [Exp(dtheta) R; p + dp], the quaternion normalised."""
        quaternion = quaternion_multiply(quaternion_exp(dx[:3]), x[:4])
        return np.concatenate([quaternion / np.sqrt(quaternion @ quaternion), x[4:] + dx[3:]])

    def difference(self, x0: FloatArray, x1: FloatArray) -> FloatArray:
        """Return [Log(R1 R0'); p1 - p0]."""
        return np.concatenate([quaternion_log(quaternion_multiply(x1[:4], CONJUGATE * x0[:4])), x1[4:] - x0[4:]])

    def transition(self, v: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Return A = diag(Exp(w dt), 1), B = dt diag(J_l(w dt), 1), with w = v[:3] constant in the world frame."""
        A, B = np.eye(6), dt * np.eye(6)
        A[:3, :3] = rotation_exp(v[:3] * dt)
        B[:3, :3] = dt * left_jacobian(v[:3] * dt)
        return A, B

    def covariance(self, x: FloatArray, rotation_std: float, translation_std: float) -> FloatArray:
        """Return diag(rotation_std^2 1, translation_std^2 1)."""
        return np.diag(np.repeat([rotation_std**2, translation_std**2], 3))

    def spread(self, dx: FloatArray) -> FloatArray:
        """Return the angle three times and the distance three times."""
        return np.repeat(np.sqrt([dx[:3] @ dx[:3], dx[3:] @ dx[3:]]), 3)


class JointChart:
    """An object on its own joints: x are their values, and so is the tangent space.

    Parameters
    ----------
    system : System
        Gives the pose of the object and its inverse.
    index : int
        Which object.
    q_slice, v_slice : slice
        Where its joints lie in q and in v.
    """

    def __init__(self, system: System, index: int, q_slice: slice, v_slice: slice) -> None:
        self._system, self._index, self._slice, self._v_slice = system, index, q_slice, v_slice
        self.n = q_slice.stop - q_slice.start

    def from_pose(self, R_WB: FloatArray, p_WB: FloatArray, guess: FloatArray | None) -> FloatArray:
        """Return the joint values whose pose is nearest (least squares from the guess)."""
        q_u = self._system.q_from_object_pose(R_WB, p_WB, self._full(guess), self._index)
        return np.array(q_u[self._slice])

    def integrate(self, x: FloatArray, dx: FloatArray) -> FloatArray:
        """Return x + dx."""
        return x + dx

    def difference(self, x0: FloatArray, x1: FloatArray) -> FloatArray:
        """Return x1 - x0."""
        return x1 - x0

    def transition(self, v: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        """Return (1, dt 1)."""
        return np.eye(self.n), dt * np.eye(self.n)

    def covariance(self, x: FloatArray, rotation_std: float, translation_std: float) -> FloatArray:
        """Return (J' W^-1 J)^-1, the covariance of the weighted least-squares joint values; J = d pose / d x."""
        weights = np.repeat([1.0 / rotation_std**2, 1.0 / translation_std**2], 3)
        J = self._system.object_jacobian(self._full(x), self._index)[:, self._v_slice]
        return np.asarray(np.linalg.inv(J.T @ (weights[:, None] * J)), dtype=np.float64)

    def spread(self, dx: FloatArray) -> FloatArray:
        """Return |dx|: joints of an object err each for itself."""
        return np.abs(dx)

    def _full(self, x: FloatArray | None) -> FloatArray:
        q = self._system.q_default.copy()
        if x is not None:
            q[self._slice] = x
        return q


def build_charts(system: System) -> list[Chart]:
    """Return the chart of each object, in the order of q_u."""
    charts: list[Chart] = []
    start_q = start_v = 0
    for index, item in enumerate(system.config.objects):
        if item.mobility == "free":
            charts.append(FreeBodyChart())
            start_q, start_v = start_q + 7, start_v + 6
            continue
        count = len(system.urdfs[item.name].moving_joints)
        charts.append(JointChart(system, index, slice(start_q, start_q + count), slice(start_v, start_v + count)))
        start_q, start_v = start_q + count, start_v + count
    return charts


def accel_covariance(chart: Chart, x: FloatArray, config: EstimatorConfig) -> FloatArray:
    """Return the density (n, n) of the white acceleration of an object at x."""
    return chart.covariance(x, config.accel_noise_rad_s2, config.accel_noise_m_s2)
