"""An audit of steps: random states of a system, and checks that know the laws but nothing of the solvers.

A state is the centre's with a random displacement; in half of them free bodies are turned at random, and the nearest
pair is brought to a drawn gap, in a third of them to 0 exactly. From there up to MOST_STEPS steps of socp lead on, to
bodies that lie on others with the gaps that exact steps leave. Objects are quasi-dynamic in all formulations. Judged is
what `ContactDynamics.step` returns as "converged": with dq = q_next (-) q and f = impulse / h

    balance         |Q dq + b - J' f|                                              N, N m
    cone            |f_t| - mu f_n and -f_n                                        N
    penetration     of the linearised gaps, m: phi + nu (Coulomb: lcp, second_order), phi + nu - mu |d_t| (others; qp:
                    over rays)
    complementarity of socp and qp |f . d + phi f_n|, of Coulomb |f_n (phi + nu)|, each per max(1 N, |f|), m; of
                    log_barrier the largest |kappa (f . d + phi f_n) / 2 - 1|, -

A step whose worst exceeds the bounds below is wrong, as is one that is not finite; log_barrier's have A and B, too, for
they are smooth everywhere. Rotation of the world and derivatives (central differences of fourth order) are compared in
every SAMPLE-th state; both are reported, not counted: near a change of mode of the exact steps differences say nothing,
and lcp may choose among solutions.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contact_mpc.dynamics.analysis.turned_world import is_turnable, turn_state, turn_system
from contact_mpc.dynamics.contact_dynamics import ContactDynamics, StepResult
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

SPREAD, GAPS_M, COMMAND_SPREAD = 0.03, (-1e-3, 3e-3), 0.02  # rad and m; m; rad
GAP_ITERATIONS, LARGEST_MOVE, MOST_STEPS = 8, 0.1, 2
ALLOWED_FORCE, RELATIVE = 1e-5, 1e-8  # N and N m; of the largest force, weight or spring force
ALLOWED_M, ALLOWED_CENTRING = 2e-8, 1e-4
SAMPLE, DIFFERENCE, CLEAR_M = 10, 1e-6, 2e-5
TURN, SHIFT = np.array([0.7, -1.1, 0.4]), np.array([0.3, -0.2, 0.5])
KEYS = ("balance", "cone_n", "penetration_m", "complementarity", "frame_difference", "derivative_error")


@dataclass
class Audit:
    """Counts and worst figures over the states of one system and formulation."""

    states: int = 0
    converged: int = 0
    differentiable: int = 0
    wrong_steps: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    worst: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KEYS, 0.0))

    def note(self, key: str, value: float) -> None:
        """Keep the value if it is worse than what was seen."""
        self.worst[key] = float(np.maximum(self.worst[key], value))  # NaN is worse than any

    def add(self, other: "Audit") -> None:
        """Take in the counts of another part of the states."""
        for key in ("states", "converged", "differentiable", "wrong_steps"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        for status, count in other.statuses.items():
            self.statuses[status] = self.statuses.get(status, 0) + count
        for key, value in other.worst.items():
            self.note(key, value)


def draw_state(
    dynamics: ContactDynamics, q_centre: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a random state (q, u) of the system of `dynamics`, which is taken for the steps on the way."""
    system = dynamics.system
    q = system.integrate(q_centre, rng.normal(0.0, SPREAD, system.n_v))
    turned, gap = rng.random() < 0.5, 0.0 if rng.random() < 1.0 / 3.0 else rng.uniform(*GAPS_M)
    for kind, i in zip(system.tree.joint, system.tree.i_q, strict=True):
        if kind == FREE and turned:
            quaternion = rng.normal(size=4)
            q[i : i + 4] = quaternion / np.linalg.norm(quaternion)
    for _ in range(GAP_ITERATIONS):
        problem = dynamics.assemble(q, q[system.n_q_u :].copy())
        if not len(problem.phi):
            break
        c = int(np.argmin(problem.phi))
        row, missing = problem.n[c] @ problem.J[c], gap - problem.phi[c]
        if abs(missing) < 1e-15:
            break
        move = row * missing / (row @ row)
        q = system.integrate(q, move * min(1.0, LARGEST_MOVE / np.abs(move).max()))
    u = q[system.n_q_u :] + rng.normal(0.0, COMMAND_SPREAD, system.n_a)
    for _ in range(rng.integers(MOST_STEPS + 1)):
        result = dynamics.step(q, u)
        if not result.is_converged:
            break
        q = result.q_next
    return q, u


def audit_states(system: System, formulation: str, q_centre: FloatArray, states: int, seed: int) -> Audit:
    """Judge the steps of `states` random states; the same seed draws the same states for every formulation."""
    drawing, dynamics = (ContactDynamics(system, item, regularization="quasidynamic") for item in ("socp", formulation))
    found, rng = Audit(), np.random.default_rng(seed)
    R = rotation_exp(TURN)
    other = None
    if is_turnable(system):
        turned = turn_system(system, R, SHIFT)
        other = ContactDynamics(turned, formulation, regularization="quasidynamic")
    for index in range(states):
        q, u = draw_state(drawing, q_centre, rng)
        result = dynamics.step(q, u)
        found.states += 1
        found.statuses[result.status] = found.statuses.get(result.status, 0) + 1
        if not result.is_converged:
            continue
        found.converged += 1
        is_right = judge_step(dynamics, q, u, result, found)
        if dynamics.kind.is_differentiable:
            linear = dynamics.linearize(q, u)
            has_both = linear.is_differentiable and bool(np.isfinite(linear.B).all())
            found.differentiable += has_both
            is_right = is_right and (has_both or formulation != "log_barrier")
            if has_both and index % SAMPLE == 0:
                _compare_derivatives(dynamics, q, u, found)
        found.wrong_steps += int(not is_right)
        if other is not None and index % SAMPLE == 0:
            q_turned, T = turn_state(system, q, R, SHIFT)
            there = other.step(q_turned, u)
            if there.is_converged:
                here = T @ system.difference(q, result.q_next)
                moved = other.system.difference(q_turned, there.q_next)
                found.note("frame_difference", float(np.abs(moved - here).max()))
    return found


def judge_step(dynamics: ContactDynamics, q: FloatArray, u: FloatArray, result: StepResult, found: Audit) -> bool:
    """Whether a converged step is right; notes how far it is from it."""
    problem = dynamics.assemble(q, u)
    dq = dynamics.system.difference(q, result.q_next)
    force = (result.impulses * dynamics.model.pairs.sign[:, None] / dynamics.h_s)[problem.pair]
    n, mu, phi, d = problem.n, problem.mu, problem.phi, problem.J @ dq
    f_n, nu = np.einsum("ki,ki->k", n, force), np.einsum("ki,ki->k", n, d)
    f_t, d_t = force - f_n[:, None] * n, d - nu[:, None] * n
    pull = np.einsum("kiv,ki->v", problem.J, force)
    balance = float(np.abs(problem.Q @ dq + problem.b - pull).max())
    cone = float(np.maximum(np.linalg.norm(f_t, axis=1) - mu * f_n, -f_n).max(initial=0.0))
    lift = _lift(dynamics, problem, d_t)
    penetration = float(-np.min(phi + nu - lift, initial=0.0))
    work, size = np.einsum("ki,ki->k", force, d) + phi * f_n, np.maximum(np.linalg.norm(force, axis=1), 1.0)
    if dynamics.formulation == "log_barrier":
        complementarity, allowed = float(np.abs(0.5 * dynamics.kappa * work - 1.0).max(initial=0.0)), ALLOWED_CENTRING
    else:
        if dynamics.kind.is_coulomb:
            work = f_n * (phi + nu)
        complementarity, allowed = float((np.abs(work) / size).max(initial=0.0)), ALLOWED_M
    for key, value in zip(KEYS, (balance, cone, penetration, complementarity), strict=False):
        found.note(key, value)
    load = max(float(np.abs(problem.b).max()), float(np.abs(problem.Q * dq).max()), float(size.max(initial=1.0)))
    force_bound = ALLOWED_FORCE + RELATIVE * load
    others = np.delete(result.impulses, problem.pair, axis=0)
    is_whole = not np.any(others) and bool(np.isfinite(balance))
    return is_whole and max(balance, cone) <= force_bound and penetration <= ALLOWED_M and complementarity <= allowed


def _lift(dynamics: ContactDynamics, problem: StepProblem, d_t: FloatArray) -> FloatArray:
    """Return by how much sliding displacements (k, 3) must lift a contact, m."""
    if dynamics.kind.is_coulomb:
        return np.zeros(len(d_t))
    if dynamics.formulation != "qp":
        return np.asarray(problem.mu * np.linalg.norm(d_t, axis=1))
    angle = 2.0 * np.pi * np.arange(dynamics.ray_count) / dynamics.ray_count
    in_space = np.stack([np.cos(angle), np.sin(angle)])
    along = np.einsum("kji,ki->kj", problem.tangents, d_t)
    in_plane = np.array([[1.0, -1.0], [0.0, 0.0]])
    reach = [
        float(np.max(-a @ (in_plane if planar else in_space)))
        for a, planar in zip(along, problem.is_planar, strict=True)
    ]
    return np.asarray(problem.mu * np.array(reach))


def _compare_derivatives(dynamics: ContactDynamics, q: FloatArray, u: FloatArray, found: Audit) -> None:
    """Note the error of [A B] relative to its largest entry, where differences of two lengths agree."""
    system, linear = dynamics.system, dynamics.linearize(q, u)
    if dynamics.formulation != "log_barrier" and dynamics.margin(q, u) < CLEAR_M:
        return
    ends = []
    for size in (DIFFERENCE, -DIFFERENCE, 2.0 * DIFFERENCE, -2.0 * DIFFERENCE):
        for unit in size * np.eye(system.n_v + system.n_a):
            result = dynamics.step(system.integrate(q, unit[: system.n_v]), u + unit[system.n_v :])
            if not result.is_converged:
                return
            ends.append(system.difference(linear.step.q_next, result.q_next))
    y = np.array(ends).reshape(4, -1, system.n_v)
    near, far = (y[0] - y[1]).T / (2.0 * DIFFERENCE), (y[2] - y[3]).T / (4.0 * DIFFERENCE)
    J = (4.0 * near - far) / 3.0
    scale = float(np.abs(J).max())
    if np.abs(near - far).max() <= 1e-5 * scale:
        found.note("derivative_error", float(np.abs(np.hstack([linear.A, linear.B]) - J).max()) / scale)


def figures(found: Audit) -> dict[str, Any]:
    """Return the counts, shares and worst figures, for ``--json``."""
    return {
        "states": found.states,
        "share_converged": found.converged / max(found.states, 1),
        "share_differentiable": found.differentiable / max(found.converged, 1),
        "wrong_steps": found.wrong_steps,
        "statuses": found.statuses,
        **{f"worst_{key}": value for key, value in found.worst.items()},
    }
