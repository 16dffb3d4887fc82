"""YAML as `yaml.safe_load` reads it, but without what hides a mistake or an attack.

A key that is given twice is refused with its line (PyYAML keeps the last one without a word), and so are texts that are
too long, nested too deep, or that grow out of proportion through aliases.
"""

from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.events import AliasEvent

from contact_mpc.errors import ConfigError

MOST_BYTES = 4_000_000
DEEPEST = 50  # mappings and sequences within each other
MOST_VALUES = 200_000  # with every alias written out
DEFECTS = (yaml.YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError)  # e.g. of `!!int abc`


class _StrictLoader(yaml.SafeLoader):  # type: ignore[misc]  # yaml is untyped
    """Counts depth and values while it composes, and compares the keys of every mapping."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._values: dict[yaml.Node, int] = {}  # of every complete node, itself and what is in it

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        """Compose one node; refuses depth, aliases to what contains them, and too many values."""
        mark, is_alias = self.peek_event().start_mark, self.check_event(AliasEvent)
        self._depth += 1
        if self._depth > DEEPEST:
            raise ComposerError(None, None, f"nested deeper than the {DEEPEST} levels that are allowed", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and node not in self._values:
            raise ComposerError(None, None, "an alias to what contains it", mark)
        self._values[node] = 1 + sum(self._values[part] for part in _parts(node))
        if self._values[node] > MOST_VALUES:
            raise ComposerError(None, None, f"more than the {MOST_VALUES} values that are allowed", mark)
        return node

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        """Compose a mapping; refuses a key that is there already."""
        node = super().compose_mapping_node(anchor)
        first: dict[tuple[str, str], yaml.Node] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and first.setdefault((key.tag, key.value), key) is not key:
                line = first[key.tag, key.value].start_mark.line + 1
                raise ComposerError(
                    None, None, f"key '{key.value}' is given twice, first in line {line}", key.start_mark
                )
        return node


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for item in node.value for part in item]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def parse_yaml(text: str, source: object) -> Any:
    """Return the value of a YAML text.

    Raises
    ------
    ConfigError
        It is not valid, gives a key twice, is too long or too deep; names `source`, and the line where there is one.
    """
    if len(text) > MOST_BYTES:
        raise ConfigError(f"{source}: {len(text)} characters of YAML; at most {MOST_BYTES} are allowed")
    try:
        return yaml.load(text, _StrictLoader)  # a SafeLoader
    except DEFECTS as error:
        raise ConfigError(f"{source}: not valid YAML: {_describe(error)}") from error


def _describe(error: Exception) -> str:
    """Return an error in one line, without the excerpt that PyYAML draws below."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return ", ".join(" ".join(part.split()) for part in (error.context, error.problem) if part) + place
