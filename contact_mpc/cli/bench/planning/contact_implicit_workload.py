"""What ``bench contact-implicit`` solves: random pushes, states along them for the warm start, and IPOPT as peer."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.compiled import load_library
from contact_mpc.planning.push.program.guess import guess
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.result import Solution
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig

PATH_STEPS = 40
POSTURE_TOLERANCE_M = 1e-3
WARM_SHARES = (0.1, 0.4, 0.8)  # of the time until the first hit
NOISE_Q_RAD, NOISE_V_RAD_S, NOISE_W_M = 0.005, 0.05, 0.002
PEER = {"print_level": 0, "sb": "yes", "max_iter": 1000, "max_cpu_time": 20.0, "linear_solver": "mumps"}


@dataclass(frozen=True)
class Push:
    """An instance with what it was drawn from."""

    instance: Instance
    displacement_m: float
    direction_deg: float


def draw_pushes(task: TaskConfig, planner: ContactImplicitPlanner, count: int, seed: int) -> Iterator[Push]:
    """Draw pushes of a block.

    The block stands 0.5 to 0.65 m from the base, up to 40 degrees to either side; it is pushed by 0.3 to 0.8 m, up to
    90 degrees to either side of straight away from the base. The tool starts 5 to 15 cm behind the face, up to 4 cm off
    its middle, 10 to 20 cm high; postures that the arm cannot take are drawn again.
    """
    rng, drawn = np.random.default_rng(seed), 0
    while drawn < count:
        azimuth, radius = rng.uniform(-0.7, 0.7), rng.uniform(0.5, 0.65)
        heading = azimuth + rng.uniform(-0.5 * np.pi, 0.5 * np.pi)
        w = np.array([radius * np.cos(azimuth), radius * np.sin(azimuth), heading])
        back, side, height = rng.uniform(0.05, 0.15), rng.uniform(-0.04, 0.04), rng.uniform(0.1, 0.2)
        displacement = rng.uniform(0.3, 0.8)
        q = _posture(task, planner, w, np.array([back, side, height]))
        if q is None:
            continue
        drawn += 1
        q_u = planner.model.thing.q_u(w, task.start_q[: task.system.n_q_u], heading)
        x_0 = np.concatenate([q, w, np.zeros(planner.model.n_r + planner.model.n_o)])
        start = Instance(x_0, q_u, heading, 0.0).start(planner.model)
        direction_deg = float(np.rad2deg(heading - azimuth))
        yield Push(Instance(x_0, q_u, heading, start + displacement), displacement, direction_deg)


def _posture(task: TaskConfig, planner: ContactImplicitPlanner, w: FloatArray, place: FloatArray) -> FloatArray | None:
    model, (back, side, height) = planner.model, place
    touch = model.thing.touch(w, float(w[2]), np.array([0.0, 0.0, height]), model.head_radius_m)[:2]
    ahead, left = np.array([np.cos(w[2]), np.sin(w[2])]), np.array([-np.sin(w[2]), np.cos(w[2])])
    target = np.append(touch - back * ahead + side * left, height)
    q = task.start_q[task.system.n_q_u :]
    start, _ = planner.geometry.head(q)
    q = planner.geometry.follow(q, start + np.linspace(0.0, 1.0, PATH_STEPS)[:, None] * (target - start))[-1]
    missed = np.linalg.norm(planner.geometry.head(q)[0] - target)
    return None if missed > POSTURE_TOLERANCE_M else q


def draw_states(
    planner: ContactImplicitPlanner, instance: Instance, solution: Solution, rng: np.random.Generator
) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """Yield (t_s, q, v) as measured on the way to the first hit, with noise; half a step behind the program's."""
    model, first = planner.model, int(np.flatnonzero(solution.modes.contact)[0])
    n, o, system = model.n_r, model.n_o, model.system
    for share in WARM_SHARES:
        k = int(share * first)
        x = solution.x[k]
        q_a = x[:n] - 0.5 * model.dt_s * x[n + o : 2 * n + o] + rng.normal(0.0, NOISE_Q_RAD, n)
        v_a = x[n + o : 2 * n + o] + rng.normal(0.0, NOISE_V_RAD_S, n)
        w = x[n : n + o] + rng.normal(0.0, NOISE_W_M, o) * np.array([1.0, 1.0, 0.0])
        q_u = model.thing.q_u(w, instance.q_u, instance.heading_rad)
        yield k * model.dt_s, np.concatenate([q_u, q_a]), np.concatenate([np.zeros(system.n_v_u), v_a])


class IpoptAlone:
    """IPOPT with MUMPS on the program, from the first of our guesses, with the same compiled functions.

    Complementarity is bounded by the tolerance that our plans are held to; with bounds of 0 it does not converge.
    """

    def __init__(self, planner: ContactImplicitPlanner) -> None:
        self._planner = planner
        problem: Any = load_library(planner.program, "ipopt").problem
        quiet = {"print_time": False, "error_on_fail": False, "calc_lam_p": False, "calc_lam_x": False}
        options: Any = {**quiet, "ipopt": PEER}
        self._solver = ca.nlpsol("peer", "ipopt", problem, options)

    def solve(self, instance: Instance) -> tuple[bool, float]:
        """Return whether it converged, and its CPU time, s."""
        planner = self._planner
        step = planner.contact_steps()[0]
        started = time.process_time()
        z = guess(planner.model, planner.program, planner.geometry, instance, step)
        bounds = planner.search_bounds(instance, planner.model.settings.tolerance, step)
        self._solver(
            x0=z, p=instance.parameters(planner.model), lbx=bounds.lbx, ubx=bounds.ubx, lbg=bounds.lbg, ubg=bounds.ubg
        )
        return bool(self._solver.stats()["success"]), time.process_time() - started
