"""The guard's arithmetic: a setpoint and a torque within limits for any request, also NaN, infinite or huge.

Compiled, without allocation, pure functions of their arguments.
"""

from enum import IntEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.control.bridge.guard.jerk import next_smooth_velocity
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING

CountArray = NDArray[np.int64]


class ClampKind(IntEnum):
    """Kinds of intervention; also the rows of the counters."""

    POSITION = 0
    VELOCITY = 1
    ACCELERATION = 2
    JUMP = 3
    EFFORT = 4
    TORQUE_RATE = 5
    NON_FINITE = 6
    SELF_DISTANCE = 7
    CONTACT_FORCE = 8


_POSITION, _VELOCITY, _ACCELERATION = int(ClampKind.POSITION), int(ClampKind.VELOCITY), int(ClampKind.ACCELERATION)
_JUMP, _EFFORT, _RATE = int(ClampKind.JUMP), int(ClampKind.EFFORT), int(ClampKind.TORQUE_RATE)
_NON_FINITE = int(ClampKind.NON_FINITE)


@njit(**RAISING)
def fastest_approach(distance: float, a_max: float, dt_s: float) -> float:
    """Return the largest velocity v for one step from which braking at a_max still ends within a distance.

    v dt + v^2 / (2 a_max) = distance, so v = a_max (sqrt(dt^2 + 2 distance / a_max) - dt). After that step
    v^2 / (2 a_max) is at most what is left, and so it stays when every later step, of whatever length, brakes.
    """
    return a_max * (np.sqrt(dt_s * dt_s + 2.0 * max(distance, 0.0) / a_max) - dt_s)


@njit(**RAISING)
def next_velocity(
    u_request: float, rate: float, u_before: float, v_before: float, dt_s: float,
    low: float, high: float, v_max: float, a_max: float, a_before: float, j_max: float,
) -> float:  # fmt: skip
    """Return the velocity of one step towards a moving request, within the limits of one joint.

    A request that can be met in this step, at a velocity within a_max dt of its own rate, is met. Any other is
    approached as fast as braking allows: with e = u_request - rate dt - u_before the gap at the beginning,
    v = rate + sign(e) `fastest_approach`(abs(e)), which meets it without overshoot where limits allow. Then

    v in [v_before - a_max dt, v_before + a_max dt], [-v_max, v_max], and towards `low` and `high` no faster than
    `fastest_approach`; where these exclude one another, the later ones win.

    With a finite j_max, which these win over too, `next_smooth_velocity` chooses what they then limit.

    Parameters
    ----------
    u_request, rate : float
        Finite position, rad, within [low, high], and its rate, rad/s, within +-v_max.
    u_before, v_before : float
        Position, rad, and velocity, rad/s, of the step before.
    dt_s : float
        Length of the step > 0, s.
    low, high : float
        Range that may be used, low <= u_before <= high, rad.
    v_max, a_max : float
        Limits, rad/s and rad/s^2.
    a_before, j_max : float
        Acceleration of the step before, rad/s^2, and limit of its change, rad/s^3; inf: none.
    """
    wanted = (u_request - u_before) / dt_s
    if np.isfinite(j_max):
        wanted = next_smooth_velocity(
            u_request, rate, u_before, v_before, a_before, dt_s, low, high, v_max, a_max, j_max
        )
    elif abs(wanted - rate) > a_max * dt_s:
        gap = u_request - rate * dt_s - u_before
        wanted = rate + np.sign(gap) * fastest_approach(abs(gap), a_max, dt_s)
    wanted = min(max(wanted, v_before - a_max * dt_s), v_before + a_max * dt_s)
    slowest = -min(v_max, fastest_approach(u_before - low, a_max, dt_s))
    fastest = min(v_max, fastest_approach(high - u_before, a_max, dt_s))
    return min(max(wanted, slowest), fastest)


@njit(**RAISING)
def guard_setpoint(
    u_request: FloatArray, du_request: FloatArray, rate: FloatArray, u_before: FloatArray, v_before: FloatArray,
    a_before: FloatArray, dt_s: float, q_min: FloatArray, q_max: FloatArray, v_max: FloatArray, a_max: FloatArray,
    j_max: FloatArray, jump: FloatArray, u: FloatArray, du: FloatArray, v: FloatArray, a: FloatArray,
    clamped: CountArray,
) -> bool:  # fmt: skip
    """Limit a setpoint and its rate; returns whether the request was refused as a whole.

    u = u_before + v dt, with v by `next_velocity` towards clip(u_request, min(q_min, u_before), max(q_max, u_before));
    du = clip(du_request, -v_max, v_max). A refused request (not finite, or further than `jump`) counts as one to stop:
    u_request = u_before, du_request = rate = 0. Without time (dt = 0) nothing moves.

    Parameters
    ----------
    u_request, du_request, rate : (n_a,) array
        Anything: setpoint, rad, rate for the impedance law and rate of the setpoint itself, rad/s.
    u_before, v_before : (n_a,) array
        Setpoint of the command before, rad, and the velocity that it moved with, rad/s; finite.
    a_before : (n_a,) array
        Change of that velocity, rad/s^2; finite.
    dt_s : float
        Time since the command before >= 0, s.
    q_min, q_max, v_max, a_max, j_max, jump : (n_a,) array
        See `GuardLimits`.
    u, du, v, a : (n_a,) array
        Receive the limited setpoint and rate, and the setpoint's velocity and acceleration.
    clamped : (n_kinds, n_a) array
        Receives 1 for each intervention by kind and joint; the rows of the torque stay untouched.
    """
    refused = False
    for i in range(u.shape[0]):
        clamped[_POSITION, i] = clamped[_VELOCITY, i] = clamped[_ACCELERATION, i] = 0
        clamped[_JUMP, i] = clamped[_NON_FINITE, i] = 0
        if not (np.isfinite(u_request[i]) and np.isfinite(du_request[i]) and np.isfinite(rate[i])):
            clamped[_NON_FINITE, i] = 1
            refused = True
        elif abs(u_request[i] - u_before[i]) > jump[i]:
            clamped[_JUMP, i] = 1
            refused = True
    for i in range(u.shape[0]):
        start = u_before[i]
        wanted, du_wanted, rate_wanted = start, 0.0, 0.0
        if not refused:
            wanted, du_wanted = u_request[i], du_request[i]
            rate_wanted = min(max(rate[i], -v_max[i]), v_max[i])
        low, high = min(q_min[i], start), max(q_max[i], start)
        within = min(max(wanted, low), high)
        du[i] = min(max(du_wanted, -v_max[i]), v_max[i])
        end = start
        if dt_s > 0.0:
            v_start = v_before[i]
            v[i] = next_velocity(
                within, rate_wanted, start, v_start, dt_s, low, high, v_max[i], a_max[i], a_before[i], j_max[i]
            )
            a[i] = (v[i] - v_start) / dt_s
            is_met = v[i] == (within - start) / dt_s
            end = within if is_met else min(max(start + v[i] * dt_s, low), high)
        u[i] = end
        clamped[_POSITION, i] = int(within != wanted)
        clamped[_VELOCITY, i] = int(du[i] != du_wanted or abs(within - start) > v_max[i] * dt_s)
        is_explained = refused or clamped[_POSITION, i] or clamped[_VELOCITY, i]
        clamped[_ACCELERATION, i] = int(end != within and not is_explained)
    return refused


@njit(**RAISING)
def guard_torque(
    tau_request: FloatArray, tau_before: FloatArray, dt_s: float, tau_max: FloatArray, tau_rate: FloatArray,
    tau: FloatArray, clamped: CountArray,
) -> None:  # fmt: skip
    """Limit a torque; a non-finite request keeps the joint's torque of the command before.

    tau = clip(clip(tau_request, -tau_max, tau_max), tau_before - tau_rate dt, tau_before + tau_rate dt)

    Parameters
    ----------
    tau_request : (n_a,) array
        Anything, N m.
    tau_before : (n_a,) array
        Torque of the command before, within tau_max, N m.
    dt_s : float
        Time since the command before, s.
    tau_max, tau_rate : (n_a,) array
        See `GuardLimits`.
    tau : (n_a,) array
        Receives the limited torque.
    clamped : (n_kinds, n_a) array
        Receives 1 for each intervention; NON_FINITE is only ever raised, not lowered.
    """
    for i in range(tau.shape[0]):
        wanted = tau_request[i]
        if not np.isfinite(wanted):
            clamped[_NON_FINITE, i] = 1
            wanted = tau_before[i]
        within = min(max(wanted, -tau_max[i]), tau_max[i])
        step = tau_rate[i] * dt_s
        tau[i] = min(max(within, tau_before[i] - step), tau_before[i] + step)
        clamped[_EFFORT, i] = int(within != wanted)
        clamped[_RATE, i] = int(tau[i] != within)
