"""Error-state Kalman filter of one object's pose with constant velocity.

Model: x' = x (+) v dt, v' = v + w with white acceleration of density S. Measurement: the pose, noise R. With
F = [[A, B], [0, 1]] from the chart and D = [[S dt^3/3, S dt^2/2], [S dt^2/2, S dt]],

    P' = F P F' + D,    K = P H' (H P H' + R)^-1,    (dx, dv) = K (z (-) x),    P = (1 - K H) P (1 - K H)' + K R K'

(Joseph form). Where the robots' contacts carry the object (`contact_mpc.estimation.carried_motion`), their displacement
c comes on top, x' = x (+) (c + v dt), with the covariance (carry_error c)^2; v is then the velocity that the contacts
do not explain, and S is carried_accel_share^2 times what it is without. That is wrong while the contacts slip, which
shows as innovations to one side (`contact_mpc.estimation.innovation_trend`): then S is as without contacts and the
error of c slip_carry_error. The noise R = r R_0 follows the innovations, r <- r (1 + a (min(d^2, gate) / n - 1)) with
d^2 their squared Mahalanobis distance from their trend, so that the gate keeps its meaning for a camera that is better
or worse than assumed.

The filter lives at the stamps of the measurements, whenever they arrive; `predict` carries it to the time asked for,
which is what compensates the delay of the poses. Beyond the age at which poses are stale (config, `camera_timing`) v
moves nothing any more, and what it would have moved, v dt_s, is uncertainty, D_xx + diag(v dt_s)^2; what contacts carry
still counts, for carry_through_s, with an error in any direction: |c| in place of c. Wrong when the object accelerates
for longer than 1 / omega0 (see EstimatorConfig): it then lags by a / omega0^2.

Source: J. Sola, "Quaternion kinematics for the error-state Kalman filter", 2017, ch. 7 (global angular errors).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtri

from contact_mpc.errors import InputError
from contact_mpc.estimation.camera_timing import CameraTiming
from contact_mpc.estimation.charts import Chart, accel_covariance
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.innovation_trend import InnovationTrend
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S

MIN_RESTART_SPAN_S = 1e-3  # one outlier alone tells nothing about the velocity: its noise over this time
NOISE_RANGE = (0.01, 100.0)  # of r: a tenth to ten times the assumed standard deviation
AGREEING, AGREE_NS = 3, 100_000_000  # outliers that agree, and over how long: the object is there
LEAST_KNOWN = 0.9  # of the time since the last pose in which contacts carried the object
Carried = Callable[[int, int], tuple[FloatArray, float]]
Verdict = Literal["accepted", "outlier", "restarted", "late"]


@dataclass(frozen=True)
class FilterState:
    """Mean and covariance at one stamp. x: configuration; v: (n,) tangent velocity; P: (2n, 2n) of (dx, dv)."""

    stamp_ns: int
    x: FloatArray
    v: FloatArray
    P: FloatArray


class PoseFilter:
    """Pose filter of one object.

    Parameters
    ----------
    chart : Chart
        Its configuration space.
    config : EstimatorConfig
        Noise, gate and limits.
    carried : callable, optional
        Returns the displacement (n,) by which contacts carry the object between two stamps, ns, and the share of that
        time in which they do; nothing by default.
    timing : CameraTiming, optional
        What the camera shows of its rate and delay; who takes its poses keeps it.
    """

    def __init__(
        self,
        chart: Chart,
        config: EstimatorConfig,
        carried: Carried | None = None,
        timing: CameraTiming | None = None,
    ) -> None:
        self._chart, self._config, self._timing = chart, config, timing or CameraTiming()
        self._carried = carried or (lambda from_ns, to_ns: (np.zeros(chart.n), 0.0))
        self._noise_ratio, self._noise = 1.0, (config.pose_noise_rad, config.pose_noise_m)
        self._gate = float(chdtri(chart.n, 1.0 - config.gate_probability))
        self._state: FilterState | None = None
        self._density = np.zeros((chart.n, chart.n))
        self._first_outlier, self._last_outlier = (0, np.zeros(0)), np.zeros(0)
        self._agreeing, self._agree_from_ns = 0, 0
        self._trend = InnovationTrend(chart.n, config.slip_window_s, config.slip_probability)
        self._seen_ns, self._slips_until_ns = 0, 0
        self._taken = 0  # poses that agree with each other since the start
        self.consecutive_outliers = 0
        self.outliers = 0
        self.late = 0

    @property
    def slips(self) -> bool:
        """Whether, at the newest accepted measurement, the object does not follow what carries it."""
        return self._state is not None and self._state.stamp_ns < self._slips_until_ns

    @property
    def state(self) -> FilterState | None:
        """State at the newest accepted measurement; None before the first."""
        return self._state

    def update(
        self, stamp_ns: int, R_WB: FloatArray, p_WB: FloatArray, deviations: tuple[float, float] | None = None
    ) -> Verdict:
        """Take a pose measured at stamp_ns, whose standard deviations, rad and m, are those of the config unless given.

        Returns
        -------
        str
            "accepted"; "late": not newer than the newest, left out; "outlier": beyond the gate, left out;
            "restarted": outliers that agree, or too many in a row, so that the filter starts again here.
        """
        self._noise = deviations or (self._config.pose_noise_rad, self._config.pose_noise_m)
        if self._state is None:
            self._start(stamp_ns, R_WB, p_WB)
            self._seen_ns = stamp_ns
            return "accepted"
        if stamp_ns <= self._state.stamp_ns:
            self.late += 1
            return "late"
        prior = self._propagate(self._state, stamp_ns)
        z = self._chart.from_pose(R_WB, p_WB, prior.x)
        innovation = self._chart.difference(prior.x, z)
        noise = self._measurement_covariance(prior.x)
        n = self._chart.n
        gain = np.linalg.solve(prior.P[:n, :n] + noise, prior.P[:n, :]).T.astype(np.float64)
        distance = float(innovation @ np.linalg.solve(prior.P[:n, :n] + noise, innovation))
        root = np.linalg.cholesky(prior.P[:n, :n] + noise)
        self._note_innovation(stamp_ns, np.linalg.solve(root, innovation).astype(np.float64), distance)
        if distance > self._gate:
            return self._reject(stamp_ns, z)
        self._correct(prior, innovation, gain, noise)
        return "accepted"

    def predict(self, t_ns: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x, v (n,) and the covariance of x (n, n) at t_ns; the filter itself does not change.

        v is what the contacts do not explain, zero when poses are stale.
        """
        if self._state is None:
            raise InputError("pose filter: predict() before the first pose; give it a pose by update() first")
        moved, n = self._propagate(self._state, t_ns), self._chart.n
        return moved.x, np.zeros(n) if self.is_stale(t_ns) else moved.v, moved.P[:n, :n]

    def predict_mean(self, t_ns: int) -> FloatArray:
        """Return x at t_ns as `predict` does, without the covariance."""
        if self._state is None:
            raise InputError("pose filter: predict_mean() before the first pose; give it a pose by update() first")
        dx, _, _ = self._displacement(self._state, t_ns)
        return self._chart.integrate(self._state.x, dx)

    def is_stale(self, t_ns: int) -> bool:
        """Whether at t_ns a pose is missing."""
        return self._state is not None and t_ns > self._state.stamp_ns + self._stale_ns

    def is_carried(self, t_ns: int, P: FloatArray) -> bool:
        """Whether contacts tell where the object is at t_ns, with the covariance P (n, n) of `predict`, well enough."""
        config, state = self._config, self._state
        if state is None or t_ns - state.stamp_ns > config.carry_through_s * NS_PER_S:
            return False
        _, known = self._carried(state.stamp_ns, t_ns)
        most = self._chart.covariance(state.x, config.known_rotation_rad, config.known_position_m)
        return known >= LEAST_KNOWN and bool(np.all(np.diag(P) <= np.diag(most)))

    @property
    def _stale_ns(self) -> int:
        config = self._config
        return round(NS_PER_S * self._timing.stale_after_s(config.pose_stale_after_s, config.longest_pose_age_s))

    def _displacement(self, state: FilterState, t_ns: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the displacement (n,) from a state to t_ns, what is left out of it, and the share that is carried."""
        age_ns, coast_ns = max(0, t_ns - state.stamp_ns), self._stale_ns
        carried_ns = min(age_ns, max(coast_ns, round(self._config.carry_through_s * NS_PER_S)))
        carried, known = self._carried(state.stamp_ns, state.stamp_ns + carried_ns)
        moving_ns = min(age_ns, coast_ns)
        left_out = state.v * ((age_ns - moving_ns) * 1e-9)
        return state.v * (moving_ns * 1e-9) + carried, left_out, known * carried_ns / max(age_ns, 1)

    def _note_innovation(self, stamp_ns: int, whitened: FloatArray, distance: float) -> None:
        """Learn from a whitened innovation (n,), of squared length `distance`, how noisy poses are and whether x slips.

        One pose counts no more than one at the gate.
        """
        if self._config.slip_probability == 1.0:
            self._adapt_noise(distance)
            return
        self._adapt_noise(self._trend.noise(whitened))
        bounded = whitened * np.sqrt(self._gate / max(distance, self._gate))
        self._trend.add(bounded, (stamp_ns - self._seen_ns) * 1e-9)
        self._seen_ns = stamp_ns
        if self._trend.is_drifting:
            self._slips_until_ns = stamp_ns + round(self._config.slip_hold_s * NS_PER_S)

    def _adapt_noise(self, distance: float) -> None:
        share = min(distance, self._gate) / self._chart.n - 1.0
        ratio = self._noise_ratio * (1.0 + self._config.noise_adaptation * share)
        self._noise_ratio = min(max(ratio, NOISE_RANGE[0]), NOISE_RANGE[1])

    def _measurement_covariance(self, x: FloatArray) -> FloatArray:
        return self._noise_ratio * self._chart.covariance(x, *self._noise)

    def _start(self, stamp_ns: int, R_WB: FloatArray, p_WB: FloatArray) -> None:
        x, n = self._chart.from_pose(R_WB, p_WB, None), self._chart.n
        P = np.zeros((2 * n, 2 * n))
        P[:n, :n] = self._measurement_covariance(x)
        P[n:, n:] = self._chart.covariance(x, self._config.initial_velocity_rad_s, self._config.initial_velocity_m_s)
        self._set(FilterState(stamp_ns, x, np.zeros(n), P))

    def _reject(self, stamp_ns: int, z: FloatArray) -> Verdict:
        """Leave a pose out, or start again at it where as many agree on it as it takes."""
        self.outliers += 1
        self.consecutive_outliers += 1
        if self.consecutive_outliers == 1:
            self._first_outlier = stamp_ns, z
        if not (self.consecutive_outliers > 1 and self._agree(self._last_outlier, z)):
            self._agreeing, self._agree_from_ns = 0, stamp_ns
        self._agreeing, self._last_outlier = self._agreeing + 1, z
        is_outvoted = self._agreeing > self._taken
        is_moved = self._agreeing >= AGREEING and stamp_ns - self._agree_from_ns >= AGREE_NS
        if not (is_outvoted or is_moved or self.consecutive_outliers >= self._config.max_consecutive_outliers):
            return "outlier"
        self._taken = self._agreeing - 1
        self._restart(stamp_ns, z)
        return "restarted"

    def _agree(self, z0: FloatArray, z1: FloatArray) -> bool:
        """Whether two measurements may be of one pose."""
        difference = self._chart.difference(z0, z1)
        distance = float(difference @ np.linalg.solve(2.0 * self._measurement_covariance(z1), difference))
        return distance <= self._gate

    def _restart(self, stamp_ns: int, z: FloatArray) -> None:
        """Start at the last of a row of outliers, with the velocity from the first: v = (z (-) z_first) / T.

        P = [[R, R / T], [R / T, 2 R / T^2]], so that an object that moves too fast for the gate is caught again.
        """
        first_ns, z_first = self._first_outlier
        span = max((stamp_ns - first_ns) * 1e-9, MIN_RESTART_SPAN_S)
        R = self._measurement_covariance(z)
        P = np.block([[R, R / span], [R / span, 2.0 * R / span**2]])
        self._set(FilterState(stamp_ns, z, self._chart.difference(z_first, z) / span, P))

    def _set(self, state: FilterState) -> None:
        self._state = state
        self._density = accel_covariance(self._chart, state.x, self._config)
        self._taken += 1
        self.consecutive_outliers = 0

    def _propagate(self, state: FilterState, t_ns: int) -> FilterState:
        dt, config, n = max(0, t_ns - state.stamp_ns) * 1e-9, self._config, self._chart.n
        dx, left_out, known = self._displacement(state, t_ns)
        carried, _ = self._carried(state.stamp_ns, t_ns)
        slips = state.stamp_ns < self._slips_until_ns
        known, error = (0.0, config.slip_carry_error) if slips else (known, config.carry_error)
        S = self._density * (1.0 - known * (1.0 - config.carried_accel_share**2))
        F, D = np.eye(2 * n), np.empty((2 * n, 2 * n))
        if dt > 0.0:
            F[:n, :n], F[:n, n:] = self._chart.transition(dx / dt, dt)
        wrong = self._chart.spread(carried) if self.is_stale(t_ns) else carried
        D[:n, :n], D[n:, n:] = S * (dt**3 / 3.0) + np.diag((error * wrong) ** 2 + left_out**2), S * dt
        D[:n, n:] = D[n:, :n] = S * (dt**2 / 2.0)
        return FilterState(t_ns, self._chart.integrate(state.x, dx), state.v, F @ state.P @ F.T + D)

    def _correct(self, prior: FilterState, innovation: FloatArray, gain: FloatArray, noise: FloatArray) -> None:
        """Apply the gain (2n, n). The reset of the error to zero turns it by O(|dx|^2), which is left out."""
        n = self._chart.n
        correction = gain @ innovation
        residual = np.eye(2 * n)
        residual[:, :n] -= gain
        P = residual @ prior.P @ residual.T + gain @ noise @ gain.T
        x = self._chart.integrate(prior.x, correction[:n])
        self._set(FilterState(prior.stamp_ns, x, prior.v + correction[n:], 0.5 * (P + P.T)))
