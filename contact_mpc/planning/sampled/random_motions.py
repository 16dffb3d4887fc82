"""Random motions of a robot's fingers and slides, as changes d (m, 2, n_a) of the command in force.

The command is linear from u to u + d_1 and u + d_2, and rests there. A random part of the fingers moves: by normal
changes of one of several sizes, or first to any posture within the joint limits, from where it reaches what small
changes of the present one do not. Slides that carry the whole robot move a little, too.
"""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.sampled.sampled_config import SampledConfig
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.settings.arrays import FloatArray

AXES = {"x": 0, "y": 1, "z": 2}


class RandomMotions:
    """Draws motions of one problem's robots.

    Parameters
    ----------
    problem : Problem
        Its contact postures name the joints of each finger; without any, all joints are one.

    Attributes
    ----------
    times_s : (4,) array
        Instants of the commands of a motion.
    slides : (n_slides,) array
        Joints that carry the only robot, and
    axes : (n_slides,) array
        the world's axes that they move along; none where there are several robots.
    scale : (n_a,) array
        Change of each joint that counts as 1 rad of a finger: m / rad of slides.
    """

    def __init__(self, problem: Problem) -> None:
        self._config, system = problem.file.sampled or SampledConfig(), problem.system
        self._lower, self._upper, self._v_max = system.q_min, system.q_max, system.v_max
        self.times_s = self._config.motion_s * np.array([0.0, *self._config.knots, 1.0])
        robots = system.config.robots
        slides = robots[0].base_slides if len(robots) == 1 else ()
        self.slides = np.arange(len(slides))
        self.axes = np.array([AXES[slide.axis] for slide in slides], dtype=np.int64)
        self.scale = np.ones(system.n_a)
        self.scale[self.slides] = self._config.slide_spread_m / self._config.spread_rad
        self._fingers = _fingers(problem, self.slides)

    def draw(self, rng: np.random.Generator, u: FloatArray, count: int, scale: float = 1.0) -> FloatArray:
        """Return random changes (count, 2, n_a) of a command u (n_a,); scale: of the normal ones of every other one."""
        config, d = self._config, np.zeros((count, 2, len(u)))
        for k, change in enumerate(d):
            moving = rng.random(len(self._fingers)) < 0.5
            moving[rng.integers(len(moving))] = True
            size = (scale if k % 2 else 1.0) * config.spread_rad * rng.choice(config.sizes)
            for joints in (joints for joints, moves in zip(self._fingers, moving, strict=True) if moves):
                random = size * rng.standard_normal((2, len(joints)))
                if rng.random() < config.posture_share:
                    posture = rng.uniform(self._lower[joints], self._upper[joints]) - u[joints]
                    random = np.array([posture, posture + random[1]])
                change[:, joints] = random
            if rng.random() < config.sliding_share:
                change[:, self.slides] = config.slide_spread_m * rng.standard_normal((2, len(self.slides)))
        return d

    def vary(self, rng: np.random.Generator, d: FloatArray, spread_rad: float, count: int) -> FloatArray:
        """Return changes (count, 2, n_a) near d (2, n_a): a random half of the joints differs."""
        random = spread_rad * rng.standard_normal((count, *d.shape))
        random *= rng.random((count, 1, d.shape[1])) < 0.5
        return d + self.scale * random

    def carried(self, way_m: FloatArray) -> FloatArray:
        """Return the change (2, n_a) by which slides go way_m (3,), in the world, as far as they may."""
        d, most = np.zeros((2, len(self._lower))), self._config.most_carried_m
        d[:, self.slides] = np.array([0.5, 1.0])[:, None] * np.clip(way_m, -most, most)[self.axes]
        return d

    def added(self, times_s: FloatArray, u: FloatArray, d: FloatArray) -> FloatArray:
        """Return commands u (n, n_a) at times_s (n,) with changes d (m, 2, n_a) added: (m, n, n_a).

        They stay within the joint limits, or where u is, and no command is faster than `speed_share` of the joint's
        limit, where a bridge would refuse it.
        """
        first, second = self._config.knots
        shares = times_s / times_s[-1]
        hats = [
            np.interp(shares, (0.0, first, second), (0.0, 1.0, 0.0)),
            np.interp(shares, (first, second), (0.0, 1.0)),
        ]
        wanted = u + np.einsum("kn,mka->mna", hats, d)
        wanted = np.clip(wanted, np.minimum(u, self._lower), np.maximum(u, self._upper))
        most = self._config.speed_share * self._v_max * np.diff(times_s)[:, None]
        commands = wanted
        for k in range(1, len(times_s)):
            commands[:, k] = np.clip(wanted[:, k], commands[:, k - 1] - most[k - 1], commands[:, k - 1] + most[k - 1])
        return np.asarray(commands)


def _fingers(problem: Problem, slides: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the joints of each finger: those that move together in the contact postures, without the slides."""
    names = list(problem.system.joint_names)
    groups = {joints for posture in problem.file.contacts.close for joints in posture.fingers.values()}
    fingers = [np.array([names.index(name) for name in joints]) for joints in sorted(groups)]
    fingers = [joints for joints in fingers if not np.isin(joints, slides).any()]
    return fingers or [np.array([k for k in range(len(names)) if k not in slides])]
