"""Outcomes of a study on disk, one JSON line each, so that an interrupted study goes on where it stopped.

A line counts only for the key that it was written with. The key holds all that an outcome depends on: the sources of
the package, the task's files, the variant and the ranges of the draws.
"""

import hashlib
import json
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
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise InputError(f"--out {path}: {error.strerror}; choose a file that you may write") from error
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                outcome = _read(entry["outcome"])
                self._known[entry["key"], outcome.seed] = outcome
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                if number < len(lines):  # the last line may have been cut off
                    raise InputError(
                        f"--out {path}: line {number} is no outcome of a study; choose another file"
                    ) from error

    def find(self, key: str, seed: int) -> TrialOutcome | None:
        """Return the outcome of a trial, or None if it is not there."""
        return self._known.get((key, seed))

    def add(self, key: str, outcome: TrialOutcome) -> None:
        """Keep an outcome."""
        self._known[key, outcome.seed] = outcome
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "outcome": asdict(outcome)}, default=float) + "\n")


def _read(values: dict[str, Any]) -> TrialOutcome:
    found = {field.name: values[field.name] for field in fields(TrialOutcome)}
    found |= {name: tuple(found[name]) for name in ("reasons", "reports", "solve_ms", "solve_cpu_ms")}
    return TrialOutcome(**found)
