"""YAML: what PyYAML reads without a word, or with a traceback, is one line that says where."""

from pathlib import Path

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.settings.strict_yaml import DEEPEST, MOST_BYTES, parse_yaml
from contact_mpc.settings.yaml_files import read_yaml


def test_values_anchors_and_merges_are_those_of_yaml() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nlist: [*b, 1.5, yes]\n"
    assert parse_yaml(text, "here") == {
        "base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}, "list": [{"x": 1, "y": 2}, 1.5, True],
    }  # fmt: skip


def test_a_key_given_twice_is_refused_with_both_lines() -> None:
    with pytest.raises(ConfigError, match=r"here.*'h_s' is given twice, first in line 2[\s\S]*line 4"):
        parse_yaml("a:\n  h_s: 0.1\n  k: 1\n  h_s: 0.2\n", "here")


LAUGHS = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, f"deeper than the {DEEPEST} levels"),
        ("{a: " * 2000, f"deeper than the {DEEPEST} levels"),
        (LAUGHS, "more than the 200000 values"),
        ("a: &x [1, *x]", "an alias to what contains it"),
        ("a: 2024-99-99", "month must be in"),
        ("a: !!int abc", "invalid literal"),
        ("a: " + "9" * 5000, "integer string conversion"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("{[1]: 2, {a: 1}: 3}", "unhashable key"),
        ("#" * (MOST_BYTES + 1), "are allowed"),
        ("a: \x00", "not valid YAML"),
    ],
)
def test_what_no_file_of_this_package_needs_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_yaml(text, "here")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: Pr\u00fcfstand".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.yaml: byte 8 is no UTF-8"):
        read_yaml(path)


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigError, match=r"/dev/zero: longer than the \d+ bytes"):
        read_yaml(Path("/dev/zero"))
