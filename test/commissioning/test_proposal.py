"""The report and the proposed robot file say what was measured."""

import yaml

from contact_mpc.commissioning.checks import Finding
from contact_mpc.commissioning.proposal import propose_robot_file, write_report

FOUND = [
    Finding("states", "", 332.6, "Hz", "warn", "rate; the parameters say 1000 Hz"),
    Finding("latency", "a", 0.004, "s", "ok"),
    Finding("latency", "b", 0.009, "s", "ok"),
    Finding("friction", "a", float("nan"), "N m", "skipped", "the driver reports no torques"),
]


def test_every_finding_stands_in_the_report_with_its_verdict() -> None:
    text = write_report("mine", "hand", FOUND)
    assert text.count("\n| ") == 1 + len(FOUND)
    assert "| states |  | 332.6 | Hz | LOOK | rate; the parameters say 1000 Hz |" in text
    assert "nan" not in text


def test_the_proposed_file_is_the_given_one_with_what_was_measured_beside_it() -> None:
    given = {"command_interface": "effort", "system": "hand", "driver": {"joint_states": "/js"}}
    text = propose_robot_file(given, FOUND)
    assert yaml.safe_load(text) == given
    assert "command_bridge.rate_hz: 333" in text and "the slowest joint: 0.009 s" in text and "friction" not in text
