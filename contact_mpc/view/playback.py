"""A recorded motion on the page: a slider for its time, a switch that plays it, its speed."""

import numpy as np

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.view.live_scene import LiveScene

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


class Playback:
    """Plays configurations in a scene; `advance` is called by whoever has a clock.

    Parameters
    ----------
    scene : LiveScene
        The page.
    times_s : (n,) array
        Increasing times of the configurations, s.
    q : (n, n_q) array
        The configurations.
    """

    def __init__(self, scene: LiveScene, times_s: FloatArray, q: FloatArray) -> None:
        self._scene, self._times_s, self._q = scene, times_s - times_s[0], q
        gui, end_s = scene.server.gui, float(self._times_s[-1])
        self.play = gui.add_checkbox("Play", initial_value=True)
        self.speed = gui.add_dropdown("Speed", tuple(f"{speed:g}" for speed in SPEEDS), initial_value="1")
        self.time = gui.add_slider("Time, s", min=0.0, max=end_s, step=max(end_s, 1e-3) / 1000.0, initial_value=0.0)
        self._t_s, self._shown = 0.0, -1
        self.time.on_update(lambda event: self._seek(float(self.time.value)) if event.client is not None else None)
        self._show()

    def advance(self, duration_s: float) -> None:
        """Go on by a time of the clock, s, at the chosen speed; from the end it begins again."""
        if not self.play.value:
            return
        t_s = self._t_s + duration_s * float(self.speed.value)
        self._t_s = t_s if t_s <= self._times_s[-1] else 0.0
        self.time.value = self._t_s
        self._show()

    def _seek(self, t_s: float) -> None:
        """Go to a time that was chosen on the page."""
        self._t_s = t_s
        self._show()

    def _show(self) -> None:
        k = min(int(np.searchsorted(self._times_s, self._t_s)), len(self._times_s) - 1)
        if k != self._shown:
            self._shown = k
            self._scene.show(self._q[k])
