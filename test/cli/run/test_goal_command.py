"""`contact-mpc goal`: what is no goal is refused in one line, before any stack is looked for."""

import pytest
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give one of --turn"),
        (["--turn", "z:30", "--cancel"], "give one of --turn"),
        (["--turn", "z:much"], "expected AXIS:DEGREES"),
        (["--pose", "0,0,0"], "seven finite numbers"),
        (["--pose", "0,0,0,nan,0,0,0"], "seven finite numbers"),
        (["--pose", "0,0,0,2,0,0,0"], "norm 2; give a unit quaternion"),
    ],
)
def test_what_is_no_goal_is_refused_in_one_line(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(build_app(["goal"]), ["goal", *arguments])
    assert result.exit_code == 2
    assert words in result.output and "Traceback" not in result.output
