"""The same grasp in Bullet: the same URDFs, the same law of the fingers at 1 kHz, its own contact by constraints.

The bunny is the convex hull that Bullet makes of a moving mesh. Fingers are links of one multibody in reduced
coordinates, Bullet's default for a URDF.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from contact_mpc.examples.grasp.grippers import FRICTION, THING, Grasp, write_obj
from contact_mpc.examples.grasp.run import STEP_S, Law, Record
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.extras import require_packages


def simulate_bullet(grasp: Grasp, q: FloatArray, duration_s: float, sample: int = 5) -> Record:
    """Grasp and hold in Bullet from q (n_q,), with the fingers about to touch."""
    require_packages("the comparison with Bullet", "pybullet")
    with _stdout_to_stderr():
        return _simulate(grasp, q, duration_s, sample)


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Bullet prints to the process's standard output, which belongs to the result."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


def _simulate(grasp: Grasp, q: FloatArray, duration_s: float, sample: int) -> Record:
    import pybullet

    client = pybullet.connect(pybullet.DIRECT)
    try:
        with TemporaryDirectory(prefix="contact_mpc_bullet_") as name:
            folder = Path(name)
            for key, text in grasp.urdf_texts.items():
                (folder / f"{key}.urdf").write_text(text, encoding="utf-8")
            for mesh in grasp.meshes.values():
                write_obj(mesh, folder / "bunny.obj")
            flags = pybullet.URDF_USE_INERTIA_FROM_FILE
            hand = pybullet.loadURDF(
                str(folder / "gripper.urdf"), useFixedBase=True, flags=flags, physicsClientId=client
            )
            thing = pybullet.loadURDF(str(folder / f"{THING}.urdf"), flags=flags, physicsClientId=client)
        return _run(pybullet, client, hand, thing, grasp, q, duration_s, sample)
    finally:
        pybullet.disconnect(client)


def _run(
    bullet: Any, client: int, hand: int, thing: int, grasp: Grasp, q: FloatArray, duration_s: float, sample: int
) -> Record:
    bullet.setTimeStep(STEP_S, physicsClientId=client)
    bullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    moving = list(range(bullet.getNumJoints(hand, physicsClientId=client)))
    names = [bullet.getJointInfo(hand, i, physicsClientId=client)[1].decode() for i in moving]
    joints = [moving[names.index(name)] for name in grasp.system.joint_names]
    start = q[grasp.system.n_q_u :]
    for body, link in [(thing, -1), *((hand, i) for i in moving)]:
        bullet.changeDynamics(
            body, link, lateralFriction=1.0 if body == thing else FRICTION, linearDamping=0.0, angularDamping=0.0,
            physicsClientId=client,
        )  # fmt: skip
    for joint, value in zip(joints, start, strict=True):
        bullet.resetJointState(hand, joint, value, physicsClientId=client)
    zero = [0.0] * len(joints)
    bullet.setJointMotorControlArray(hand, joints, bullet.VELOCITY_CONTROL, forces=zero, physicsClientId=client)
    law, record, began = Law(start[1:], grasp.lever_m), Record(), time.process_time()
    for k in range(round(duration_s / STEP_S)):
        states = np.array([s[:2] for s in bullet.getJointStates(hand, joints, physicsClientId=client)])
        bias = np.array(
            bullet.calculateInverseDynamics(hand, states[:, 0].tolist(), zero, zero, physicsClientId=client)
        )
        torques = law.torques(k * STEP_S, states[:, 0], states[:, 1], bias)
        bullet.setJointMotorControlArray(
            hand, joints, bullet.TORQUE_CONTROL, forces=torques.tolist(), physicsClientId=client
        )
        bullet.stepSimulation(physicsClientId=client)
        if (k + 1) % sample == 0:
            forces = np.zeros(len(joints) - 1)
            for point in bullet.getContactPoints(hand, thing, physicsClientId=client):
                forces[joints.index(point[3]) - 1] += point[9]
            record.times_s.append((k + 1) * STEP_S)
            record.forces_n.append(forces)
            position, _ = bullet.getBasePositionAndOrientation(thing, physicsClientId=client)
            record.position_m.append(np.array(position))
            record.slide_m.append(float(states[0, 0]))
    record.real_time_factor = duration_s / max(time.process_time() - began, 1e-9)
    return record
