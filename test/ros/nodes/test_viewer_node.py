"""The viewer as a process: it says where its page is, serves it, and ends without a word of Python's."""

import re
import time
import urllib.request
from pathlib import Path

import pytest
from free_port import free_port
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("viser")

from contact_mpc import load_system
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.ros.stack.viewing import viewing

pytestmark = pytest.mark.dds


def test_the_viewer_serves_its_page_and_ends_in_order(tmp_path: Path) -> None:
    lease, port, log = DomainLease(None), free_port(), tmp_path / "viewer.log"
    try:
        with viewing(load_system("planar_hand_ball"), tmp_path, lease.domain, port):
            deadline = time.monotonic() + HANG_S
            while "the view is at" not in log.read_text():
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=30.0) as page:
                assert page.status == 200
    finally:
        lease.release()
    said = log.read_text()
    assert "closing the page" in said
    assert not re.search(r"Traceback|KeyboardInterrupt|Failed to publish", said), said
