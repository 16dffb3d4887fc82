"""Random states of contact, for studies of derivatives and for tests: one pair at a drawn gap, none much deeper."""

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton, measure_gaps, prepare_step
from contact_mpc.errors import InputError
from contact_mpc.geometry.fingers import contact_jacobian
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.settings.arrays import FloatArray

DEEPEST_M = 3e-3
TRIES_PER_STATE = 200
COMMAND_SPREAD_RAD = 0.02
LARGEST_MOVE = 0.2  # rad or m per iteration of `bring_to_gap`
ROUND_OFF_M = 1e-9


def draw_states(
    dynamics: ContactDynamics,
    q_centre: FloatArray,
    spread: float,
    count: int,
    gap_m: tuple[float, float],
    rng: np.random.Generator,
    turn_freely: bool = True,
    deepest_m: float = DEEPEST_M,
) -> list[tuple[FloatArray, FloatArray]]:
    """Return `count` states (q, u) whose step converges.

    Parameters
    ----------
    q_centre, spread
        q is drawn about q_centre (n_q,) with this standard deviation, rad and m.
    gap_m
        Range of the signed distance to which one pair, drawn at random, is brought, m.
    turn_freely
        Free bodies get any orientation.
    deepest_m
        Largest penetration of any pair, m.

    Raises
    ------
    InputError
        Too few states are found.
    """
    system, ws, found = dynamics.system, make_newton(dynamics.model), []
    for _ in range(TRIES_PER_STATE * count):
        c = int(rng.integers(len(dynamics.model.mu)))
        q = system.integrate(q_centre, rng.normal(0.0, spread, system.n_v))
        for kind, i in zip(system.tree.joint, system.tree.i_q, strict=True):
            if kind == FREE and turn_freely:
                quaternion = rng.normal(size=4)
                q[i : i + 4] = quaternion / np.linalg.norm(quaternion)
        q = bring_to_gap(dynamics, ws, q, c, rng.uniform(*gap_m))
        u = q[system.n_q_u :] + rng.normal(0.0, COMMAND_SPREAD_RAD, system.n_a)
        gaps = measure_gaps(dynamics.model, ws, q)
        is_at_gap = gap_m[0] - ROUND_OFF_M <= gaps[c] <= gap_m[1] + ROUND_OFF_M
        if is_at_gap and gaps.min() > -deepest_m - ROUND_OFF_M and dynamics.step(q, u).is_converged:
            found.append((q, u))
        if len(found) == count:
            return found
    raise InputError(f"{system.name}: only {len(found)} of {count} states found with a gap in {gap_m} m: widen it")


def bring_to_gap(dynamics: ContactDynamics, ws: Newton, q: FloatArray, c: int, gap_m: float) -> FloatArray:
    """Return q moved along the contact Jacobian until contact c has this gap, as far as a few iterations go."""
    model, system = dynamics.model, dynamics.system
    for _ in range(20):
        prepare_step(model, ws, q, q[system.n_q_u :].copy(), np.zeros(len(model.mu)))
        if np.isinf(ws.con.phi[c]):  # two boxes have no such crossing here
            break
        row = ws.con.n[c] @ contact_jacobian(model.pairs, ws.con, c, system.n_v)
        step = row * (gap_m - ws.con.phi[c]) / (row @ row)
        q = system.integrate(q, step * min(1.0, LARGEST_MOVE / max(np.abs(step).max(), 1e-12)))
        if abs(gap_m - ws.con.phi[c]) < 1e-12:
            break
    return q
