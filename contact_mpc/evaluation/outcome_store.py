"""Outcomes of a study on disk, one JSON line each, so that an interrupted study goes on where it stopped.

A line counts only for the key that it was written with. The key holds all that an outcome depends on: the sources of
the package, the task's files, the variant and the ranges of the draws.
"""

import errno
import hashlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from contact_mpc.errors import InputError
from contact_mpc.evaluation.trial_run import TrialOutcome
from contact_mpc.loop.compile_ahead import source_digest


def make_key(*parts: Any) -> str:
    """Return the key of outcomes that depend on `parts` (JSON) and on the package's sources."""
    text = json.dumps([source_digest(), *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class OutcomeStore:
    """Appends outcomes to a file and knows those that are there.

    Parameters
    ----------
    path : Path or None
        The file; None keeps nothing.

    Raises
    ------
    InputError
        The file cannot be written, or holds a line that is no outcome.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[tuple[str, int], TrialOutcome] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            for number, line in enumerate(content[:whole].splitlines(), 1):
                self._learn(line, number)
            if whole < len(content):  # cut off by a kill or a full disk: the next line shall not continue it
                os.truncate(path, whole)
        except OSError as error:
            raise InputError(f"--out {path}: {error.strerror}; choose a file that you may write") from error

    def _learn(self, line: bytes, number: int) -> None:
        try:
            entry = json.loads(line)
            outcome = _read(entry["outcome"])
            self._known[entry["key"], outcome.seed] = outcome
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"--out {self._path}: line {number} is no outcome of a study; choose another") from error

    def find(self, key: str, seed: int) -> TrialOutcome | None:
        """Return the outcome of a trial, or None if it is not there."""
        return self._known.get((key, seed))

    def add(self, key: str, outcome: TrialOutcome) -> None:
        """Keep an outcome: its whole line is on the disk when this returns, or none of it.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        self._known[key, outcome.seed] = outcome
        if self._path is None:
            return
        line = json.dumps({"key": key, "outcome": asdict(outcome)}, default=float) + "\n"
        size = 0
        try:
            size = self._path.stat().st_size
            with self._path.open("ab", buffering=0) as file:
                if file.write(line.encode()) < len(line.encode()):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
        except OSError as error:
            if self._path.exists():
                os.truncate(self._path, size)
            raise InputError(f"--out {self._path}: {error.strerror}; outcomes so far are kept, free space") from error


def _read(values: dict[str, Any]) -> TrialOutcome:
    found = {field.name: values[field.name] for field in fields(TrialOutcome)}
    found |= {name: tuple(found[name]) for name in ("reasons", "reports", "solve_ms", "solve_cpu_ms")}
    return TrialOutcome(**found)
