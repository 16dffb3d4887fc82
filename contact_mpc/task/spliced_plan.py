"""Plans that go over into one another without a jump: from a motion into the next, and from a motion to rest.

Both keep the beginning of the plan that runs, so that who follows it sees no change until then.
"""

from dataclasses import replace

import numpy as np

from contact_mpc.model.system import System
from contact_mpc.task.plan import Plan

STOP_INSTANTS = 8
JOIN_S = 1e-3  # instants closer than this are one


def splice_plans(plan: Plan, switch_s: float, following: Plan, system: System) -> Plan:
    """Return `plan` until switch_s, and from then on `following`, which begins where `plan` is at switch_s."""
    kept = plan.times_s < switch_s - JOIN_S
    times_s = np.concatenate([plan.times_s[kept], switch_s + following.times_s])
    q, u = np.vstack([plan.q[kept], following.q]), np.vstack([plan.u[kept], following.u])
    return _bare(times_s, q, u, following, system)


def stop_plan(plan: Plan, t_s: float, stop_s: float, system: System) -> Plan:
    """Return `plan` until t_s, then along it ever slower to rest: it advances by stop_s / 2 in the time stop_s."""
    kept = plan.times_s < t_s - JOIN_S
    after = np.linspace(0.0, stop_s, STOP_INSTANTS)
    places = t_s + after - after**2 / (2.0 * stop_s)
    q = np.array([plan.sample_q(system, place) for place in places])
    u = np.array([plan.sample_u(place) for place in places])
    return _bare(
        np.concatenate([plan.times_s[kept], t_s + after]), np.vstack([plan.q[kept], q]), np.vstack([plan.u[kept], u]),
        plan, system,
    )  # fmt: skip


def drop_past(plan: Plan, from_s: float, system: System) -> Plan:
    """Return what is left of a plan from from_s on, which is its time 0."""
    left = plan.times_s > from_s + JOIN_S
    return _bare(
        np.concatenate([[from_s], plan.times_s[left]]),
        np.vstack([plan.sample_q(system, from_s), plan.q[left]]), np.vstack([plan.sample_u(from_s), plan.u[left]]),
        plan, system,
    )  # fmt: skip


def _bare(times_s: np.ndarray, q: np.ndarray, u: np.ndarray, like: Plan, system: System) -> Plan:
    """Return a plan of configurations and commands alone."""
    nothing = np.zeros((len(times_s), 0, 3))
    return replace(
        like, times_s=times_s - times_s[0], q=q, u=u, tau_ff=np.zeros((len(times_s), system.n_a)),
        contact_impulses=nothing, du=None, tau_ff_held=False,
    )  # fmt: skip
