"""Reference by rolling: the object follows its path, the fingers roll on it without slip and hold it.

Kinematic counterpart of sticking contacts. Along the object's path, J_a dq_a = -J_u dq_u at every contact of the
grasp, with the normal part corrected towards the gap at the start; the joint motion of least norm is taken. At every
instant the commands balance the object by `compute_grasp`. The result starts the trajectory optimisation.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.newton import prepare_step
from contact_mpc.geometry.fingers import stacked_jacobian, touching_rows
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.scene import Scene, make_scene
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
LEAST_LEVER_M = 0.01  # a joint that turns by more than its contact's motion over this is near a singular posture
DAMPING = 1e-6  # of the least-squares step, relative to the squared largest singular value


@dataclass(frozen=True)
class RollingPath:
    """Configurations q (n, n_q) and commands u (n, n_a) up to the first instant that fails, and why it failed."""

    q: FloatArray
    u: FloatArray
    reason: str

    @property
    def is_complete(self) -> bool:
        """Whether every instant of the path has a posture and commands."""
        return not self.reason


def roll_along(
    system: System,
    q_start: FloatArray,
    path_u: FloatArray,
    pairs: IntArray,
    minimum_force_n: float,
    friction: float,
    substeps: int = 5,
    scene: Scene | None = None,
) -> RollingPath:
    """Follow the objects' path (n, n_q_u), which starts at q_start, with the contacts `pairs` rolling.

    A contact goes on with another point of the same two links where they roll onto it.
    """
    scene = scene or make_scene(system)
    model, ws = scene.model, scene.newton
    no_offset = np.zeros(len(model.mu))
    q, gaps = q_start.copy(), None
    rows: list[FloatArray] = []
    commands: list[FloatArray] = []
    count = len(path_u)
    for k, target_u in enumerate(path_u):
        for step in range(substeps if k else 0):
            prepare_step(model, ws, q, q[system.n_q_u :].copy(), no_offset)
            gaps = ws.con.phi[pairs].copy() if gaps is None else gaps
            pairs = touching_rows(scene.links, ws.con.phi, pairs)
            target = np.concatenate([target_u, q[system.n_q_u :]])
            dq_u = system.difference(q, target)[: system.n_v_u] / (substeps - step)
            J = stacked_jacobian(model.pairs, ws.con, pairs, system.n_v)
            closing = (ws.con.n[pairs] * (gaps - ws.con.phi[pairs])[:, None]).ravel()
            wanted = closing - J[:, : system.n_v_u] @ dq_u
            dq_a = _least_norm(J[:, system.n_v_u :], wanted)
            if np.max(np.abs(dq_a)) * LEAST_LEVER_M > np.max(np.abs(wanted)):
                return RollingPath(np.array(rows), np.array(commands), f"a singular posture at instant {k} of {count}")
            q = system.integrate(q, np.concatenate([dq_u, dq_a]))
        q_a = q[system.n_q_u :]
        if np.any((q_a < system.q_min) | (q_a > system.q_max)):
            return RollingPath(np.array(rows), np.array(commands), f"a joint limit at instant {k} of {count}")
        grasp = compute_grasp(system, q, minimum_force_n, friction, pairs=pairs, scene=scene)
        if not grasp.is_balanced:
            return RollingPath(np.array(rows), np.array(commands), f"{grasp.reason} (instant {k} of {count})")
        rows.append(q.copy())
        commands.append(grasp.u)
    return RollingPath(np.array(rows), np.array(commands), "")


def _least_norm(J: FloatArray, b: FloatArray) -> FloatArray:
    """Return the damped least-squares solution of least norm of J x = b."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    return np.asarray(Vt.T @ ((s / (s * s + DAMPING * s[0] * s[0])) * (U.T @ b)))
