"""What real cameras do beside noise: times without any pose, and single poses that are far off.

Time is cut into spans of equal length from `FIRST_SEEN_S` on; in each there is one dropout of a given length, whose
begin is uniform over where it fits (a dropout as long as its span leaves nothing of it). Outliers are independent: a
share of the poses is turned about a random axis, and moved in a random direction, by fixed amounts.
"""

import numpy as np

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.settings.arrays import FloatArray

FIRST_SEEN_S = 0.2  # before the first span: no application starts without having seen its object


class CameraFaults:
    """Dropouts and outliers of the pictures of one object, from a random stream of their own.

    Parameters
    ----------
    rng : Generator
        The stream.
    dropout_s, every_s : float
        Length of a dropout and of the spans that have one each, s.
    outlier_share, outlier_m, outlier_rad : float
        Share of the poses that are far off, and by how much.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        dropout_s: float,
        every_s: float,
        outlier_share: float,
        outlier_m: float,
        outlier_rad: float,
    ) -> None:
        self._dropout_rng, self._outlier_rng = rng.spawn(2)
        self._dropout_s, self._every_s = dropout_s, every_s
        self._share, self._distance_m, self._angle_rad = outlier_share, outlier_m, outlier_rad
        self._begins_s: list[float] = []

    def sees(self, t_s: float) -> bool:
        """Whether a picture at t_s, s since the start, gives a pose."""
        span = int((t_s - FIRST_SEEN_S) // self._every_s)
        if self._dropout_s == 0.0 or span < 0:
            return True
        while len(self._begins_s) <= span:
            start_s = FIRST_SEEN_S + len(self._begins_s) * self._every_s
            free_s = max(0.0, self._every_s - self._dropout_s)
            self._begins_s.append(start_s + free_s * float(self._dropout_rng.uniform()))
        return not self._begins_s[span] <= t_s < self._begins_s[span] + self._dropout_s

    def displace(self, R_WB: FloatArray, p_WB: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the pose (3, 3), (3,), far off if it is an outlier."""
        if self._share == 0.0 or self._outlier_rng.uniform() >= self._share:
            return R_WB, p_WB
        axis, direction = (v / np.linalg.norm(v) for v in self._outlier_rng.standard_normal((2, 3)))
        return rotation_exp(self._angle_rad * axis) @ R_WB, p_WB + self._distance_m * direction
