"""The scene: the floor is drawn where things stand."""

import numpy as np

from contact_mpc.model.system_builder import load_system
from contact_mpc.report.scene.animation import scene_of_configurations


def test_the_floor_is_drawn_at_the_height_of_the_ground():
    """The block of the anypulator hovered 0.275 m above it."""
    system = load_system("anypulator_block")
    q = np.tile(system.q_default, (2, 1))
    goal = (np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    scene = scene_of_configurations(system, np.array([0.0, 1.0]), q, goal, np.zeros((1, 3)))
    assert scene["floor_z"] == 0.0


def test_walls_without_end_are_drawn_as_translucent_plates():
    """The low one beside it is a box and drawn as that."""
    system = load_system("allegro_plate")
    q = np.tile(system.q_default, (2, 1))
    goal = (np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    scene = scene_of_configurations(system, np.array([0.0, 1.0]), q, goal, np.zeros((1, 3)))
    walls = [item for item in scene["markers"] if item["shapes"][0]["kind"] == "box"]
    assert len(walls) == 1 and all(item["color"][3] < 1.0 for item in walls)
