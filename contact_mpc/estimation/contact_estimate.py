"""What the joints say about where the robots touch and how hard: gaps, points and forces for viewers and logs.

The torques that a driver reports hold the robot's own weight and what the contacts ask for,

    tau = g(q_a) - J_a' f,

so that the forces f on the first geometries of the pairs follow from tau - g(q_a) and from the objects' weight by
`contact_mpc.dynamics.analysis.contact_forces`. Joint friction goes into f as if contacts made it; wrong in fast motion.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.analysis.contact_forces import ContactForces
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, prepare_step
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import EstimatedState

IntArray = NDArray[np.int64]


class ContactEstimate(NamedTuple):
    """Contacts within reach, the closest of each finger.

    Attributes
    ----------
    contacts : (n,) array
        Their places in `System.contacts`.
    gaps_m : (n,) array
        Signed distances.
    points, normals : (n, 3) array
        Contact points, m, and unit normals towards the first geometry of each pair, world frame.
    forces : (n, 3) array or None
        Forces on the first geometry of each pair, N, world frame; None where the driver reports no torques.
    """

    contacts: IntArray
    gaps_m: FloatArray
    points: FloatArray
    normals: FloatArray
    forces: FloatArray | None


class ContactEstimator:
    """Estimates the contacts of one system.

    Parameters
    ----------
    reach_m : float
        Pairs with a larger gap are no contacts, m.
    """

    def __init__(self, system: System, reach_m: float) -> None:
        self._system, self._model = system, build_model(system)
        self._workspace = make_newton(self._model)
        self._inference = ContactForces(system, self._model, reach_m)
        self._own_weight = GravityTorque(system) if any(system.config.gravity_m_s2) else None
        self._no_offset = np.zeros(len(system.contacts))

    def estimate(self, state: EstimatedState) -> ContactEstimate:
        """Return the contacts at a state; its tau is NaN where no torques are known."""
        q, n_v_u, workspace = state.q, self._system.n_v_u, self._workspace
        q_a = q[self._system.n_q_u :]
        prepare_step(self._model, workspace, q, q_a, self._no_offset)
        tau = -workspace.b
        tau[n_v_u:] = 0.0
        is_known = bool(np.isfinite(state.tau).all())
        if is_known:
            tau[n_v_u:] = state.tau - self._gravity(q_a)
        contacts, forces = self._inference.infer(workspace.con, tau)
        found = workspace.con
        return ContactEstimate(
            contacts, found.phi[contacts], found.p[contacts], found.n[contacts], forces if is_known else None
        )

    def _gravity(self, q_a: FloatArray) -> FloatArray:
        g = np.zeros(len(q_a))
        if self._own_weight is not None:
            self._own_weight.compute(q_a, g)
        return g
