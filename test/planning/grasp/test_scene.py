"""A scene laid out once gives what one laid out per call gives."""

import numpy as np
import pytest

from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.rolling import roll_along
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.task.task import load_task


def test_a_scene_used_again_changes_no_figure() -> None:
    task = load_task("allegro_ball")
    system, q = task.system, task.start_q
    scene, path = make_scene(system), object_path(task, q, 3)[:, : system.n_q_u]
    alone = compute_grasp(system, q, 2.0, 0.4)
    rolled = roll_along(system, q, path, alone.pairs, 2.0, 0.4)
    for _ in range(2):
        assert np.array_equal(compute_grasp(system, q, 2.0, 0.4, scene=scene).u, alone.u)
        again = roll_along(system, q, path, alone.pairs, 2.0, 0.4, scene=scene)
        assert np.array_equal(again.q, rolled.q) and np.array_equal(again.u, rolled.u)


@pytest.mark.parametrize("name", ["allegro_ball", "allegro_cube", "iiwa_bimanual_box"])
def test_a_part_has_the_gaps_of_its_contacts(name: str) -> None:
    system = load_system(name)
    scene = make_scene(system)
    for finger in np.unique(scene.fingers):
        rows = np.flatnonzero(scene.fingers == finger)
        part = scene.part(rows)
        assert np.all(part.fingers == finger) and len(part.links) == len(rows)
        for turn in (0.0, 0.1):
            q = system.q_default.copy()
            q[system.n_q_u :] += turn
            np.testing.assert_array_equal(part.gaps(q), scene.gaps(q)[rows])
