"""Tool and gap: their derivatives against differences, and joints that lead the tool along a path."""

from collections.abc import Callable

import numpy as np

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance

DERIVATIVE = 1e-7  # of exact expressions against five-point differences
ON_PATH_M = 2e-3  # damped least squares, three steps per point


def test_derivatives_of_head_and_gap_are_those_of_differences(
    planner: ContactImplicitPlanner, instance: Instance, check_jacobian: Callable[..., float]
) -> None:
    geometry, n, o = planner.geometry, planner.model.n_r, planner.model.n_o
    q, w = instance.x_0[:n], instance.x_0[n : n + o]
    p, J = geometry.head(q)
    check_jacobian(J, lambda dq: geometry.head(q + dq)[0] - p, DERIVATIVE)
    phi, slope = geometry.gap(q, w, instance.heading_rad)
    check_jacobian(
        slope[None], lambda dw: np.array([geometry.gap(q, w + dw, instance.heading_rad)[0] - phi]), DERIVATIVE
    )


def test_the_head_is_led_along_a_path_within_the_joints_limits(
    planner: ContactImplicitPlanner, instance: Instance
) -> None:
    geometry, system, q = planner.geometry, planner.model.system, instance.x_0[: planner.model.n_r]
    p, _ = geometry.head(q)
    target = p + [0.03, -0.02, 0.02]
    path = p + np.linspace(0.0, 1.0, 15)[:, None] * (target - p)
    followed = geometry.follow(q, path)
    heads = np.array([geometry.head(row)[0] for row in followed])
    assert np.linalg.norm(heads - path, axis=1).max() < ON_PATH_M
    assert np.all((followed >= system.q_min) & (followed <= system.q_max))
    assert np.linalg.norm(geometry.head(geometry.lead(q, target))[0] - target) < ON_PATH_M
