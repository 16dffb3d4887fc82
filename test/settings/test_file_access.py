"""Files are the old or the whole new one, whatever fails on the way."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from contact_mpc.settings import file_access
from contact_mpc.settings.file_access import replacing, write_text


def no_space(*_args: object, **_keywords: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("failing", ["fsync", "replace", "chmod", "fdopen"])
def test_the_old_file_stays_where_a_write_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    path = tmp_path / "plan.txt"
    path.write_text("old")
    monkeypatch.setattr(file_access.os, failing, no_space)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["plan.txt"]


def test_the_old_file_stays_where_the_writer_fails_half_way(tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"ne")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["plan.txt"]


def test_the_data_are_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def noted(name: str, function: Callable) -> Callable:
        def call(*args: object) -> object:
            calls.append(name)
            return function(*args)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(file_access.os, name, noted(name, getattr(os, name)))
    write_text(tmp_path / "new" / "plan.txt", "new")
    assert calls == ["fsync", "replace", "fsync"]  # file, name, folder


def test_rights_of_the_old_file_are_kept_and_new_files_have_the_usual_ones(tmp_path: Path) -> None:
    old, new, usual = (tmp_path / name for name in ("old", "new", "usual"))
    old.touch()
    old.chmod(0o640)
    usual.touch()
    write_text(old, "x")
    write_text(new, "x")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


def test_links_are_followed_and_devices_written_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    write_text(Path("/dev/null"), "new")
    assert not Path("/dev/null").is_file()
