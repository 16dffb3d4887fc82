"""Something on the terminal while a command is silent: what it does, and since when.

Heavy imports, caches that load and pages that are written show nothing of their own. What is written here is one line
on stderr that the next output replaces; nothing is written where stderr is no terminal.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

SILENT_S = 4.0
ERASE = "\r\x1b[2K"


class Heartbeat:
    """Watches when streams were last written to; see `heartbeat`."""

    def __init__(self, stream: TextIO, text: str, silent_s: float) -> None:
        self.text = text
        self._stream, self._silent_s = stream, silent_s
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._began_s = self._written_s = time.monotonic()
        self._is_shown = False

    def watch(self) -> None:
        """Say what goes on after each stretch of silence, until `end`."""
        while not self._ended.wait(0.1 * self._silent_s):
            with self._lock:
                now_s = time.monotonic()
                if now_s - self._written_s >= self._silent_s:
                    self._show(f"{ERASE}{self.text}, {now_s - self._began_s:.0f} s")
                    self._written_s, self._is_shown = now_s, True

    def end(self) -> None:
        """Take the line away and write no other."""
        self._ended.set()
        self.clear()

    def clear(self) -> None:
        """Take the line away: something else is about to be written."""
        with self._lock:
            if self._is_shown:
                self._show(ERASE)
            self._written_s, self._is_shown = time.monotonic(), False

    def _show(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the terminal was closed: the command goes on, and nobody is left to tell
            self._ended.set()


class _Watched:
    """A stream that tells the heartbeat of what is written to it."""

    def __init__(self, stream: TextIO, beat: Heartbeat) -> None:
        self._stream, self._beat = stream, beat

    def write(self, text: str) -> int:
        self._beat.clear()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def heartbeat(text: str, silent_s: float = SILENT_S) -> Iterator[Heartbeat | None]:
    """Watch stdout and stderr; yields the watcher, whose text can be changed, or None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    streams, beat = (sys.stdout, sys.stderr), Heartbeat(sys.stderr, text, silent_s)
    sys.stdout, sys.stderr = (_Watched(stream, beat) for stream in streams)
    thread = threading.Thread(target=beat.watch, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield beat
    finally:
        beat.end()
        sys.stdout, sys.stderr = streams
