"""What recorded small motions say of a joint: onset of a step, friction, stiffness, weight that nobody carries."""

import numpy as np

from contact_mpc.settings.arrays import FloatArray

ONSET_SHARES = (0.02, 0.25)  # of a step, between which its form tells when it began
PHASES = np.linspace(0.0, 2.0, 401)  # w t of a critically damped response
RESPONSE = 1.0 - (1.0 + PHASES) * np.exp(-PHASES)
LEAST_TICKS = 5


def onset_s(t_s: FloatArray, q: FloatArray, sent_s: float, step_rad: float) -> float:
    """Return the time from a step's command to its motion, s; NaN where the joint does not follow.

    A joint under a law that damps it critically answers with s = 1 - (1 + x) exp(-x), x = w (t - t_0), so that x of the
    share s that it has gone is a line in time that meets zero at t_0. Damping that is off shifts t_0 by a few per cent
    of 1 / w.

    Parameters
    ----------
    t_s, q : (n,) array
        Stamps of the states, s, and positions, rad; some of them before the command.
    sent_s : float
        When the step was sent, s, of the same clock.
    step_rad : float
        The step.
    """
    before = q[t_s <= sent_s]
    if not len(before):
        return float("nan")
    moved = np.sign(step_rad) * (q - np.median(before)) / abs(step_rad)
    after = t_s > sent_s
    rising = after & (moved > ONSET_SHARES[0]) & (moved < ONSET_SHARES[1])
    top = np.flatnonzero(after & (moved >= ONSET_SHARES[1]))
    if not len(top):
        return float("nan")
    rising &= np.arange(len(q)) <= top[0]
    if rising.sum() < 2:
        return float(t_s[top[0]] - sent_s)
    slope, start = np.polyfit(t_s[rising], np.interp(moved[rising], RESPONSE, PHASES), 1)
    return float(-start / slope - sent_s) if slope > 0.0 else float("nan")


def friction_and_offset(torque: FloatArray, direction: FloatArray) -> tuple[float, float]:
    """Return dry friction and the mean torque of a slow sweep to and fro, N m: (up - down) / 2, (up + down) / 2.

    Parameters
    ----------
    torque : (n,) array
        Torque of the drive without what its weight needs, N m.
    direction : (n,) array
        +1 on the way up, -1 on the way down, 0 elsewhere.
    """
    up, down = torque[direction > 0], torque[direction < 0]
    if min(len(up), len(down)) < LEAST_TICKS:
        return float("nan"), float("nan")
    return float(up.mean() - down.mean()) / 2.0, float(up.mean() + down.mean()) / 2.0


def stiffness(torque: FloatArray, deflection: FloatArray, speed: FloatArray) -> float:
    """Return K of tau = K (u - q) - D dq + c by least squares, N m/rad; NaN where the deflection hardly changes."""
    if len(torque) < LEAST_TICKS or np.ptp(deflection) < 1e-6:
        return float("nan")
    rows = np.column_stack([deflection, -speed, np.ones_like(speed)])
    (found, *_), _, rank, _ = np.linalg.lstsq(rows, torque, rcond=None)
    return float(found) if rank == rows.shape[1] else float("nan")


def sweep(t_s: float, amplitude_rad: float, period_s: float) -> tuple[float, int]:
    """Return the offset, rad, of a triangle that begins at zero upwards, and its direction, at a time, s."""
    phase = (t_s / period_s) % 1.0
    if phase < 0.25:
        return 4.0 * amplitude_rad * phase, 1
    if phase < 0.75:
        return amplitude_rad * (2.0 - 4.0 * phase), -1
    return amplitude_rad * (4.0 * phase - 4.0), 1
