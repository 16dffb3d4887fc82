"""Commands that hold an object at rest: contact forces by a cone program, commands by the joints' springs.

Of each finger the closest pair within reach is a contact. Its force f_c acts on the sphere of the pair. The program

    minimise  sum_c |f_c|^2
    subject to   J_u' f + tau_u = 0                 (balance of the object's weight tau_u)
                 |f_t| <= mu f_n,   f_n >= minimum  on every contact,   |J_a' f| <= share of the effort limits

gives the commands u = q_a - K^-1 J_a' f (seeds/003, "Quasi-static dynamical systems: how to fix it"). The robot is
gravity compensated. Solved by clarabel, an interior-point solver, to its default 1e-8; continuous in q.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from contact_mpc.dynamics.smoothed.newton import prepare_step
from contact_mpc.geometry.fingers import closest_pair_per_finger, stacked_jacobian
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.scene import Scene, make_scene
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
EFFORT_SHARE = 0.8  # of the effort limits that a grasp may use
SOLVED = ("Solved", "AlmostSolved")  # to 1e-8, or to 1e-4 where round-off stops the solver


@dataclass(frozen=True)
class Grasp:
    """Forces and commands that hold an object, or why there are none.

    Attributes
    ----------
    is_balanced : bool
        Whether forces exist; the other arrays are empty otherwise.
    pairs : (n,) array of int
        Indices of the contact pairs in use.
    normal_forces : (n,) array
        Normal forces, N.
    cone_margins : (n,) array
        1 - |f_t| / (mu f_n) with the system's friction, -.
    u : (n_a,) array
        Commands that balance them, rad.
    reason : str
        Why there are none.
    """

    is_balanced: bool
    pairs: IntArray
    normal_forces: FloatArray
    cone_margins: FloatArray
    u: FloatArray
    reason: str = ""


def compute_grasp(
    system: System,
    q: FloatArray,
    minimum_force_n: float = 1.0,
    friction: float = 0.4,
    reach_m: float = 1e-3,
    effort_share: float = EFFORT_SHARE,
    pairs: IntArray | None = None,
    scene: Scene | None = None,
) -> Grasp:
    """Return forces and commands that hold the objects at q (n_q,).

    Parameters
    ----------
    minimum_force_n : float
        Least normal force at every contact, N.
    friction : float
        Friction coefficient of the cones, below the real one for a margin.
    reach_m : float
        Pairs with a smaller gap count as contacts, m.
    effort_share : float
        Share of the URDF's effort limits that may be used.
    pairs : (n,) array of int, optional
        Contacts to use, whatever their gap.
    scene : Scene, optional
        Of the system, for callers with many postures; laid out where None.
    """
    q, scene = system.check_q(q), scene or make_scene(system)
    model, ws = scene.model, scene.newton
    prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
    chosen = closest_pair_per_finger(scene.fingers, ws.con.phi, reach_m) if pairs is None else pairs
    if not len(chosen):
        return _failed(f"no robot link within {1e3 * reach_m:.2f} mm of the object")
    J = stacked_jacobian(model.pairs, ws.con, chosen, system.n_v)
    normals = ws.con.n[chosen]
    limit = effort_share * system.tau_max_nm
    f = _balance(J, -ws.b[: system.n_v_u], normals, friction, minimum_force_n, limit)
    if f is None:
        return _failed(
            f"no forces of at least {minimum_force_n} N at {len(chosen)} contacts, within friction {friction} and "
            f"{100 * effort_share:.0f} % of the effort limits, balance the object"
        )
    f_n = np.einsum("ci,ci->c", f, normals)
    f_t = np.linalg.norm(f - f_n[:, None] * normals, axis=1)
    u = q[system.n_q_u :] - (J.T @ f.ravel())[system.n_v_u :] / system.kp
    return Grasp(True, chosen, f_n, 1.0 - f_t / (model.mu[chosen] * f_n), u)


def _balance(
    J: FloatArray, weight: FloatArray, normals: FloatArray, friction: float, minimum_force_n: float, limit: FloatArray
) -> FloatArray | None:
    """Return the forces (n, 3) of the program, None where it has no solution. weight is tau_u (n_v_u,)."""
    n, n_u = len(normals), len(weight)
    normal = np.zeros((n, 3 * n))
    for c, direction in enumerate(normals):
        normal[c, 3 * c : 3 * c + 3] = direction
    cones = np.zeros((4 * n, 3 * n))
    for c, direction in enumerate(normals):
        cones[4 * c, 3 * c : 3 * c + 3] = friction * direction
        cones[4 * c + 1 : 4 * c + 4, 3 * c : 3 * c + 3] = np.eye(3) - np.outer(direction, direction)
    torque = J[:, n_u:].T
    A = np.vstack([J[:, :n_u].T, -normal, torque, -torque, -cones])
    b = np.concatenate([-weight, np.full(n, -minimum_force_n), limit, limit, np.zeros(4 * n)])
    kinds = [clarabel.ZeroConeT(n_u), clarabel.NonnegativeConeT(n + 2 * len(limit))]
    kinds += [clarabel.SecondOrderConeT(4) for _ in range(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    identity = csc_matrix(np.eye(3 * n))
    solution = clarabel.DefaultSolver(identity, np.zeros(3 * n), csc_matrix(A), b, kinds, settings).solve()
    return np.array(solution.x).reshape(n, 3) if str(solution.status) in SOLVED else None


def _failed(reason: str) -> Grasp:
    empty = np.zeros(0)
    return Grasp(False, np.zeros(0, dtype=np.int64), empty, empty, empty, reason)
