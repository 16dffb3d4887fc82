"""Bars in a scene end where the force says."""

import base64

import numpy as np

from contact_mpc.report.scene.force_bars import RODS, add_force_bars


def test_bars_point_along_the_force_and_the_largest_has_the_length_given() -> None:
    frames = np.zeros((2, 1, 7), dtype=np.float32)
    scene = {"bodies": [{"name": "box"}], "frames": base64.b64encode(frames.tobytes()).decode()}
    points = np.array([[[0.1, 0.0, 0.0]], [[0.2, 0.0, 0.0]]])
    forces = np.array([[[0.0, 3.0, 0.0]], [[0.0, 0.0, 0.0]]])
    shown = add_force_bars(scene, points, forces, 0.16)
    assert [body["name"] for body in shown["bodies"]] == ["box", *["force 0"] * RODS]
    placed = np.frombuffer(base64.b64decode(shown["frames"]), dtype=np.float32).reshape(2, 1 + RODS, 7)
    length = shown["bodies"][1]["shapes"][0]["size"][1]
    np.testing.assert_allclose(placed[0, 1:, 1].max() + length, 0.16, rtol=1e-6)
    np.testing.assert_allclose(placed[0, 1:, [0, 2]], np.array([[0.1], [0.0]]) * np.ones(RODS), atol=1e-7)
    np.testing.assert_allclose(placed[1, 1:, :3], np.tile([0.2, 0.0, 0.0], (RODS, 1)), atol=1e-7)  # a stub
