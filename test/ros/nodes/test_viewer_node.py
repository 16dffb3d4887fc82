"""The viewer as a process: it says where its page is, serves it, and ends without a word of Python's."""

import os
import re
import shutil
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from free_port import free_port
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("viser")

from contact_mpc import load_system
from contact_mpc.ros.nodes import viewer
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.ros.stack.viewing import viewing
from contact_mpc.settings.resources import resource

pytestmark = pytest.mark.dds


def test_the_viewer_serves_its_page_and_ends_in_order(tmp_path: Path) -> None:
    lease, port, log = DomainLease(None), free_port(), tmp_path / "viewer.log"
    file = tmp_path / "mine: 1 #2" / "planar_hand_ball.yaml"  # YAML, were it not quoted
    file.parent.mkdir()
    shutil.copy(resource("systems", "planar_hand_ball"), file)
    try:
        with viewing(load_system(file), tmp_path, lease.domain, port):
            deadline = time.monotonic() + HANG_S
            while "the view is at" not in log.read_text():
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=HANG_S) as page:
                assert page.status == 200
    finally:
        lease.release()
    said = log.read_text()
    assert "closing the page" in said
    assert not re.search(r"Traceback|KeyboardInterrupt|Failed to publish", said), said


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    signal.alarm(0)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_a_signal_ends_a_viewer_that_is_still_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building the scene can take long beside busy processes: launch had to kill such a viewer."""

    def start() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(100):
            time.sleep(0.01)
        raise AssertionError("went on starting")

    monkeypatch.setattr(viewer, "Viewer", start)
    monkeypatch.setattr(viewer.rclpy, "init", lambda **_: None)
    with pytest.raises(SystemExit) as ended:
        viewer.main([])
    assert ended.value.code == 0
