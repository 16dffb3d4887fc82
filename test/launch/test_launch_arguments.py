"""Misspelt arguments of launch files: refused with the nearest name, unless they are another file's."""

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.ros.launching.launch_arguments import refuse_unknown_arguments

NAMES = ("task", "plant", "interface", "discovery")


@pytest.mark.parametrize("path", ["sim.launch.py", "/opt/contact_mpc/launch/sim.launch.py"])
def test_a_misspelt_argument_is_refused_with_the_nearest_name(path: str) -> None:
    words = ["ros2", "launch", "contact_mpc", path, "task:=allegro_ball", "interfaec:=position"]
    with pytest.raises(ConfigError, match="no argument interfaec:=; did you mean interface:=.*discovery, interface"):
        refuse_unknown_arguments(words, "/here/sim.launch.py", NAMES)


def test_known_arguments_and_options_pass() -> None:
    words = ["ros2", "launch", "--debug", "contact_mpc", "sim.launch.py", "task:=a:=b", "--noninteractive"]
    refuse_unknown_arguments(words, "sim.launch.py", NAMES)


def test_arguments_of_a_file_that_includes_this_one_are_left_to_it() -> None:
    refuse_unknown_arguments(["ros2", "launch", "lab", "cell.launch.py", "cell:=3"], "sim.launch.py", NAMES)
