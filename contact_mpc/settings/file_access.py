"""Reading a file of bounded size, and writing one so that it is either the old or the whole new one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from contact_mpc.errors import ContactMpcError


class WriteError(ContactMpcError, OSError):
    """A file could not be written; what was there before is there still."""

    def __str__(self) -> str:
        return f"{self.filename}: cannot be written ({self.strerror}); free space, or choose a writable folder"


def read_bounded(path: Path, most_bytes: int, error_type: type[ContactMpcError]) -> bytes:
    """Return the content of a file; raises `error_type` where it cannot be read or is longer than `most_bytes`."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with NUL
        raise error_type(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(content) > most_bytes:
        raise error_type(f"{path}: longer than the {most_bytes} bytes that are allowed")
    return content


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write in the place of `path`, which it takes only once all of it is on the disk.

    A full disk, a crash or an exception leaves what was there before, and no other file. Folders are made; links are
    followed; what is no regular file, such as /dev/stdout, is written to directly.

    Raises
    ------
    WriteError
        The disk is full, say: an OSError that the command line prints as one line.
    """
    try:
        with _replacing(path.resolve()) as file:
            yield file
    except OSError as error:
        raise WriteError(error.errno, error.strerror or str(error), str(path)) from error


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".contact_mpc-", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 by `replacing`; raises WriteError."""
    with replacing(path) as file:
        file.write(text.encode())


def _umask() -> int:
    """Return the mask of this process; the only way to read it is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
