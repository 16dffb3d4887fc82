"""What a command plan says at an instant.

Between its points a plan is linear in time, before the first point it is the first, after the last the last; whether
time after the last point is acceptable is the caller's decision (the command bridge holds there).
"""

from numba import njit

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import RAISING


@njit(**RAISING)
def interpolate_plan(
    times_s: FloatArray, u: FloatArray, du: FloatArray, tau_ff: FloatArray, t_s: float,
    out_u: FloatArray, out_du: FloatArray, out_tau_ff: FloatArray,
) -> None:  # fmt: skip
    """Interpolate a plan linearly at t_s without allocating.

    x(t) = x_k + (t - t_k) / (t_{k+1} - t_k) (x_{k+1} - x_k)  for t_k <= t < t_{k+1}, and the end points outside.

    Parameters
    ----------
    times_s : (n,) array
        Strictly increasing times after the plan's stamp, n >= 1, s.
    u, du, tau_ff : (n, n_a) array
        Command, rad; its rate, rad/s; feed-forward torque, N m.
    t_s : float
        Time after the plan's stamp, s.
    out_u, out_du, out_tau_ff : (n_a,) array
        Receive the values at t_s.
    """
    last = times_s.shape[0] - 1
    k, s = 0, 0.0
    if t_s >= times_s[last]:
        k = last
    elif t_s > times_s[0]:
        while t_s >= times_s[k + 1]:
            k += 1
        s = (t_s - times_s[k]) / (times_s[k + 1] - times_s[k])
    following = min(k + 1, last)
    for i in range(out_u.shape[0]):
        out_u[i] = u[k, i] + s * (u[following, i] - u[k, i])
        out_du[i] = du[k, i] + s * (du[following, i] - du[k, i])
        out_tau_ff[i] = tau_ff[k, i] + s * (tau_ff[following, i] - tau_ff[k, i])
