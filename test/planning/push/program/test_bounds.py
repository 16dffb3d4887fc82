"""Bounds by mode: what a polish fixes holds in the plan, and what a search relaxes is relaxed by sigma."""

import numpy as np

from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.bounds import BoundsBuilder, Modes
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.result import ContactImplicitResult

ROUND_OFF = 1e-9


def test_tool_neither_slips_nor_brakes_through_a_hit(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    (k,) = np.flatnonzero(result.solution.modes.contact)
    through = result.solution.x[k : k + 3]  # the step of the hit and the one that follows
    ends = [planner.geometry.head(row[:5]) for row in through]
    d = np.append(direction(planner.model, instance.heading_rad)[:2], 0.0)
    moved = ends[1][0] - ends[0][0]
    np.testing.assert_allclose(moved - (moved @ d) * d, 0.0, atol=1e-7)
    speeds = [d @ J @ row[8:13] for (_, J), row in zip(ends, through, strict=True)]
    np.testing.assert_allclose(speeds[1:], speeds[0], atol=1e-7)


def test_tool_stays_clear_of_the_object_after_its_last_hit(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> None:
    assert result.solution is not None
    last, settings = int(np.flatnonzero(result.solution.modes.contact)[-1]), planner.model.settings
    for row in result.solution.x[last + settings.clear_after_steps : -1]:
        gap, _ = planner.geometry.gap(row[:5], row[5:8], instance.heading_rad)
        assert gap >= settings.clear_m - ROUND_OFF


def test_a_search_touches_at_candidates_alone_and_a_polish_at_its_contacts(
    planner: ContactImplicitPlanner, instance: Instance
) -> None:
    model, program = planner.model, planner.program
    builder, steps = BoundsBuilder(model, program), program.steps
    search = builder.search(instance, 1e-2, contact_step=10)
    _, u = program.unpack(search.ubx)
    candidates = (np.arange(steps) - 10) % model.settings.contact_spacing == 0
    assert np.array_equal(u[:, model.n_r] > 0.0, candidates)
    modes = Modes(np.arange(steps) == 12, (np.arange(steps) >= 12) & (np.arange(steps) < 20))
    polish = builder.polish(instance, modes)
    _, u = program.unpack(polish.ubx)
    assert np.array_equal(u[:, model.n_r] > 0.0, modes.contact)
    _, least = program.unpack(polish.lbx)
    assert np.all(least[modes.sliding, model.n_r + 1] == model.thing.breakaway_n)  # sliding: the whole friction


def test_relaxation_bounds_products_by_sigma(planner: ContactImplicitPlanner, instance: Instance) -> None:
    wide, tight = (planner.search_bounds(instance, sigma, 10) for sigma in (1e-2, 1e-4))
    relaxed = (wide.ubg == 1e-2) & (tight.ubg == 1e-4)
    rows = planner.program.stage.rows
    products = sum(rows[name].numel() for name in ("gap_product", "rebound_product", "aligned_product"))
    assert relaxed.sum() >= products * planner.program.steps
    assert np.array_equal(wide.lbx, tight.lbx)
