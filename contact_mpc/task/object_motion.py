"""Pose, twist and covariance of an object as messages carry them, from and to the coordinates q_u, v_u of a system.

For a free object the two are the same; an object on joints of its own has fewer coordinates than a pose, and

    V_WB = J v_u,    cov_V = J cov_u J^T    and back    v_u = J^+ V_WB,    cov_u = J^+ cov_V J^+^T

with J = d pose / d q_u (6, n_v_u), rotation first, in the world frame.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import EstimatedState


@dataclass(frozen=True)
class ObjectMotion:
    """Motion of one object in the world frame W.

    Attributes
    ----------
    R_WB : (3, 3) array
        Orientation.
    p_WB : (3,) array
        Position, m.
    V_WB : (6,) array
        [omega_W, dp_W], rad/s and m/s.
    covariance : (6, 6) array
        Of the pose as [rotation, translation], rad^2 and m^2.
    """

    R_WB: FloatArray
    p_WB: FloatArray
    V_WB: FloatArray
    covariance: FloatArray


def object_motion(system: System, state: EstimatedState, index: int = 0) -> ObjectMotion:
    """Return the motion of one object in an estimated state."""
    R_WB, p_WB = system.object_pose(state.q, index)
    v_u, covariance = state.v[: system.n_v_u], state.covariance_u
    if not _is_free(system):
        J = system.object_jacobian(state.q, index)
        v_u, covariance = J @ v_u, J @ covariance @ J.T
    return ObjectMotion(R_WB, p_WB, v_u, covariance)


def state_from_motion(
    system: System,
    t_ns: int,
    motion: ObjectMotion,
    joints: tuple[FloatArray, FloatArray, FloatArray],
    q_guess: FloatArray,
) -> EstimatedState:
    """Return the estimated state whose object moves as `motion` says.

    Parameters
    ----------
    system : System
        A system with one object.
    t_ns : int
        Stamp, ns.
    motion : ObjectMotion
        Motion of the object.
    joints : tuple of (n_a,) arrays
        Position, rad; velocity, rad/s; torque, N m, of the robot's joints.
    q_guess : (n_q,) array
        Configuration nearby; decides the sign of quaternions and the turn of revolute objects.
    """
    q_a, v_a, tau = joints
    q = np.concatenate([system.q_from_object_pose(motion.R_WB, motion.p_WB, q_guess), q_a])
    v_u, covariance = motion.V_WB, motion.covariance
    if not _is_free(system):
        inverse = np.linalg.pinv(system.object_jacobian(q))
        v_u, covariance = inverse @ v_u, inverse @ covariance @ inverse.T
    return EstimatedState(t_ns, q, np.concatenate([v_u, v_a]), tau, covariance)


def _is_free(system: System) -> bool:
    """Whether v_u is the twist of the one object itself."""
    return [item.mobility for item in system.config.objects] == ["free"]
