"""What messages do to numbers: the same roundings in one process as over DDS, so that both give the same bits.

Poses travel as unit quaternions, times after a stamp as whole nanoseconds, the state of an object as pose and twist,
whatever its joints, and of a plan the poses of the objects and the commands; the receivers build rotation matrices,
seconds and joint values again.
"""

from dataclasses import replace

import numpy as np

from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.object_motion import ObjectMotion, object_motion, state_from_motion
from contact_mpc.task.plan import Plan


def pose_over_wire(R_WB: FloatArray, p_WB: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return X_WB as the receiver of a geometry_msgs/Pose builds it."""
    wxyz = matrix_to_quaternion(R_WB)
    return quaternion_to_matrix(wxyz / float(np.linalg.norm(wxyz))), p_WB


def times_over_wire(times_s: FloatArray) -> FloatArray:
    """Return times (n,), s, as the receiver of a trajectory message builds them."""
    times_ns = np.array([round(float(time_s) * NS_PER_S) for time_s in times_s], dtype=np.int64)
    return times_ns.astype(np.float64) * 1e-9


def plan_over_wire(plan: CommandPlan) -> CommandPlan:
    """Return a command plan as the receiver of its message builds it."""
    return CommandPlan(plan.stamp_ns, times_over_wire(plan.times_s), plan.u, plan.du, plan.tau_ff)


def state_over_wire(system: System, state: EstimatedState, q_guess: FloatArray) -> EstimatedState:
    """Return an estimate as the tracker builds it from state_estimator/joint_states and state_estimator/object_odom.

    Parameters
    ----------
    system : System
        The system.
    state : EstimatedState
        What the estimator says.
    q_guess : (n_q,) array
        Configuration that the tracker takes for a start of its inverse kinematics.
    """
    motion = object_motion(system, state)
    R_WB, p_WB = pose_over_wire(motion.R_WB, motion.p_WB)
    received = ObjectMotion(R_WB, p_WB, motion.V_WB, motion.covariance)
    joints = (state.q[system.n_q_u :], state.v[system.n_v_u :], state.tau)
    return replace(state_from_motion(system, state.t_ns, received, joints, q_guess), status=state.status)


def reference_over_wire(system: System, plan: Plan) -> Plan:
    """Return a plan as the tracker builds it from reference and object_reference: with commands in place of q_a."""
    plan = plan.linear()
    q = np.empty((len(plan.times_s), system.n_q))
    guess = system.q_default
    for i, q_sent in enumerate(plan.q):
        q[i, : system.n_q_u] = system.q_from_object_pose(*pose_over_wire(*system.object_pose(q_sent)), guess)
        q[i, system.n_q_u :] = plan.u[i]
        guess = q[i]
    times_s = times_over_wire(plan.times_s)
    return Plan(times_s, q, plan.u, plan.tau_ff, np.zeros((len(times_s), 0, 3)), plan.provenance, plan.du)
