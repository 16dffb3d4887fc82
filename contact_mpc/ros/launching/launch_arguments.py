"""Arguments of a launch file that it does not have: ROS 2 passes them on without a word, and a misspelt one is lost."""

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path

from contact_mpc.errors import ConfigError


def refuse_unknown_arguments(command_line: Sequence[str], file: str | Path, declared: Collection[str]) -> None:
    """Refuse what follows the name of a launch file on the command line and is none of its arguments.

    Where another launch file includes this one, the command line holds arguments of that file, and nothing is refused.

    Parameters
    ----------
    command_line : sequence of str
        Words of the command that runs, e.g. `ros2 launch contact_mpc sim.launch.py task:=allegro_ball`.
    file : str or Path
        The launch file.
    declared : collection of str
        Names of its arguments.

    Raises
    ------
    ConfigError
        An unknown name; the message says which names there are, the nearest first.
    """
    file_name = Path(file).name
    words = [Path(word).name for word in command_line]
    if file_name not in words:
        return
    for word in command_line[words.index(file_name) + 1 :]:
        name, separator, _ = word.partition(":=")
        if separator and name not in declared:
            near = difflib.get_close_matches(name, declared, n=1)
            guess = f"did you mean {near[0]}:=? " if near else ""
            raise ConfigError(f"{file_name} has no argument {name}:=; {guess}Allowed: {', '.join(sorted(declared))}")
