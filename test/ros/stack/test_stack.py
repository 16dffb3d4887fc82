"""The end of a stack."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("rclpy")

pytestmark = [pytest.mark.end_to_end, pytest.mark.dds]


def test_the_own_node_leaves_before_the_others(make_rig: Callable[..., Any]) -> None:
    """A process that sees others leave can hang in Fast DDS (eProsima/Fast-DDS issue 6502)."""
    rig = make_rig("realtime", trajectory_server={"system": "planar_hand_ball"})
    process, alive = rig.stack.processes["trajectory_server"], []
    rig.node.context.on_shutdown(lambda: alive.append(process.exit_code is None))
    rig.stack.stop()
    assert alive == [True]
    assert process.exit_code == 0
