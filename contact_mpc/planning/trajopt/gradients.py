"""Roll-outs of the unsmoothed model with exact or randomized gradients, to compare with the smoothed linearisation.

Both are fills of a `Horizon` that `command_optimisation.optimise_commands` takes in place of its own. Exact: q_next and
A, B of the second-order cone program; its B is zero where nothing touches, which is why planning needs smoothing
(seeds/003, "Smoothing"). Randomized: q_next of that program, and first-order means of its A, B over perturbed commands,
with sigma shrinking as iteration^-0.8 (the paper's).
"""

from collections.abc import Callable

import numpy as np

from contact_mpc.dynamics.analysis.randomized_smoothing import smooth
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import InputError
from contact_mpc.optimisation.horizon import Horizon, object_error_into
from contact_mpc.optimisation.trajectory import RollOut

Linearise = Callable[[Horizon, int], bool]  # fill q[k + 1], A[k], B[k]; False where the step has none
SIGMA_EXPONENT = -0.8


def exact_roll_out(dynamics: ContactDynamics) -> RollOut:
    """Return the roll-out of the unsmoothed model with its own derivatives."""

    def linearise(hz: Horizon, k: int) -> bool:
        found = dynamics.linearize(hz.q[k], hz.u[k])
        hz.q[k + 1], hz.A[k], hz.B[k] = found.step.q_next, found.A, found.B
        return found.step.is_converged and found.is_differentiable

    return _roll_out(dynamics, lambda _iteration: linearise)


def randomized_roll_out(dynamics: ContactDynamics, sigma_u: float, samples: int, rng: np.random.Generator) -> RollOut:
    """Return the roll-out of the unsmoothed model with derivatives averaged over `samples` pairs of perturbations."""

    def for_iteration(iteration: int) -> Linearise:
        sigma = sigma_u * iteration**SIGMA_EXPONENT

        def linearise(hz: Horizon, k: int) -> bool:
            result = dynamics.step(hz.q[k], hz.u[k])
            if not result.is_converged:
                return False
            hz.q[k + 1] = result.q_next
            try:
                mean = smooth(dynamics, hz.q[k], hz.u[k], sigma, rng, samples=samples)
            except InputError:  # no sample has a solution
                return False
            hz.A[k], hz.B[k] = mean.A, mean.B
            return True

        return linearise

    return _roll_out(dynamics, for_iteration)


def _roll_out(dynamics: ContactDynamics, for_iteration: Callable[[int], Linearise]) -> RollOut:
    iteration = 0

    def roll(hz: Horizon, _kappa: float, linearise: bool) -> bool:
        nonlocal iteration
        iteration += linearise
        fill = for_iteration(max(iteration, 1))
        tree, n_v_u = dynamics.system.tree, dynamics.system.n_v_u
        for k in range(len(hz.u)):
            if linearise and not fill(hz, k):
                return False
            if not linearise:
                result = dynamics.step(hz.q[k], hz.u[k])
                if not result.is_converged:
                    return False
                hz.q[k + 1] = result.q_next
            object_error_into(tree, n_v_u, hz.q_ref[k + 1], hz.q[k + 1], hz.error[k])
        return True

    return roll
