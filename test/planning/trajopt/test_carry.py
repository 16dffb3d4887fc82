"""Commands of a push: the end of the arm closes its gap and then moves with the object as if it were welded to it."""

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.trajopt.carry import carried_commands

INSTANTS, WAY_M, CLOSING_SHARE = 21, 0.1, 0.2


def test_the_pusher_touches_and_goes_along() -> None:
    system = load_system("planar_pushing")
    q = system.q_default.copy()
    path = np.tile(q, (INSTANTS, 1))
    path[:, 1] += np.linspace(0.0, WAY_M, INSTANTS)  # box_y
    model = build_model(system)
    ws = make_newton(model)
    gap = float(np.min(measure_gaps(model, ws, q)))
    u = carried_commands(system, path, CLOSING_SHARE)
    along = u[:, 1] - q[system.n_q_u + 1]
    closing = np.minimum(1.0, np.arange(1, INSTANTS) / (CLOSING_SHARE * (INSTANTS - 1)))
    assert gap > 1e-3
    np.testing.assert_allclose(along, path[1:, 1] - q[1] + gap * closing, atol=1e-6)
    np.testing.assert_allclose(u[:, 0], q[system.n_q_u], atol=1e-6)
