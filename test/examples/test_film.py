"""Films of examples: what their bars show, and that a page comes of them."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contact_mpc.examples.claims.external_torques import LoadedArm, external_torques
from contact_mpc.examples.claims.regularization import regularization
from contact_mpc.examples.claims.velocity_command import HEIGHT_M, SIDE_M, push_on
from contact_mpc.examples.film import MOST_FRAMES, Film, write_animation
from contact_mpc.examples.grasp.grippers import build_grasp
from contact_mpc.examples.grasp.run import GRIP_N, simulate_penalty
from contact_mpc.examples.result import Settings
from contact_mpc.model.system_builder import load_system
from contact_mpc.report.scene.force_bars import RODS


def scene_of(page: Path) -> dict[str, Any]:
    (data,) = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    return dict(json.loads(data)["scene"])


def test_a_film_becomes_a_page_with_a_bar_for_each_force(tmp_path: Path) -> None:
    system, n = load_system("pusher_1d"), 3 * MOST_FRAMES
    q = np.column_stack([np.linspace(0.0, 0.1, n), np.linspace(-0.2, 0.0, n)])
    point, force = np.zeros((n, 2, 3)), np.zeros((n, 2, 3))
    force[:, 1, 0] = np.linspace(0.0, 7.0, n)
    page = write_animation("pushed_twice", system, Film(np.arange(n) * 0.01, q, point, force), tmp_path, shown="a load")
    scene = scene_of(page)
    assert len(scene["times"]) <= MOST_FRAMES
    assert sum(body["name"].startswith("force ") for body in scene["bodies"]) == 2 * RODS
    assert "a load, the longest 7 N" in page.read_text(encoding="utf-8")


def test_a_pusher_that_is_told_a_velocity_keeps_its_contact_and_turns_the_box() -> None:
    film = push_on(0.1)
    mu = float(load_system("planar_pushing").contacts[0].mu)
    along = np.stack([np.cos(film.q[:, 2]), np.sin(film.q[:, 2])], axis=1)  # the pushed face's inward normal
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    f = film.force[:, 0, :2]
    f_n, f_t = np.sum(f * along, axis=1), np.sum(f * across, axis=1)
    assert np.all(f_n > 0.0) and np.all(np.abs(f_t) <= mu * f_n * (1.0 + 1e-9))
    depth = np.sum((film.point[:, 0, :2] - film.q[:, :2]) * along, axis=1)
    np.testing.assert_allclose(depth, -0.5 * SIDE_M, atol=1e-3)
    assert np.sign(film.q[-1, 2]) == -np.sign(0.1 * 0.5 * SIDE_M + HEIGHT_M)


def test_the_arm_sags_as_its_load_grows() -> None:
    film = LoadedArm("qp", None).film(np.array([0.0, 30.0, 60.0]))
    assert np.all(np.diff(film.point[:, 0, 2]) < 0.0)
    np.testing.assert_allclose(film.force[:, 0], [[0, 0, 0], [0, 0, -30], [0, 0, -60]])


def test_fingers_of_a_grasp_press_the_object_from_both_sides() -> None:
    run = simulate_penalty(build_grasp("2p", "box"), 0.11)
    film = run.film
    assert film.q.shape == (len(film.times_s), 10) and film.force.shape == film.point.shape == (len(film.times_s), 2, 3)
    last = film.force[-1]
    inwards = film.q[-1, 4:7] - film.point[-1]
    assert np.all(np.sum(last * inwards, axis=1) > 0.0)
    np.testing.assert_allclose(np.abs(last[:, 0]), GRIP_N, rtol=0.02)
    assert np.all(film.point[-1][:, 0] * [1.0, -1.0] > 0.0)


@pytest.mark.parametrize("example", [external_torques, regularization])
def test_examples_write_their_pages(example, tmp_path: Path) -> None:
    pages = [write(tmp_path) for write in example(Settings()).pages.values()]
    assert pages and all("force 0" in page.read_text(encoding="utf-8") for page in pages)
