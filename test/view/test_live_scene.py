"""The live view draws what the system is, takes goals from the gizmo, and listens on this machine alone."""

import asyncio
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from free_port import free_port
from patience import HANG_S

pytest.importorskip("viser")
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.model.urdf import Pose
from contact_mpc.report.scene.visuals import Drawn, drawn_shapes
from contact_mpc.view.address import LOOPBACK
from contact_mpc.view.live_scene import LiveScene
from contact_mpc.view.meshes import link_meshes, shape_mesh
from contact_mpc.view.panel import Panel

IDENTITY = Pose(np.eye(3), np.zeros(3))
FACETED = 0.03  # share of the volume that triangles leave out of a round shape


@pytest.fixture(scope="module")
def scene(allegro: System) -> Iterator[LiveScene]:
    made = LiveScene(allegro, free_port())
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("sphere", (0.1,), 4.0 / 3.0 * np.pi * 1e-3),
        ("box", (0.1, 0.2, 0.3), 6e-3),
        ("capsule", (0.1, 0.3), np.pi * 3e-3 + 4.0 / 3.0 * np.pi * 1e-3),
        ("cylinder", (0.1, 0.3), np.pi * 3e-3),
    ],
)
def test_a_shape_has_the_volume_that_it_says_about_its_own_centre(
    kind: str, size: tuple[float, ...], volume: float
) -> None:
    mesh = shape_mesh(Drawn("owner", "link", -1, IDENTITY, kind, size))
    assert mesh.is_watertight
    assert volume * (1.0 - FACETED) <= mesh.volume <= volume * (1.0 + 1e-9)
    np.testing.assert_allclose(mesh.center_mass, 0.0, atol=1e-9)


def test_every_link_with_a_shape_is_drawn_once(allegro: System) -> None:
    drawn = [(mesh.owner, mesh.link) for mesh in link_meshes(allegro)]
    assert sorted(drawn) == sorted({(item.owner, item.link) for item in drawn_shapes(allegro)})


def test_the_page_is_served_on_this_machine_alone(scene: LiveScene) -> None:
    assert scene.server.get_host() == LOOPBACK
    with urllib.request.urlopen(f"http://{LOOPBACK}:{scene.server.get_port()}", timeout=HANG_S) as page:
        assert page.status == 200


def test_a_port_in_use_is_refused_with_its_number(scene: LiveScene, allegro: System) -> None:
    port = scene.server.get_port()
    with pytest.raises(InputError, match=f"port {port} is in use"):
        LiveScene(allegro, port)


def test_links_move_to_where_kinematics_say(scene: LiveScene, allegro: System) -> None:
    q = allegro.q_default.copy()
    q[:4], q[4:7] = (0.0, 1.0, 0.0, 0.0), (0.3, 0.2, 0.1)
    scene.show(q)
    name = allegro.object_names[0]
    (ball,) = [handle for link, handle in zip(scene._links, scene._handles, strict=True) if link.owner == name]
    np.testing.assert_allclose(ball.position, (0.3, 0.2, 0.1))
    np.testing.assert_allclose(np.abs(ball.wxyz), (0.0, 1.0, 0.0, 0.0), atol=1e-12)


def test_the_goal_is_sent_where_the_gizmo_is_let_go_and_stays_while_it_is_held(scene: LiveScene) -> None:
    found: list[tuple[np.ndarray, np.ndarray]] = []
    scene.on_goal(lambda R, p: found.append((R, p)))
    update = scene._gizmo._impl_aux.update_cb[-1]
    asyncio.run(update(SimpleNamespace(phase="start")))
    scene._gizmo.position = (0.1, 0.0, 0.2)
    scene.show_goal(np.eye(3), np.zeros(3))  # another goal arrives while a hand is at the gizmo
    assert tuple(scene._gizmo.position) == (0.1, 0.0, 0.2)
    asyncio.run(update(SimpleNamespace(phase="end")))
    np.testing.assert_allclose(found[0][1], (0.1, 0.0, 0.2))
    np.testing.assert_allclose(found[0][0] @ found[0][0].T, np.eye(3), atol=1e-12)


def test_the_panel_shows_the_newest_word_of_each_topic(scene: LiveScene) -> None:
    panel = Panel(scene.server, {"Stop": lambda: None})
    panel.say("safety", "tracking")
    panel.say("safety", "NO_PLAN", level=2)
    assert "ERROR: NO_PLAN" in panel._text.content and "tracking" not in panel._text.content
