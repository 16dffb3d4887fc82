"""A plan as the two messages of a reference, and back: commands over time, and poses of the objects over time.

Messages are linear between their points: held torques get two points where they change. The joint positions of a plan
do not travel: the tracker follows objects and commands. What is read back has the commands in their place, and no
contact impulses.
"""

import numpy as np
from geometry_msgs.msg import Transform
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import matrix_to_quaternion
from contact_mpc.model.system import System
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan


def to_reference(system: System, plan: Plan, start_ns: int) -> JointTrajectory:
    """Return u, du and tau_ff along a plan that starts at start_ns."""
    plan = plan.linear()
    return messages.to_trajectory(start_ns, system.joint_names, plan.times_s, plan.u, plan.du, plan.tau_ff)


def to_object_reference(system: System, plan: Plan, start_ns: int) -> MultiDOFJointTrajectory:
    """Return the poses of the objects along a plan that starts at start_ns, in the world frame."""
    message = MultiDOFJointTrajectory(joint_names=list(system.object_names))
    message.header.frame_id = "world"
    messages.set_stamp(message.header.stamp, start_ns)
    plan = plan.linear()
    for time_s, q in zip(plan.times_s, plan.q, strict=True):
        point = MultiDOFJointTrajectoryPoint(time_from_start=messages.to_duration(float(time_s)))
        for index in range(len(system.object_names)):
            point.transforms.append(_to_transform(*system.object_pose(q, index)))
        message.points.append(point)
    return message


def read_reference(
    system: System, order: messages.JointOrder, commands: JointTrajectory, objects: MultiDOFJointTrajectory
) -> Plan:
    """Return the plan that two messages with the same stamp describe.

    Raises
    ------
    InputError
        Joints or objects are missing, times differ, or a value is not finite.
    """
    times_s, u, velocities, tau_ff = messages.read_trajectory(commands, order)
    if list(objects.joint_names) != list(system.object_names):
        raise InputError(
            f"object_reference names {', '.join(objects.joint_names) or 'nothing'}; "
            f"the system has {', '.join(system.object_names)}"
        )
    object_times = [messages.from_stamp(point.time_from_start) for point in objects.points]
    if object_times != [messages.from_stamp(point.time_from_start) for point in commands.points]:
        raise InputError("reference and object_reference have different times; publish them from one plan")
    q = np.empty((len(times_s), system.n_q))
    guess = system.q_default
    for i, point in enumerate(objects.points):
        R_WB, p_WB = _read_transform(point.transforms[0] if point.transforms else None)
        q[i, : system.n_q_u] = system.q_from_object_pose(R_WB, p_WB, guess)
        q[i, system.n_q_u :] = u[i]
        guess = q[i]
    du = velocities if any(point.velocities for point in commands.points) else None
    return Plan(times_s, q, u, tau_ff, np.zeros((len(times_s), 0, 3)), {"source": "reference topics"}, du)


def _to_transform(R: FloatArray, p: FloatArray) -> Transform:
    transform = Transform()
    w, x, y, z = matrix_to_quaternion(np.ascontiguousarray(R)).tolist()
    transform.rotation.w, transform.rotation.x, transform.rotation.y, transform.rotation.z = w, x, y, z
    transform.translation.x, transform.translation.y, transform.translation.z = p.tolist()
    return transform


def _read_transform(transform: Transform | None) -> tuple[FloatArray, FloatArray]:
    if transform is None:
        raise InputError("object_reference: a point has no transform")
    return messages.read_rigid_transform(transform.rotation, transform.translation)
