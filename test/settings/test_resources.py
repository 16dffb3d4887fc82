"""Data files are found in a checkout, in an installed prefix and through ament, and misses say what exists."""

from pathlib import Path

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.settings import resources


def make_share(prefix: Path) -> Path:
    share = prefix / "share" / "contact_mpc"
    (share / "config" / "systems").mkdir(parents=True)
    (share / "config" / "systems" / "here.yaml").write_text("name: here\n", encoding="utf-8")
    return share


def pretend_package_at(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setattr(resources, "__file__", str(root / "contact_mpc" / "model" / "resources.py"))
    monkeypatch.setattr(resources.sys, "prefix", str(root / "no_such_prefix"))
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def test_checkout_comes_first() -> None:
    assert resources.share_directory() == Path(__file__).resolve().parents[2]


def test_prefix_that_holds_the_package_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = make_share(tmp_path)
    pretend_package_at(monkeypatch, tmp_path / "lib" / "python3.11" / "site-packages")
    assert resources.share_directory() == share
    assert resources.resource("systems", "here").name == "here.yaml"


def test_ament_prefix_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = make_share(tmp_path / "overlay")
    pretend_package_at(monkeypatch, tmp_path / "elsewhere")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'empty'}:{tmp_path / 'overlay'}")
    assert resources.share_directory() == share


def test_incomplete_installation_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_package_at(monkeypatch, tmp_path)
    with pytest.raises(ConfigError, match="install it again") as error:
        resources.share_directory()
    assert str(tmp_path) in str(error.value)


def test_names_are_found_with_and_without_suffix() -> None:
    path = resources.resource("systems", "allegro_ball")
    assert path == resources.resource("systems", "allegro_ball.yaml")
    assert path.is_file() and path.is_absolute()


def test_path_of_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: mine\n", encoding="utf-8")
    assert resources.resource("systems", mine) == mine


def test_bare_word_in_the_working_directory_does_not_hide_a_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "allegro_ball").write_text("", encoding="utf-8")
    assert resources.resource("systems", "allegro_ball").name == "allegro_ball.yaml"


def test_misspelt_name_lists_those_that_exist() -> None:
    with pytest.raises(ConfigError, match="allegro_ball") as error:
        resources.resource("systems", "alegro_bal")
    assert "'alegro_bal'" in str(error.value)


def test_unknown_kind_lists_the_kinds() -> None:
    with pytest.raises(ConfigError, match="systems, tasks"):
        resources.resource("worlds", "allegro")
