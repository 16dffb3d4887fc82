"""Simulating a command with `ContactDynamics`, and what happened at every contact."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import UNBALANCED, ContactDynamics
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.errors import InputError
from contact_mpc.examples.film import Film, write_animation
from contact_mpc.geometry.fingers import stacked_jacobian
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

SEPARATE, STICKING, SLIDING = 0, 1, 2
MODE_NAMES = ("separate", "sticking", "sliding")
SLIP_M_S = 1e-5  # slower contacts stick
TOUCH_N = 1e-4  # weaker contacts are separate


@dataclass(frozen=True)
class Trajectory(Film):
    """A simulation of up to N steps: a film of the n_c contact forces on the object, and what else there is to know.

    Row k is the step that ends at times_s[k], with q at its end; force is the mean of the step.

    Attributes
    ----------
    u : (N, n_a) array
        The command of each step.
    gap : (N, n_c) array
        Signed distances at the end of each step, m.
    normal_force : (N, n_c) array, N
    friction : (N, n_c, 3) array
        Tangential force on the object, world frame, N.
    velocity : (N, n_c, 3) array
        Relative velocity of shape a against b at the contact, world frame, m/s.
    normal : (N, n_c, 3) array
        From b to a.
    is_balanced : (N,) array of bool
        Whether forces on the objects balance, in a quasi-static step.
    status : str
        "converged", or the status of the step at which the rows end, e.g. "unbalanced": no force balance.
    residual : float
        Largest residual of the solver.
    """

    u: FloatArray
    gap: FloatArray
    normal_force: FloatArray
    friction: FloatArray
    velocity: FloatArray
    normal: FloatArray
    is_balanced: NDArray[np.bool_]
    status: str
    residual: float

    @property
    def slip_speed(self) -> FloatArray:
        """Tangential speed (N, n_c), m/s."""
        along = np.sum(self.velocity * self.normal, axis=2, keepdims=True)
        return np.linalg.norm(self.velocity - along * self.normal, axis=2)

    @property
    def normal_velocity(self) -> FloatArray:
        """Velocity of separation (N, n_c), m/s."""
        return np.sum(self.velocity * self.normal, axis=2)

    @property
    def modes(self) -> NDArray[np.int64]:
        """Contact modes (N, n_c): SEPARATE, STICKING or SLIDING."""
        modes = np.where(self.slip_speed > SLIP_M_S, SLIDING, STICKING)
        return np.where(self.normal_force > TOUCH_N, modes, SEPARATE)

    def at(self, time_s: float) -> int:
        """Return the row of the step that ends nearest to a time."""
        return int(np.argmin(np.abs(self.times_s - time_s)))

    def transitions(self, contact: int) -> list[tuple[float, str]]:
        """Return (time s, new mode) of every change of a contact's mode; the first row counts as one."""
        modes = self.modes[:, contact]
        changed = np.concatenate([[True], modes[1:] != modes[:-1]])
        return [(float(self.times_s[k]), MODE_NAMES[modes[k]]) for k in np.flatnonzero(changed)]

    def arrays(self, prefix: str) -> dict[str, FloatArray]:
        """Return all time series for a data file, names prefixed."""
        series = {
            "times_s": self.times_s,
            "q": self.q,
            "u": self.u,
            "gap_m": self.gap,
            "normal_force_n": self.normal_force,
            "friction_n": self.friction,
            "velocity_m_s": self.velocity,
            "mode": self.modes.astype(np.float64),
        }
        return {f"{prefix}_{key}": value for key, value in series.items()}


def make_dynamics(
    system: System, formulation: str, h_s: float, regularization: str, friction: float | None = None
) -> ContactDynamics:
    """Return the dynamics of an example: one formulation, step and regularisation."""
    return ContactDynamics(system, formulation, h_s=h_s, friction=friction, regularization=regularization)


def simulate(
    dynamics: ContactDynamics,
    q_start: FloatArray,
    command: Callable[[float], FloatArray],
    duration_s: float,
    keep_unbalanced: bool = False,
    v_start: FloatArray | None = None,
) -> Trajectory:
    """Step through a command u(t); ends early at the first step without a solution.

    Parameters
    ----------
    dynamics : ContactDynamics
    q_start : (n_q,) array
    command : function of time, s, to u (n_a,)
        Taken at the end of each step.
    duration_s : float
    keep_unbalanced : bool
        Go on through quasi-static steps without force balance, in which the small inertia that is kept lets an object
        fall at once; `is_balanced` tells which.
    v_start : (n_v,) array, optional
        Velocity at the start, of second_order; at rest where None.

    Raises
    ------
    InputError
        The first step has no solution.
    """
    h, system, sign = dynamics.h_s, dynamics.system, dynamics.model.pairs.sign[:, None]
    watcher, q, status, residual = make_newton(dynamics.model), q_start.copy(), "converged", 0.0
    n_c, rows, v = len(dynamics.model.mu), [], v_start
    for k in range(round(duration_s / h)):
        u = command((k + 1) * h)
        result = dynamics.step(q, u, velocity=v)
        if not (result.is_converged or (keep_unbalanced and result.status == UNBALANCED)):
            status = result.status
            break
        measure_gaps(dynamics.model, watcher, q)
        normal = watcher.con.n.copy()
        J = stacked_jacobian(dynamics.model.pairs, watcher.con, range(n_c), system.n_v).reshape(n_c, 3, system.n_v)
        force = sign * result.impulses / h  # on shape a
        f_n = np.sum(force * normal, axis=1)
        dq = system.difference(q, result.q_next)
        v, moved = dq / h if dynamics.kind.has_velocity else None, J @ dq
        q, residual = result.q_next, max(residual, result.residual)
        friction = sign * (force - f_n[:, None] * normal)
        gap = measure_gaps(dynamics.model, watcher, q).copy()
        point = watcher.con.p.copy()
        rows.append((q, point, sign * force, u, gap, f_n, friction, moved / h, normal, result.is_converged))
    if not rows:
        raise InputError(f"{system.name}: the first step ends as '{status}'; take another formulation or a smaller h")
    shapes = ((system.n_q,), *[(n_c, 3)] * 2, (system.n_a,), *[(n_c,)] * 2, *[(n_c, 3)] * 3, ())
    columns = [np.array([row[i] for row in rows]).reshape(len(rows), *shape) for i, shape in enumerate(shapes)]
    times_s = np.asarray(h * np.arange(1, len(rows) + 1), dtype=np.float64)
    return Trajectory(times_s, *columns, status, residual)  # type: ignore[call-arg,arg-type]


def write_run(
    name: str,
    dynamics: ContactDynamics,
    q_start: FloatArray,
    command: Callable[[float], FloatArray],
    duration_s: float,
    folder: Path,
) -> Path:
    """Simulate a command u(t) and write its animation, of an example that needs no trajectory itself; see `simulate`.

    The pages of an example are written only where a user asks for files.
    """
    return write_animation(name, dynamics.system, simulate(dynamics, q_start, command, duration_s), folder)
