"""Normal forces of the fingers through a run, inferred from the recorded joint torques."""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.bags.object_track import ObjectEvaluation, configurations
from contact_mpc.bags.record import RunRecord
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.contact_estimate import ContactEstimator
from contact_mpc.model.system import System
from contact_mpc.report.plotting.figures import Figure, seconds
from contact_mpc.report.scene.appearance import fingers, joint_body, root_body
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import EstimatedState

IntArray = NDArray[np.int64]
SAMPLES = 200


def plot_contact_forces(record: RunRecord, system: System, evaluation: ObjectEvaluation) -> Figure | None:
    """Normal force of the closest contact of each finger on the object; None where the bag holds no torques."""
    states = record.joint_states
    if states is None or len(states) < 2 or not states.effort.shape[1]:
        return None
    rows = np.unique(np.linspace(0, len(states) - 1, SAMPLES).astype(np.int64))
    t_ns, tau = states.t_ns[rows], states.select("effort", system.joint_names)[rows]
    normal_n = _normal_forces(system, t_ns, configurations(record, system, evaluation, t_ns), tau)
    figure = Figure(
        "contact_forces",
        "Contact forces",
        "Normal force of each finger on the object, inferred from the joint torques as if at rest.",
    )
    figure.axes("force, N", rangemode="tozero")
    figure.phases(evaluation)
    t_s = seconds(t_ns, evaluation)
    for finger, force in zip(fingers(system), normal_n.T, strict=True):
        figure.line(t_s, force, finger.name, finger.colour)
    return figure


def _normal_forces(system: System, t_ns: IntArray, q: FloatArray, tau: FloatArray) -> FloatArray:
    """Return n . f (n, fingers), N, of each finger's contact; zero without one. q is (n, n_q), tau (n, n_a)."""
    roots = [root_body(system, joint_body(system, finger.joints[0])) for finger in fingers(system)]
    bodies = [system.geometries[item.geometry_b].body for item in system.contacts]
    of_contacts = [root_body(system, body) if body >= 0 else -1 for body in bodies]
    finger_of = [roots.index(root) if root in roots else -1 for root in of_contacts]
    estimator = ContactEstimator(system, EstimatorConfig().carry_reach_m)
    v, covariance = np.zeros(system.n_v), np.zeros((system.n_v_u, system.n_v_u))
    found = np.zeros((len(t_ns), len(roots)))
    for i, t in enumerate(t_ns.tolist()):
        estimate = estimator.estimate(EstimatedState(t, q[i], v, tau[i], covariance))
        if estimate.forces is None:
            continue
        normal = np.einsum("ck,ck->c", estimate.normals, estimate.forces)
        for c, force in zip(estimate.contacts, normal, strict=True):
            if finger_of[c] >= 0:
                found[i, finger_of[c]] += force
    return found
