"""Which fingers slide over the object instead of holding it: less friction than the plan counts on, or too weak a grip.

Over a window of the estimated states, the closest contact c of a finger has moved by d = J_c (q - q_before). Rolling
does not: its material points touch without moving along each other. So

    slip speed = |d - (n . d) n| / window          low-pass filtered over filter_s

shows sliding alone, to within the noise of the object's pose over the window. Measured on the ball in the hand at the
disturbances of `evaluate`: 3 mm/s at friction 1, 5 at 0.7, 12 at 0.5, 20 at 0.35, over 45 at 0.2.
Wrong for fingers that are near but do not touch.
"""

from collections import deque

import numpy as np

from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.fingers import closest_pair_per_finger, contact_jacobian, finger_of_pairs
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S


class SlipWatch:
    """Measures how fast fingers slide.

    Parameters
    ----------
    system, model
        What moves.
    reach_m : float
        Pairs with a larger gap are no contacts, m.
    slip_m_s : float
        Speed from which a finger counts as sliding, m/s; 0: nothing is watched.
    window_s, filter_s : float
        Time over which motion is measured, and time constant of the filter, s.
    """

    def __init__(
        self, system: System, model: Model, reach_m: float, slip_m_s: float, window_s: float, filter_s: float
    ) -> None:
        self._window_ns, self._filter_s = round(window_s * NS_PER_S), filter_s
        self._system, self._model, self._reach_m, self._slip_m_s = system, model, reach_m, slip_m_s
        self._workspace = make_newton(model)
        self._fingers = finger_of_pairs(system)
        names = {body: link for (_, link), (body, _) in reversed(system.links.items())}
        self._names = {int(finger): names.get(int(finger), "") for finger in np.unique(self._fingers) if finger >= 0}
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._states: deque[tuple[int, FloatArray]] = deque()
        self.speeds = dict.fromkeys(self._names, 0.0)
        self.sliding_s = 0.0  # for how long at least one finger has been sliding

    def update(self, t_ns: int, q: FloatArray) -> list[str]:
        """Return the first links of the fingers that slide at t_ns, ns, in the state q (n_q,)."""
        if self._slip_m_s == 0.0:
            return []
        while self._states and self._states[0][0] < t_ns - self._window_ns:
            self._states.popleft()
        elapsed_s = 0.0
        if self._states:
            last_ns = self._states[-1][0]
            elapsed_s = (t_ns - last_ns) / NS_PER_S
            gain = 1.0 - np.exp(-elapsed_s / self._filter_s)
            now = self._measure(q, *self._states[0], t_ns)
            if not np.isfinite(
                list(now.values())
            ).all():  # positions that no robot has; kept, they would blind the watch
                self.reset()
                return []
            for finger, speed in self.speeds.items():
                self.speeds[finger] = speed + gain * (now.get(finger, 0.0) - speed)
        self._states.append((t_ns, q.copy()))
        sliding = [self._names[finger] for finger, speed in self.speeds.items() if speed > self._slip_m_s]
        self.sliding_s = self.sliding_s + elapsed_s if sliding else 0.0
        return sliding

    def _measure(self, q: FloatArray, before_ns: int, q_before: FloatArray, t_ns: int) -> dict[int, float]:
        """Return the slip speed of each finger with a contact within reach, m/s."""
        gaps = measure_gaps(self._model, self._workspace, q)
        contacts, found = self._workspace.con, {}
        dq = self._system.difference(q_before, q)
        for c in closest_pair_per_finger(self._fingers, gaps, self._reach_m):
            d, n = contact_jacobian(self._model.pairs, contacts, c, self._system.n_v) @ dq, contacts.n[c]
            found[int(self._fingers[c])] = float(np.linalg.norm(d - (n @ d) * n)) * NS_PER_S / (t_ns - before_ns)
        return found
