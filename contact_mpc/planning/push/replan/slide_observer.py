"""What a slide tells: friction from how the object slows down, the effect of the hit from how far it gets.

While the object slides, its travel s follows s_0 + v_0 t - a t^2 / 2 with a = F_s / m; a least-squares parabola through
the measured s gives a, and where it will stop. A hit whose object travels D against D_p as planned, slowed by a against
a_p, gave it sqrt(a D / (a_p D_p)) times the planned speed; the restitution of (10) that stands for all of this (lighter
object, compliant contact, tracking error) is e with 1 + e = (1 + e_p) times that ratio.

Fewer than `least_samples` give no fit, and what an earlier slide told goes on to hold: with 4 of them, as of a slide by
6 cm, a was off by up to 27 %, with 6 by up to 10 %, with all of a slide by half a metre by 2 %.

Wrong where friction changes along the way, and for an object that turns while it slides (friction at a distance from
the centre then has a component across).
"""

from dataclasses import dataclass, field

import numpy as np

from contact_mpc.planning.push.program.settings import ReplanConfig


@dataclass
class SlideObserver:
    """Collects the travel of the object after a hit.

    Attributes
    ----------
    slowing_m_s2 : float
        Deceleration a_p = F_s / m of the model, until there is a fit.
    config : ReplanConfig
        What counts as a slide, as rest and as a fit.
    """

    slowing_m_s2: float
    config: ReplanConfig = ReplanConfig()
    _samples: list[tuple[float, float]] = field(default_factory=list)

    def add(self, t_s: float, travel: float) -> None:
        """Take the travel, m, at t_s."""
        self._samples.append((t_s, travel))

    def fit(self) -> tuple[float, float, float] | None:
        """Return travel, speed and deceleration at the last sample of the slide, m, m/s, m/s^2; None without a fit."""
        moving = self._moving()
        if len(moving) < self.config.least_samples:
            return None
        t, s = np.array(moving).T
        curve, slope, travel = np.polyfit(t - t[-1], s, 2)
        low, high = (share * self.slowing_m_s2 for share in self.config.slowing_range)
        return (float(travel), float(slope), float(-2.0 * curve)) if low <= -2.0 * curve <= high else None

    @property
    def is_resting(self) -> bool:
        """Whether the object has stopped."""
        return len(self._samples) - len(self._moving()) >= self.config.resting_samples

    @property
    def is_settled(self) -> bool:
        """Whether the object rests, or slid long enough for the fit to be trusted."""
        return self.is_resting or self.fit() is not None

    @property
    def slowing(self) -> float:
        """Deceleration, m/s^2: that of the fit, or the model's."""
        found = self.fit()
        return self.slowing_m_s2 if found is None else found[2]

    def effect_of_hit(self, travel: float, planned: float) -> float:
        """Return the speed that a hit gave over the planned one, from both travels, m."""
        return float(np.sqrt(self.slowing * travel / (self.slowing_m_s2 * planned)))

    def stop(self) -> tuple[float, float] | None:
        """Return when, s, and where, m of travel, the object stops; None before three samples."""
        if len(self._samples) < 3:
            return None
        moving = self._moving()
        resting = self._samples[len(moving) :]
        if self.is_resting:
            return resting[0][0], float(np.mean([s for _, s in resting[1:]]))
        found = self.fit()
        (t_0, s_0), (t_1, s_1) = self._samples[-2:]
        travel, speed, slowing = (s_1, (s_1 - s_0) / (t_1 - t_0), self.slowing_m_s2) if found is None else found
        speed = max(speed, 0.0)
        last_s = moving[-1][0] if found is not None else t_1
        return last_s + speed / slowing, travel + 0.5 * speed**2 / slowing

    def _moving(self) -> list[tuple[float, float]]:
        """Return the samples up to the first that has come no further."""
        kept = self._samples[:1]
        for before, now in zip(self._samples[:-1], self._samples[1:], strict=True):
            if now[1] - before[1] < self.config.moving_m_s * (now[0] - before[0]):
                break
            kept.append(now)
        return kept
