"""A plan by random motions is what MuJoCo has played."""

from dataclasses import replace

import numpy as np

from contact_mpc.loop.parts.confirmed_samples import confirm_samples
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal

CARRIED = {
    "pen_x_m": 0.025,
    "pen_y_m": 0.0,
    "pen_z_m": 0.0611,
    "pen_roll_rad": 0.0,
    "pen_pitch_rad": 0.0,
    "pen_yaw_rad": 0.0,
}


def pen(**values: float) -> Problem:
    problem = with_goal(load_problem("allegro_pen"), CARRIED)
    assert problem.file.sampled is not None
    sampled = problem.file.sampled.model_copy(update={"samples": 6, "variations": 6, **values})
    return replace(problem, file=problem.file.model_copy(update={"sampled": sampled}))


def test_a_pen_that_lies_on_the_hand_is_carried_to_its_goal() -> None:
    problem, told = pen(spread_rad=0.01, posture_share=0.0), list[str]()
    done = confirm_samples(problem, 0, told.append)
    assert done.is_confirmed and done.plan.provenance["is_valid"] and done.plan.provenance["planner"] == "sampled"
    assert problem.is_reached(done.plan.q[-1])
    parts = [line for line in told if line.startswith("part ")]
    assert len(parts) == len(done.robustness) >= 1 and "part 1" in parts[0] and "rests" in told[0]
    assert np.all(np.diff(done.plan.times_s) > 0.0)


def test_what_leads_nowhere_is_kept_and_marked() -> None:
    done = confirm_samples(pen(least_gain_rad=0.99, near_rad=0.0, elsewhere=0, expansions=2), 1)
    assert not done.is_confirmed and not done.plan.provenance["is_valid"]
    assert "no random motion from 2 rests leads nearer" in done.reason
