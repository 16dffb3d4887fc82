"""Where the energy of a step goes: commands and weight bring it, springs keep it, contacts and the step itself lose it.

With E = 1/2 stretch' K stretch of the springs, stretch = u - q_a, and everything of one step from q to q + dq:

    work of the command    E(q, u) - E(q, u_before)          u jumps while nothing moves
    work of the weight     tau_u . dq_u
    stored in springs      E(q + dq, u) - E(q, u_before)
    kept as motion         1/2 v+' M v+ - 1/2 v' M v          second_order; elsewhere bodies come to rest: 0
    lost in contacts       -sum_i f_i . d_i                  friction and, where gaps close, impact
    lost in dampers        dq_a' Kd dq_a / h                   second_order
    lost with motion       v+' M (v+ - v) + v+' C v - kept    "a viscous ether" (Mason, in seeds/003)
    lost by the step       1/2 dq_a' K dq_a                   implicit Euler of the springs

    command + weight = stored + kept + contacts + dampers + motion + step

which is dq' (Q dq + b - J' f) = 0, the balance of forces times the displacement. These are the power bonds of the
system: command (a source of flow), springs (C), contacts and dampers (R), bodies (I); a command that acts without its
spring would close a causal loop, see `examples.claims.velocity_command` (seeds/001, "Hogan also likes bond graphs").

A step is passive where the lost terms are not negative: with u and without weight nothing gains energy then. Contacts
of the exact formulations lose phi f_n + mu f_n |d_t| >= 0 (lcp) or phi f_n (qp, socp, where sliding opens gaps) and
gain where phi < 0 at the start; the smoothed step's forces at a distance may push and gain 2 / kappa per contact.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics, StepResult
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class EnergyBalance:
    """Energies of one step, J; names as in the module."""

    command: float
    weight: float
    stored: float
    kept: float
    contacts: float
    dampers: float
    motion: float
    step: float

    @property
    def lost(self) -> float:
        """What no port gives back, J."""
        return self.contacts + self.dampers + self.motion + self.step

    @property
    def residual(self) -> float:
        """What is brought and neither stored, kept nor lost: of the solver's accuracy, J."""
        return self.command + self.weight - self.stored - self.kept - self.lost


def balance_energy(
    dynamics: ContactDynamics,
    q: FloatArray,
    u: FloatArray,
    u_before: FloatArray,
    result: StepResult,
    velocity: FloatArray | None = None,
) -> EnergyBalance:
    """Return the balance of a step that was taken from q under u, with u_before (n_a,) the command until then.

    velocity (n_v,) is that at the start, of second_order.
    """
    system, K, n, h = dynamics.system, dynamics.model.K, dynamics.model.n_v_u, dynamics.h_s
    problem, at_rest = dynamics.assemble(q, u, velocity=velocity), dynamics.assemble(q, u)
    dq = system.difference(q, result.q_next)
    d_q_a, stretch = dq[n:], u - q[system.n_q_u :]
    damping = system.kd / h if dynamics.kind.has_velocity else np.zeros_like(K)
    inertia = at_rest.Q.copy()
    robots = np.arange(n, len(dq))
    inertia[robots, robots] -= K + damping
    gained, kept = float(dq @ inertia @ dq + dq @ (problem.b - at_rest.b)), 0.0
    if velocity is not None:
        kept = 0.5 * float(dq @ inertia @ dq - h**2 * velocity @ inertia @ velocity)
    force = (result.impulses * dynamics.model.pairs.sign[:, None] / h)[problem.pair]
    weight = -at_rest.b[:n]

    def spring(stretch: FloatArray) -> float:
        return 0.5 * float(K @ stretch**2)

    stretch_before = u_before - q[system.n_q_u :]
    return EnergyBalance(
        command=spring(stretch) - spring(stretch_before),
        weight=float(weight @ dq[:n]),
        stored=spring(stretch - d_q_a) - spring(stretch_before),
        kept=kept,
        contacts=-float(np.sum(force * problem.displacements(dq))),
        dampers=float(damping @ d_q_a**2),
        motion=gained - kept,
        step=spring(d_q_a),
    )
