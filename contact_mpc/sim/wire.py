"""What messages do to numbers: the same roundings in one process as over DDS, so that both give the same bits.

Poses travel as unit quaternions, times after a stamp as whole nanoseconds, and the state of an object as pose and
twist, whatever its joints; the receivers build rotation matrices, seconds and joint values again.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.model.state import CommandPlan

FloatArray = NDArray[np.float64]


def pose_over_wire(R_WB: FloatArray, p_WB: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return X_WB as the receiver of a geometry_msgs/Pose builds it."""
    wxyz = matrix_to_quaternion(R_WB)
    return quaternion_to_matrix(wxyz / float(np.linalg.norm(wxyz))), p_WB


def times_over_wire(times_s: FloatArray) -> FloatArray:
    """Return times (n,), s, as the receiver of a trajectory message builds them."""
    times_ns = np.array([round(float(time_s) * 1_000_000_000) for time_s in times_s], dtype=np.int64)
    return times_ns.astype(np.float64) * 1e-9


def plan_over_wire(plan: CommandPlan) -> CommandPlan:
    """Return a command plan as the receiver of its message builds it."""
    return CommandPlan(plan.stamp_ns, times_over_wire(plan.times_s), plan.u, plan.du, plan.tau_ff)
