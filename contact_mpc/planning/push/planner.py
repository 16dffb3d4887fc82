"""Solve an instance from several starts, each with one hit at an instant of its own, and rank by cost.

Everything is solved by fatrop, an interior-point method with a Riccati recursion over the stages. Fixed modes turn
complementarity into equalities and bounds. Those of a start's guess, which hits once, are tried first; only where they
have no solution, a search with relaxed complementarity (sigma = 1e-2) names others, and the polish fixes these. With
the search always first (`starts: relaxed`), the best of 40 random pushes had the one hit of its guess, too, in 2.6
times the iterations, and none was cheaper. Finer or coarser sigmas (`relaxations`) took longer and found no better
modes: a coarse one smears contact over many stages, for which (8) and (10) together are nearly dependent rows and the
polish stalls.
"""

import copy
import time
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from contact_mpc.model.system import System
from contact_mpc.planning.push.checks import check_instance
from contact_mpc.planning.push.program.bounds import Bounds, BoundsBuilder, Modes
from contact_mpc.planning.push.program.compiled import load_library
from contact_mpc.planning.push.program.geometry import ToolGeometry
from contact_mpc.planning.push.program.guess import guess, guess_sequence
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.model import Model, build_model
from contact_mpc.planning.push.program.modes import force_to_goal, read_modes, slide, sliding_steps
from contact_mpc.planning.push.program.program import Program
from contact_mpc.planning.push.program.residuals import ResidualChecker, Residuals
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.program.stage import build_stage
from contact_mpc.planning.push.result import NOT_CONVERGED, SOLVED, ContactImplicitResult, Solution
from contact_mpc.planning.push.solver import Options, StagedSolver
from contact_mpc.settings.arrays import FloatArray

SEARCH = {"tolerance": 1e-3, "mu_init": 1e-2}  # finds modes, not a solution
POLISH = {"tolerance": 1e-4, "constr_viol_tol": 1e-10, "mu_init": 1e-4}
# From a solution of nearly the same instance, which is not pushed away from its bounds: 7.6 iterations in place of 9.2.
REFINE = {**POLISH, "mu_init": 1e-5, "max_iter": 60, "bound_push": 1e-5, "bound_frac": 1e-5}
HIT_ITERATIONS = 60  # of a polish from a guess with its one contact: where it converges, about 30


@dataclass(frozen=True)
class Attempt:
    """What one start came to: a candidate, its residuals, the iterations it took."""

    solution: Solution
    residuals: Residuals
    iterations: int


class ContactImplicitPlanner:
    """Plans pushes of one system; building it compiles the program once per model (see `compiled`)."""

    def __init__(self, system: System, settings: ContactImplicitSettings | None = None) -> None:
        self.model: Model = build_model(system, settings or ContactImplicitSettings())
        self.program = Program(build_stage(self.model), self.model.settings.stages)
        self.geometry = ToolGeometry(self.model)
        self._bounds = BoundsBuilder(self.model, self.program)
        self._checker = ResidualChecker(self.model)
        self.library = library = load_library(self.program)
        self._solver = StagedSolver(self.program, library.problem, self.model.settings.iterations)
        self._rows = self._build_rows(library.problem)

    def plan(self, instance: Instance) -> ContactImplicitResult:
        """Solve from every start and return the cheapest solution.

        Raises
        ------
        InputError
            The start or the goal cannot be: see `checks`.
        """
        check_instance(self.model, self.geometry, instance)
        started = time.process_time()
        attempts = [self._attempt(instance, step) for step in self.contact_steps()]
        return self._rank(attempts, time.process_time() - started)

    def refine(self, instance: Instance, z: FloatArray, modes: Modes) -> ContactImplicitResult:
        """Solve with given modes from given variables (n_z,): the warm start of a receding horizon."""
        started = time.process_time()
        attempt = self._solve_modes(REFINE, instance, z, modes)
        return self._rank([attempt], time.process_time() - started)

    def plan_hit(self, instance: Instance) -> ContactImplicitResult:
        """Return the first solution with one hit, tried at instants near those of the starts: no search for modes.

        Faster than `plan`, by what it leaves out: other contact sequences, and the choice by cost.
        """
        started, attempts = time.process_time(), []
        first, settings = min(self.contact_steps()), self.model.settings
        spacing = settings.hit_spacing
        for contact_step in range(first + spacing, self.program.steps - spacing, spacing):
            z = guess(self.model, self.program, self.geometry, instance, contact_step)
            attempts.append(self._hit_once(instance, contact_step, z))
            if attempts[-1].residuals.largest <= settings.tolerance or len(attempts) == settings.most_hits:
                break
        return self._rank(attempts, time.process_time() - started)

    def plan_sequence(self, instance: Instance, profile: FloatArray, most_shifts: int = 3) -> ContactImplicitResult:
        """Return the first solution that touches in the steps in which a force profile (N - 1,) is positive.

        The profile, scaled until the object stops at the goal, says when the object slides; where that has no solution,
        it is taken some steps later or sooner. Forces are the program's own (seeds/004, figures 8 and 9).

        Raises
        ------
        InputError
            As `plan`.
        """
        check_instance(self.model, self.geometry, instance)
        started, attempts = time.process_time(), []
        tolerance = self.model.settings.tolerance
        for shift in sorted(range(-most_shifts, most_shifts + 1), key=abs):
            moved = np.roll(profile, shift)
            contact = moved > 0.0
            force = force_to_goal(self.model, instance, moved)
            z = guess_sequence(self.model, self.program, self.geometry, instance, force)
            modes = Modes(contact, slide(self.model, instance, force) > 0.0)
            attempts.append(self._solve_modes(POLISH, instance, z, modes, keeps_speed=False))
            if attempts[-1].residuals.largest <= tolerance:
                break
        return self._rank(attempts, time.process_time() - started)

    def adapted(self, breakaway_n: float, restitution: float) -> "ContactImplicitPlanner":
        """Return this planner for an object with other friction with the ground, N, and restitution; nothing compiles.

        Both are parameters of the compiled program.
        """
        other = copy.copy(self)
        settings = self.model.settings.model_copy(update={"restitution": restitution})
        other.model = replace(
            self.model, thing=replace(self.model.thing, breakaway_n=breakaway_n), settings=settings
        )  # fmt: skip
        other._bounds = BoundsBuilder(other.model, self.program)
        other._checker = ResidualChecker(other.model)
        return other

    def search_bounds(self, instance: Instance, sigma: float, contact_step: int) -> Bounds:
        """Return the bounds of a search; see `BoundsBuilder.search`."""
        return self._bounds.search(instance, sigma, contact_step)

    def contact_steps(self) -> list[int]:
        """Return the step at which each start touches."""
        steps = [round(time_s / self.model.dt_s) for time_s in self.model.settings.contact_times_s]
        return [min(max(step, 1), self.program.steps - 2) for step in steps]

    def _attempt(self, instance: Instance, contact_step: int) -> Attempt:
        z = guess(self.model, self.program, self.geometry, instance, contact_step)
        if self.model.settings.starts == "relaxed":
            return self._search(instance, contact_step, z)
        attempt = self._hit_once(instance, contact_step, z)
        if attempt.residuals.largest <= self.model.settings.tolerance:
            return attempt
        found = self._search(instance, contact_step, z)
        return replace(found, iterations=attempt.iterations + found.iterations)

    def _hit_once(self, instance: Instance, contact_step: int, z: FloatArray) -> Attempt:
        contact = np.arange(self.program.steps) == contact_step
        modes = Modes(contact, sliding_steps(self.model, instance, contact.astype(np.float64)))
        most = min(HIT_ITERATIONS, self.model.settings.iterations)
        return self._solve_modes({**POLISH, "max_iter": most}, instance, z, modes)

    def _search(self, instance: Instance, contact_step: int, z: FloatArray) -> Attempt:
        iterations = 0
        for sigma in self.model.settings.relaxations:
            z, count = self._solve(SEARCH, instance, z, self.search_bounds(instance, sigma, contact_step))
            iterations += count
        modes = read_modes(self.model, self.program, self.geometry, instance, z)
        attempt = self._solve_modes(POLISH, instance, z, modes)
        iterations += attempt.iterations
        attempt, count = self._drop_traces(instance, attempt)
        return Attempt(attempt.solution, attempt.residuals, iterations + count)

    def _drop_traces(self, instance: Instance, attempt: Attempt) -> tuple[Attempt, int]:
        """Return a solution without contacts that give the object next to nothing, where there is one; and iterations.

        A tool that stays close behind the object after a hit touches it so; in a plant it would or would not.
        """
        contact, force = attempt.solution.modes.contact, attempt.solution.u[:, self.model.n_r]
        kept = contact & (force >= self.model.settings.trace * force.max())
        if np.array_equal(kept, contact) or attempt.residuals.largest > self.model.settings.tolerance:
            return attempt, 0
        modes = Modes(kept, sliding_steps(self.model, instance, np.where(kept, force, 0.0)))
        other = self._solve_modes(POLISH, instance, attempt.solution.z, modes)
        is_better = other.residuals.largest <= self.model.settings.tolerance
        return (other if is_better else attempt), other.iterations

    def _solve_modes(
        self, options: Options, instance: Instance, z: FloatArray, modes: Modes, keeps_speed: bool = True
    ) -> Attempt:
        z, iterations = self._solve(options, instance, z, self._bounds.polish(instance, modes, keeps_speed))
        solution = self._read(instance, z, modes)
        residuals = self._checker.evaluate(instance, solution.x, solution.u, solution.tau, keeps_speed)
        return Attempt(solution, residuals, iterations)

    def _rank(self, attempts: list[Attempt], cpu_s: float) -> ContactImplicitResult:
        tolerance = self.model.settings.tolerance
        good = [attempt for attempt in attempts if attempt.residuals.largest <= tolerance]
        iterations = sum(attempt.iterations for attempt in attempts)
        costs = tuple(attempt.solution.cost for attempt in good)
        if good:
            best = min(good, key=lambda attempt: attempt.solution.cost)
            return ContactImplicitResult(SOLVED, best.solution, best.residuals, costs, iterations, cpu_s)
        nearest = min(attempts, key=lambda attempt: attempt.residuals.largest)
        message = (
            f"no start converged: the best of {len(attempts)} has {nearest.residuals}; allowed {tolerance:g}; "
            "try other contact_times_s, a smaller displacement or another start"
        )
        return ContactImplicitResult(NOT_CONVERGED, None, nearest.residuals, (), iterations, cpu_s, message)

    def _solve(self, options: Options, instance: Instance, z: FloatArray, bounds: Bounds) -> tuple[FloatArray, int]:
        return self._solver.solve(options, z, instance.parameters(self.model), bounds)

    def _read(self, instance: Instance, z: FloatArray, modes: Modes) -> Solution:
        x, u = self.program.unpack(z)
        cost, g = self._rows(z, instance.parameters(self.model))
        inner = self.program.split_rows(np.array(g).ravel())
        tau = inner["torque"] * self.model.system.tau_max_nm
        return Solution(z, x, u, tau, float(cost), modes)

    def _build_rows(self, problem: str | ca.Function) -> ca.Function:
        return ca.external("nlp", problem) if isinstance(problem, str) else problem
