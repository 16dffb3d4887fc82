"""The figures of ``bench dynamics``, and that peers do the same work as the core; nothing here is timed."""

import numpy as np
import pytest

pytest.importorskip("pydrake")
pytest.importorskip("mujoco")

from contact_mpc.cli.bench.dynamics.bench_dynamics import (  # noqa: E402
    COLD,
    DRAKE,
    FD,
    GEOMETRY,
    OURS,
    SAP,
    SOCP,
    is_goal_met,
    make_figures,
)
from contact_mpc.cli.bench.dynamics.dynamics_workload import DrakeGeometry, make_rows, make_steps  # noqa: E402
from contact_mpc.dynamics.contact_dynamics import ContactDynamics  # noqa: E402
from contact_mpc.task.task import TaskConfig, load_task  # noqa: E402

pytestmark = [pytest.mark.drake, pytest.mark.mujoco]
TIMES_US = {OURS: 10.0, COLD: 20.0, GEOMETRY: 2.0, FD: 90.0, SAP: 2000.0, SOCP: 60.0, DRAKE: 300.0}


def test_ratios_are_of_medians_peer_over_ours() -> None:
    figures = make_figures({name: np.array([0.5, 1.0, 5.0]) * value for name, value in TIMES_US.items()})
    assert figures["step_with_derivatives_us"]["median"] == 10.0
    assert figures["ratio_mjd_transition_fd"] == pytest.approx(9.0)
    assert figures["ratio_mjd_transition_fd_cold"] == pytest.approx(4.5)
    assert figures["ratio_drake_sap_100_steps"] == pytest.approx(200.0)
    assert figures["ratio_clarabel_socp"] == pytest.approx(6.0)
    assert figures["ratio_drake_geometry"] == pytest.approx(150.0)


@pytest.mark.parametrize("slow", [FD, SAP, SOCP, DRAKE])
def test_goal_needs_every_ratio_and_flat_memory(slow: str) -> None:
    figures = make_figures({name: np.array([value]) for name, value in TIMES_US.items()})
    assert is_goal_met(figures)
    assert is_goal_met({**figures, "memory_growth_percent": 1.0})
    assert not is_goal_met({**figures, "memory_growth_percent": 6.0})
    fast_peer = {name: np.array([value * (0.4 if name == slow else 1.0)]) for name, value in TIMES_US.items()}
    assert not is_goal_met(make_figures(fast_peer))


def test_drake_measures_the_same_distances(each_task: TaskConfig) -> None:
    system, q = each_task.system, each_task.start_q
    drake = DrakeGeometry(system)
    gaps = ContactDynamics(system).step(q, each_task.start_u).gaps
    np.testing.assert_allclose(drake.update(drake.order(system, q)), gaps, atol=1e-9)


@pytest.mark.parametrize("warm", [True, False])
def test_measured_steps_are_those_of_the_face(warm: bool) -> None:
    task = load_task("planar_hand_ball")
    dynamics = ContactDynamics(task.system)
    expected = dynamics.linearize(task.start_q, task.start_u)
    rows = make_rows(task.system, np.tile(task.start_q, (2, 1)), np.tile(task.start_u, (2, 1)))
    make_steps(dynamics, rows, warm)(0)
    assert np.all(rows.codes == 0)
    np.testing.assert_allclose(rows.q_next[1], expected.step.q_next, atol=1e-9)
    np.testing.assert_allclose(rows.A[1], expected.A, atol=1e-6)
