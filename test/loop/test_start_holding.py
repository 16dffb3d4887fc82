"""A start is held where the object stays, and not held where the commands open the hand."""

import numpy as np

from contact_mpc.loop.start_holding import StartHolding
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.task.task import load_task

FAR_M = (0.3, 0.0, 0.0)  # beside the hand: it falls


def test_the_shipped_start_holds_and_an_open_hand_does_not() -> None:
    task = load_task("allegro_ball")
    first = task.system.n_q_u
    hold = StartHolding(task.system, [PlantPerturbation(), PlantPerturbation(friction=0.6, size_scale=1.02)])
    assert hold.share(task.start_q, task.start_u) == 1.0
    open_hand = task.start_q[first:] - 4.0 * (task.start_u - task.start_q[first:])
    assert hold.share(task.start_q, open_hand) == 0.0


def test_each_plant_has_its_own_start() -> None:
    task = load_task("allegro_ball")
    hold = StartHolding(task.system, [PlantPerturbation(), PlantPerturbation(object_offset_m=FAR_M)])
    assert hold.share(task.start_q, task.start_u) == 0.5
    near, far = (task.system.object_pose(q)[1] for q in hold.ends(task.start_q, task.start_u))
    assert np.linalg.norm(far - near) > 0.05
