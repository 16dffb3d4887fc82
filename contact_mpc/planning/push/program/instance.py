"""One problem to solve: where arm and object are, where the object shall go."""

from dataclasses import dataclass

import numpy as np

from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.program.stage import SHARED
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class Instance:
    """A start and a goal.

    Attributes
    ----------
    x_0 : (n_x,) array
        State at the start: q_r, w, v_r, w_dot.
    q_u : (n_q_u,) array
        The system's coordinates of the object there, for those that the program does not have.
    heading_rad : float
        Direction of the push: x axis of the frame {O}, from the world's x axis.
    goal : float
        Value of d . w at the end, m (rad).
    goal_weight : float
        0: the goal is a constraint. Otherwise it is not, and this weighs (d . w - goal)^2 in the cost, 1/m^2.
    is_measured : bool
        Whether x_0 comes from a plant: rows of x_0 alone are then left out.
    posture : (n_r,) array or None
        Joint positions near which guesses look for the posture of a hit; None: those of x_0.
    aim_m : float
        How far beside the central line of its face a block is hit, m, along the y axis of {O}. The program, in which
        nothing turns, has the line of the hit for the central one: w of x_0 lies so far beside the block's own.
    """

    x_0: FloatArray
    q_u: FloatArray
    heading_rad: float
    goal: float
    goal_weight: float = 0.0
    is_measured: bool = False
    posture: FloatArray | None = None
    aim_m: float = 0.0

    def parameters(self, model: Model) -> FloatArray:
        """Return the shared parameters, in the order of `SHARED`."""
        values = {
            "heading_rad": self.heading_rad,
            "restitution": model.settings.restitution,
            "breakaway_n": model.thing.breakaway_n,
            "dt_s": model.dt_s,
            "goal": self.goal,
            "goal_weight": self.goal_weight,
        }
        return np.array([values[name] for name in SHARED])

    def hit_posture(self, model: Model) -> FloatArray:
        """Return joint positions (n_r,) near which guesses look for the posture of a hit."""
        return self.x_0[: model.n_r] if self.posture is None else self.posture

    def start(self, model: Model) -> float:
        """Return d . w at the start, m (rad)."""
        w = self.x_0[model.n_r : model.n_r + model.n_o]
        return float(direction(model, self.heading_rad) @ w)


def direction(model: Model, heading_rad: float) -> FloatArray:
    """Return the direction d (n_o,) of the object's motion as numbers."""
    if model.n_o == 1:
        return np.ones(1)
    return np.array([np.cos(heading_rad), np.sin(heading_rad), 0.0])[: model.n_o]
