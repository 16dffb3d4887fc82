"""The ``contact-mpc`` command: the list of commands, the version, and what an exit code means.

Exit codes: 0 the goal was met, 1 it was not, 2 a user's mistake (one line on stderr), 130 interrupted.
"""

import signal
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

import typer

from contact_mpc.cli import bench, new, study
from contact_mpc.cli.frame.heartbeat import heartbeat
from contact_mpc.cli.frame.interrupts import interruptible
from contact_mpc.cli.frame.lazy import Command, build_group, first_word
from contact_mpc.cli.frame.output import EXIT_INTERRUPTED, remember_arguments, reserved_stdout
from contact_mpc.ros.stack.adoption import prepare
from contact_mpc.version import __version__

COMMANDS = {
    "run": Command(
        "contact_mpc.cli.run.run", "Run a task in closed loop: every node as a process over DDS, with a plant."
    ),
    "goal": Command("contact_mpc.cli.run.goal", "Send a goal for the object to a stack that runs, and follow it."),
    "replay": Command("contact_mpc.cli.replay", "Recompute estimates and MPC commands from a bag and compare."),
    "plan": Command("contact_mpc.cli.plan.plan", "Optimise the reference trajectory of a task and write a plan file."),
    "evaluate": Command("contact_mpc.cli.evaluate.evaluate", "Run a task many times with perturbed starts and plants."),
    "example": Command("contact_mpc.cli.example", "Run a published result of the contact model, with plots and data."),
    "show": Command("contact_mpc.cli.show", "Show what is in a system or a task, in words and as a page."),
    "import": Command("contact_mpc.cli.new.import_robot", "Make a system of a URDF, xacro or MJCF file of one's own."),
    "view": Command("contact_mpc.cli.view.view", "Show a running stack in a browser, where its goal can be dragged."),
    "list": Command("contact_mpc.cli.list", "List the tasks, planning problems, systems, robots and examples."),
    "hardware-check": Command(
        "contact_mpc.cli.doctor.hardware_check", "Measure a connected robot by small motions, each with consent."
    ),
    "doctor": Command(
        "contact_mpc.cli.doctor.doctor", "Check what is installed, what is missing and what to do about it."
    ),
}

NODE_COMMANDS = ("run",)  # that start nodes soon: what these import is imported from the beginning

GROUPS = (
    ("bench", bench, "Measure speed and timing on this machine."),
    ("new", new, "Write files of one's own from a few words."),
    ("study", study, "Answer questions about the method by many runs."),
)


def build_app(arguments: list[str]) -> typer.Typer:
    """Return the whole application with the one command imported that `arguments` name."""
    remember_arguments(arguments)
    wanted = first_word(arguments)
    app = build_group(COMMANDS, wanted, help="Closed-loop control of contact-rich motion on ROS 2.")
    for name, group, text in GROUPS:
        after = arguments[arguments.index(name) + 1 :] if wanted == name else []
        app.add_typer(group.build_app(after), name=name, short_help=text)
    app.callback()(_options)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; with ``--json`` stdout carries the result object and nothing else."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        name = first_word(arguments) or "contact-mpc"
        with _ctrl_c(), heartbeat(f"{name}: loading") as beat, _result_stream(arguments):
            if name in NODE_COMMANDS and "--help" not in arguments:
                prepare()
            app = build_app(arguments)
            if beat is not None:
                beat.text = f"{name}: at work"
            app(args=arguments, prog_name="contact-mpc")
    except KeyboardInterrupt:  # while the modules of a command are still being imported
        sys.exit(EXIT_INTERRUPTED)


def _result_stream(arguments: list[str]) -> AbstractContextManager[Any]:
    """Return what keeps stdout for the result object with ``--json``."""
    return reserved_stdout() if "--json" in arguments else nullcontext()


def _ctrl_c() -> AbstractContextManager[None]:
    """Return what takes Ctrl-C where it can be taken; a shell's background job goes on ignoring it."""
    return nullcontext() if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else interruptible(signal.SIGINT)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"contact-mpc {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Closed-loop control of contact-rich motion on ROS 2.

    Results are a table, or one JSON object with --json. Exit code 0 means that the goal was met.
    """
