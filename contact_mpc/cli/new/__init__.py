"""``contact-mpc new``: files of one's own from a few words.

What goes into them is worked out in `importing`, not here.
"""

import typer

from contact_mpc.cli.frame.lazy import Command, build_group, first_word

NEW = {"task": Command("contact_mpc.cli.new.task", "A task from a robot, an object and a turn.")}


def build_app(arguments: list[str]) -> typer.Typer:
    """Return the group with the command imported that `arguments` name."""
    return build_group(NEW, first_word(arguments), prefix="new ", help="Write files of one's own from a few words.")
