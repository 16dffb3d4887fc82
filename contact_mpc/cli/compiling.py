"""Compiling before a command computes anything, with a word about why it takes so long."""

from rich.console import Console


def compile_first(engine: str) -> None:
    """Compile ahead of everything else: what this process compiled itself would round differently (`compile_ahead`)."""
    from contact_mpc.loop.compile_ahead import compile_ahead

    with Console(stderr=True).status("compiling, once per version: two minutes or so"):
        compile_ahead(engine)
