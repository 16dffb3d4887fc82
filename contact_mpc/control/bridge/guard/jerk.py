"""A setpoint whose acceleration changes by no more than a jerk limit, and that still stops in time.

The joint is taken for a triple integrator, x''' within +-j, x'' within +-a_max. Where it comes to rest from velocity v
and acceleration a has a closed form (`rest_distance`), monotone in the acceleration of the next step; so the largest
one from which a limit or the request is not overshot is found by bisection. The form is that of continuous time, and
the setpoint moves in steps: limits of position, velocity and acceleration are kept by the caller and win over the jerk.
"""

import numpy as np
from numba import njit

from contact_mpc.settings.code.compile_flags import RAISING

BISECTIONS = 40  # of the interval of accelerations, 2 j dt wide at most


@njit(**RAISING)
def stopping_distance(v: float, a_max: float, j_max: float) -> float:
    """Return the way from velocity v >= 0 without acceleration to rest without acceleration.

    The velocity falls along an S of mean v / 2: v sqrt(v / j), where the deceleration peaks below a_max (v <=
    a_max^2 / j), else v / 2 (v / a_max + a_max / j).
    """
    if v * j_max <= a_max * a_max:
        return v * np.sqrt(v / j_max)
    return 0.5 * v * (v / a_max + a_max / j_max)


@njit(**RAISING)
def rest_distance(v: float, a: float, a_max: float, j_max: float) -> float:
    """Return the signed way to rest (no velocity, no acceleration) from velocity v and acceleration a.

    While a goes to zero at the limit's rate, v changes by s = a abs(a) / (2 j). Where a already brakes what is left,
    the joint is on its S, begun at v - s; else a goes to zero first, and a whole S follows from v + s.

    Parameters
    ----------
    v, a : float
        Velocity, rad/s, and acceleration, rad/s^2, the latter within +-a_max.
    a_max, j_max : float
        Limits > 0, rad/s^2 and rad/s^3.
    """
    t = abs(a) / j_max
    s = 0.5 * a * t
    if a * (v + s) < 0.0:
        begun = v - s
        return np.sign(begun) * stopping_distance(abs(begun), a_max, j_max) - (begun * t + a * t * t / 6.0)
    left = v + s
    return v * t + a * t * t / 3.0 + np.sign(left) * stopping_distance(abs(left), a_max, j_max)


@njit(**RAISING)
def largest_acceleration(
    room: float, v_top: float, rate: float, v_before: float, least: float, most: float,
    dt_s: float, a_max: float, j_max: float,
) -> float:  # fmt: skip
    """Return the largest acceleration of one step, within [least, most], after which nothing need be overshot.

    With v = v_before + a dt: v dt + `rest_distance`(v - rate, a) <= room, and v + max(a, 0)^2 / (2 j) <= v_top. Both
    rise with a; `least` where they cannot be kept.

    Parameters
    ----------
    room : float
        Way to where the setpoint, at the step's end, has to be or to stop, rad.
    v_top : float
        Velocity that must not be passed, rad/s.
    rate : float
        Velocity of that point, rad/s.
    v_before : float
        Velocity of the step before, rad/s.
    least, most : float
        Accelerations to choose from, rad/s^2.
    dt_s : float
        Length of the step > 0, s.
    a_max, j_max : float
        Limits, rad/s^2 and rad/s^3.
    """
    low, high = least, most
    a = most
    for _ in range(BISECTIONS):
        v = v_before + a * dt_s
        is_too_far = v * dt_s + rest_distance(v - rate, a, a_max, j_max) > room
        if is_too_far or v + 0.5 * max(a, 0.0) ** 2 / j_max > v_top:
            high = a
        else:
            low = a
            if a == most:
                break
        a = 0.5 * (low + high)
    return low


@njit(**RAISING)
def next_smooth_velocity(
    u_request: float, rate: float, u_before: float, v_before: float, a_before: float, dt_s: float,
    low: float, high: float, v_max: float, a_max: float, j_max: float,
) -> float:  # fmt: skip
    """Return the velocity of one step towards a moving request, its acceleration within j_max dt of the one before.

    A request that can be met in this step, at a velocity within j dt^2 / 2 of its own rate (from which one step more
    takes the rest of it away), is met. Any other is approached as fast as it can be met without overshoot. Ways to
    `low`, `high` and v_max are kept in the same manner, one step earlier than must be.

    Parameters
    ----------
    u_request, rate : float
        Finite position, rad, within [low, high], and its rate, rad/s, within +-v_max.
    u_before, v_before, a_before : float
        Position, rad, velocity, rad/s, and acceleration, rad/s^2, of the step before.
    dt_s : float
        Length of the step > 0, s.
    low, high : float
        Range that may be used, low <= u_before <= high, rad.
    v_max, a_max, j_max : float
        Limits, rad/s, rad/s^2 and rad/s^3.
    """
    least = min(max(a_before - j_max * dt_s, -a_max), a_max)
    most = max(min(a_before + j_max * dt_s, a_max), -a_max)
    gap = u_request - u_before
    wanted = gap / dt_s
    a_wanted = (wanted - v_before) / dt_s
    is_met = abs(wanted - rate) <= 0.5 * j_max * dt_s * dt_s and least <= a_wanted <= most
    if not is_met:
        a_wanted = largest_acceleration(gap, np.inf, rate, v_before, least, most, dt_s, a_max, j_max)
    step = abs(v_before) * dt_s
    top = largest_acceleration(high - u_before - step, v_max, 0.0, v_before, least, most, dt_s, a_max, j_max)
    bottom = -largest_acceleration(u_before - low - step, v_max, 0.0, -v_before, -most, -least, dt_s, a_max, j_max)
    a = min(max(a_wanted, bottom), top)
    return wanted if is_met and a == a_wanted else v_before + a * dt_s
