"""The laws of contact (3) to (8) of seeds/002, compiled. Equation numbers are the paper's.

Readings that depart from the print, each because the printed form does not hold anything up:

- (3) sums n_i weighted by omega_i with n_i "the distance vector from its centre to c": up to 75 degrees off. Normals
  are taken; with weights of area ("area", the default) both sums are one vector, exactly, since the overlap is closed;
  with the volumes of Algorithm 1's pyramids ("weights") they differ by a few degrees.
- (6) multiplies by delta_i alone, which fades to 0: everything falls through. Read as 1 + delta_i, and f >= 0.
- (5) prints t_v = g_t d_v - t_c; t_c is an instant, so t_v = g_t d_v + t_c. Delta v_c is that of the first contact.
- (8) takes the whole relative velocity; its part along the force is left to (6), friction is tangential.
"""

import numpy as np
from numba import njit

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

G1, G2, GI, DT, GT, CAP, BETA, GAMMA, IS_FILTER, OMEGA, ZETA, IS_WEIGHTED, IS_SPREAD = range(13)
LEAST_SPEED_M_S = 1e-12


@njit(**INNER)
def contact_direction(row: FloatArray, pieces: FloatArray, count: int, is_weighted: float, out: FloatArray) -> float:
    """Write s_n (3,), the direction from A into B, by (3); return |s_d| of the area, m^2.

    s_d = sum over A of omega_i n_i - sum over B of omega_i n_i. With omega_i = area_i both sums are S and -S, and
    s_n = S/|S|. With omega_i = area_i |centre_i - c| / 3 the part of A is taken, whose pieces are known.
    """
    s0, s1, s2 = row[4], row[5], row[6]
    if is_weighted > 0.0:
        s0, s1, s2 = 0.0, 0.0, 0.0
        for t in range(count):
            q = pieces[t]
            depth = np.sqrt((q[0] - row[1]) ** 2 + (q[1] - row[2]) ** 2 + (q[2] - row[3]) ** 2)
            s0 += depth * q[3]
            s1 += depth * q[4]
            s2 += depth * q[5]
    size = np.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    if size > 0.0:
        out[0], out[1], out[2] = s0 / size, s1 / size, s2 / size
    return float(np.sqrt(row[4] ** 2 + row[5] ** 2 + row[6] ** 2))


@njit(**COMPILED)
def impact_gain(parameters: FloatArray, masses_kg: float, since_s: float, speed_m_s: float) -> float:
    """Return delta_i of (5), -, capped, `since_s` after a first contact at a closing speed Delta v_c.

    delta_i = i_v / (sqrt(pi) d_v) exp(-((t - t_v) / d_v)^2), i_v = g_i (m_A + m_B) Delta v_c, d_v = d_t / Delta v_c,
    t_v = t_c + g_t d_v: a bump of the width in which the bodies would go d_t deep.
    """
    if parameters[GI] == 0.0 or speed_m_s <= LEAST_SPEED_M_S:
        return 0.0
    width = parameters[DT] / speed_m_s
    size = parameters[GI] * masses_kg * speed_m_s / (np.sqrt(np.pi) * width)
    gain = size * np.exp(-(((since_s - parameters[GT] * width) / width) ** 2))
    return float(min(gain, parameters[CAP]))


@njit(**COMPILED)
def normal_force(parameters: FloatArray, volume_m3: float, rate_m3_s: float, gain: float) -> float:
    """Return f_r = (1 + delta_i) (g1 v + g2 dv/dt), N, by (6), not below 0: contacts do not pull."""
    return float(max(0.0, (1.0 + gain) * (parameters[G1] * volume_m3 + parameters[G2] * rate_m3_s)))


@njit(**COMPILED)
def friction_force(
    parameters: FloatArray, mu: float, force_n: float, v0: float, v1: float, v2: float, share: float, out: FloatArray
) -> None:
    """Write f_f (3,), N, by (8) for a tangential velocity: -(mu f_n tanh(gamma |v|) + beta |v|) v / |v|.

    share is the part of the contact that this point stands for: 1, or less where friction is spread.
    """
    speed = np.sqrt(v0 * v0 + v1 * v1 + v2 * v2)
    if speed < LEAST_SPEED_M_S:
        size = mu * force_n * parameters[GAMMA] + parameters[BETA]
    else:
        size = mu * force_n * np.tanh(parameters[GAMMA] * speed) / speed + parameters[BETA]
    out[0], out[1], out[2] = -share * size * v0, -share * size * v1, -share * size * v2


@njit(**COMPILED)
def filter_rates(parameters: FloatArray, volume_m3: float, v_f: float, rate_f: float) -> tuple[float, float]:
    """Return dv_f/dt and its rate by (4): v_f'' = -2 zeta omega_n v_f' + omega_n^2 (v - v_f)."""
    omega = parameters[OMEGA]
    return rate_f, -2.0 * parameters[ZETA] * omega * rate_f + omega**2 * (volume_m3 - v_f)
