"""Extension points by name: what can be chosen, where it stands, and what it needs; imported when it is asked for.

One line of a registry adds an implementation to the package. What stands outside is chosen by "module:name", in every
process that can import the module: this one, workers of an evaluation, nodes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from contact_mpc.errors import ConfigError, ContactMpcError
from contact_mpc.settings.extras import install_command

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One implementation.

    Attributes
    ----------
    target : str
        "module:name" of what is loaded.
    summary : str
        What it is, in one line.
    needs, extra : str
        Package that it needs beyond the core, and the extra that installs it; "" for none.
    """

    target: str
    summary: str
    needs: str = ""
    extra: str = ""


class Registry(Generic[T]):
    """Implementations of one extension point by name, in the order in which messages list them.

    Parameters
    ----------
    what : str
        What is chosen, as messages call it: "controller".
    entries : mapping
        What the package has.
    aliases : mapping, optional
        Further names of these, for command lines and files that know them so.
    error : type
        What is raised for a name that cannot be had: InputError where it is an argument of Python.
    """

    def __init__(
        self,
        what: str,
        entries: Mapping[str, Entry],
        aliases: Mapping[str, str] | None = None,
        error: type[ContactMpcError] = ConfigError,
    ) -> None:
        self.what, self._entries, self._aliases, self._error = what, dict(entries), dict(aliases or {}), error

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> Entry:
        """Return what is known of a name; raises ConfigError as `check`."""
        name = self.check(name)
        return self._entries.get(name) or Entry(name, "from outside the package")

    def check(self, name: str) -> str:
        """Return the name without alias; "module:name" is left to `load`.

        Raises
        ------
        ConfigError or InputError
            It is unknown; the message lists those that are allowed.
        """
        name = self._aliases.get(str(name), str(name))  # of a file it may be anything
        if name not in self._entries and ":" not in name:
            allowed = f"{', '.join(self._entries)}, or module:name of your own"
            raise self._error(f"{self.what} '{name}' is unknown; allowed: {allowed}")
        return name

    def is_available(self, name: str) -> bool:
        """Whether the package that it needs is installed."""
        needs = self[name].needs
        return not needs or find_spec(needs) is not None

    def require(self, name: str) -> None:
        """Raise ConfigError where an implementation is unknown or its package is not installed."""
        name = self.check(name)
        entry = self._entries.get(name)  # none of "module:name"
        if entry is not None and entry.needs and find_spec(entry.needs) is None:
            advice = install_command({entry.extra: None})
            raise self._error(f"{self.what} '{name}' needs {entry.needs}; install with: {advice}")

    def load(self, name: str) -> T:
        """Return the implementation; its module is imported now.

        Raises
        ------
        ConfigError
            It is unknown, its package is not installed, or there is no such module or name in it.
        """
        self.require(name)
        entry = self[name]
        module, _, attribute = entry.target.partition(":")
        try:
            found: Any = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            raise self._error(f"{self.what} '{name}': no module '{module}'; is it on PYTHONPATH?") from error
        except AttributeError as error:
            raise self._error(f"{self.what} '{name}': module '{module}' has no '{attribute}'") from error
        return found

    def register(self, name: str, entry: Entry) -> None:
        """Add an implementation, for this process.

        Raises
        ------
        ConfigError
            The name is taken.
        """
        if name in self._entries or name in self._aliases:
            raise self._error(f"{self.what} '{name}' is there already: {self[name].target}; choose another name")
        self._entries[name] = entry

    def remove(self, name: str) -> None:
        """Take out what was registered; raises ConfigError where it is unknown."""
        del self._entries[self.check(name)]

    def describe(self) -> str:
        """Return the names for a help text."""
        return ", ".join(self._entries)
