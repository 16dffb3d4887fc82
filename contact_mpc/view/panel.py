"""The panel beside the scene: status lines, error of the object, buttons that stop and reset the bridge."""

from collections.abc import Callable, Mapping

import viser

STATES = {0: "OK", 1: "WARN", 2: "ERROR", 3: "STALE"}


class Panel:
    """Status and buttons.

    Parameters
    ----------
    server : ViserServer
        The page.
    actions : mapping
        What each button does, by its label: "Stop", "Reset fault", "Hold".
    """

    def __init__(self, server: viser.ViserServer, actions: Mapping[str, Callable[[], None]]) -> None:
        self._lines: dict[str, str] = {}
        self._text = server.gui.add_markdown("waiting for the stack")
        for label, act in actions.items():
            button = server.gui.add_button(label, color="red" if label == "Stop" else None)
            button.on_click(lambda _event, act=act: act())

    def say(self, topic: str, text: str, level: int = 0) -> None:
        """Show the newest word on a topic; levels are those of DiagnosticStatus."""
        line = f"**{topic}** {'' if level == 0 else STATES.get(level, '?') + ': '}{text}"
        if self._lines.get(topic) != line:
            self._lines[topic] = line
            self._text.content = "\n\n".join(self._lines.values())
