"""Local metric of a node and its reachable set, from the smoothed linearisation, for all nodes of a tree at once.

With q+ = f_kappa(q_bar, u_bar) the smoothed step at the node's own command and B_u its derivative, object rows only,

    Sigma(q_bar)  = B_u B_u' + diag(gamma)
    rho(q; q_bar) = 1/2 (q_u - q+_u)' Sigma^-1 (q_u - q+_u)             (seeds/003, "RRT through contact")
    R_eps(q_bar)  = {q+_u + B_u du : |du| <= eps}                       the same with gamma = 0: rho <= eps^2 / 2

rho is half the squared norm of the change of commands that takes the object to q in one linearised step, and grows with
1 / gamma along directions in which the contacts of the node cannot move the object. Differences are tangent ones; gamma
of a turn is in (rad/rad)^2, of a position in (m/rad)^2, and the paper takes one number for both. u_bar is the command
that holds the robot at q_bar: the paper takes q_bar_a, which is the same where the springs carry no load.

Where it is wrong: joint limits and torque limits are not in it, nor is anything beyond one linearised step.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numba import njit

from contact_mpc.dynamics.smoothed.cholesky import factorise
from contact_mpc.model.kinematic_tree import Tree
from contact_mpc.optimisation.horizon import object_error_into
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER
from contact_mpc.settings.named_arrays import Shape, allocate


class Metrics(NamedTuple):
    """Metrics of N nodes in flat arrays.

    q_next : (N, n_q) smoothed next configuration, of which q_u counts
    B : (N, n_v_u, n_a) object rows of B;  whiten : (N, n_v_u, n_v_u) L^-T with L' L = Sigma, upper triangular
    """

    q_next: Annotated[FloatArray, Shape("N", "n_q")]
    B: Annotated[FloatArray, Shape("N", "n_v_u", "n_a")]
    whiten: Annotated[FloatArray, Shape("N", "n_v_u", "n_v_u")]


def make_metrics(nodes: int, n_q: int, n_v_u: int, n_a: int) -> Metrics:
    """Allocate for so many nodes."""
    return allocate(Metrics, {"N": nodes, "n_q": n_q, "n_v_u": n_v_u, "n_a": n_a})


@njit(**COMPILED)
def write_metric(metrics: Metrics, node: int, q_next: FloatArray, B: FloatArray, gamma: FloatArray) -> bool:
    """Store q_next (n_q,), B (n_v_u, n_a) and L^-T of one node, gamma (n_v_u,); False where Sigma is not definite."""
    n = metrics.B.shape[1]
    metrics.q_next[node] = q_next
    metrics.B[node] = B[:n]
    sigma, L = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            value = gamma[i] if i == j else 0.0
            for k in range(B.shape[1]):
                value += B[i, k] * B[j, k]
            sigma[i, j] = value
    if not factorise(sigma, L):
        return False
    transposed = metrics.whiten[node]
    transposed[:, :] = 0.0
    for j in range(n):  # forward substitution of the columns of the identity
        for i in range(j, n):
            value = 1.0 if i == j else 0.0
            for k in range(j, i):
                value -= L[i, k] * transposed[j, k]
            transposed[j, i] = value / L[i, i]
    return True


def with_gamma(metrics: Metrics, gamma: FloatArray) -> Metrics:
    """Return the metrics of the same linearisations with another gamma (n_v_u,), all positive."""
    other = Metrics(metrics.q_next, metrics.B, np.empty_like(metrics.whiten))
    for node, (q_next, B) in enumerate(zip(metrics.q_next, metrics.B, strict=True)):
        write_metric(other, node, q_next, B, gamma)
    return other


@njit(**INNER)
def whitened_square(whiten: FloatArray, e: FloatArray) -> float:
    """Return e' Sigma^-1 e of a tangent difference e (n_v_u,)."""
    total = 0.0
    for i in range(e.shape[0]):
        value = 0.0
        for j in range(i, e.shape[0]):
            value += whiten[i, j] * e[j]
        total += value * value
    return total


@njit(**COMPILED)
def local_distances_into(tree: Tree, metrics: Metrics, count: int, q: FloatArray, out: FloatArray) -> None:
    """Write rho(q; node) of the first `count` nodes to a target q (n_q,), of which q_u counts."""
    n = metrics.B.shape[1]
    e = np.empty(n)
    for node in range(count):
        object_error_into(tree, n, metrics.q_next[node], q, e)
        out[node] = 0.5 * whitened_square(metrics.whiten[node], e)


@njit(**COMPILED)
def global_distances_into(
    tree: Tree, weight: FloatArray, nodes_q: FloatArray, count: int, q: FloatArray, out: FloatArray
) -> None:
    """Write 1/2 e' diag(weight) e with e the difference of q_u to the node's own, the metric that knows no contact."""
    e = np.empty(weight.shape[0])
    for node in range(count):
        object_error_into(tree, weight.shape[0], nodes_q[node], q, e)
        total = 0.0
        for i in range(e.shape[0]):
            total += weight[i] * e[i] * e[i]
        out[node] = 0.5 * total


def reachable_set(c_u: FloatArray, B_u: FloatArray, epsilon: float, directions: FloatArray) -> FloatArray:
    """Return the boundary points of R_eps projected along `directions`, in the tangent space at q_bar.

    Parameters
    ----------
    c_u : (n_v_u,) array
        Displacement of the object at du = 0.
    B_u : (n_v_u, n_a) array
        Object rows of B.
    epsilon : float
        Largest |du|, rad (m).
    directions : (n, n_v_u) array
        Directions in tangent space; the support point of R_eps is returned for each.

    Returns
    -------
    (n, n_v_u) array
        c_u + eps B_u B_u' d / |B_u' d|, the farthest point of the set along d.
    """
    commands = directions @ B_u
    length = np.maximum(np.linalg.norm(commands, axis=1, keepdims=True), 1e-12)
    return np.asarray(c_u + epsilon * (commands / length) @ B_u.T)
