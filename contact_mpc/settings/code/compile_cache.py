"""numba's cache on disk, checked: a file that a crash or a full disk left empty, cut or altered is compiled again.

numba unpickles whatever it finds and runs the machine code in it: an empty file ends in a traceback, an altered one in
"Aborted." Here every file ends with a SHA-256 of what stands before, which numba itself does not read (a pickle ends
where it says). A file without one, of numba alone, counts if it unpickles.

Processes may share a folder: each file is replaced whole, and the folder is locked while an index and what it names are
read or written. numba alone gives two processes that compile two signatures at once the same file, and one of them then
runs the code of the other; and it names a file in the index before it has written it.

Code is compiled again where anything that it depends on has changed (`source_stamp`), not its own file alone.

numba names what it compiles by a count that begins at 1 in each process, and keeps the constants of Python that code
needs, the dtype of an array that it returns for one, by that name. Two processes gave one name to the same function
with other constants, and a third that loaded from both raised "descr is NULL" in place of returning. Here the count
begins elsewhere in each process, also in one that was forked.
"""

import fcntl
import hashlib
import itertools
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from numba.core import bytecode, caching

from contact_mpc.settings.code.source_stamp import source_stamp

MARK = b"\ncontact_mpc sha256 "
TRAILER = len(MARK) + hashlib.sha256().digest_size
NAME_BITS = 60  # of the number that a process begins to count at
logger = logging.getLogger(__name__)


class _Digesting:
    """Writes to a file and keeps the digest of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


class CheckedCacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]  # numba is untyped
    """Index and data of one compiled function; what is damaged is not there."""

    def save(self, key: Any, data: Any) -> None:
        """Write code and its name in the index as one."""
        with _locked(self._cache_path, fcntl.LOCK_EX):
            super().save(key, data)

    def load(self, key: Any) -> Any:
        """Return the code of a signature; None where there is none."""
        if not os.path.exists(self._index_path):
            return None
        with _locked(self._cache_path, fcntl.LOCK_SH):
            return super().load(key)

    def _load_index(self) -> dict[Any, Any]:
        try:
            _verify(Path(self._index_path))
            return dict(super()._load_index())
        except Exception as error:  # unpickling a damaged file raises nearly anything
            _report(self._index_path, error)
            return {}

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)
        try:
            _verify(Path(path))
            return super()._load_data(name)
        except Exception as error:
            _report(path, error)
            raise OSError(f"{path}: {error}") from error  # which numba takes for a file that is gone

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[_Digesting]:
        with super()._open_for_write(filepath) as file:
            digesting = _Digesting(file)
            yield digesting
            file.write(MARK + digesting.digest.digest())


def install() -> None:
    """Let functions that are compiled from now on keep their code in checked files, by all that it depends on.

    Their names are those of no other process.
    """
    _count_elsewhere()
    os.register_at_fork(after_in_child=_count_elsewhere)
    caching.IndexDataCacheFile = CheckedCacheFile
    caching._SourceFileBackedLocatorMixin.get_source_stamp = _stamp


def _count_elsewhere() -> None:
    bytecode.FunctionIdentity._unique_ids = itertools.count(secrets.randbits(NAME_BITS))


def _stamp(locator: Any) -> str:
    return source_stamp(locator._py_file)


@contextmanager
def _locked(folder: str, kind: int) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process at the latest."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def _verify(path: Path) -> None:
    """Raise ValueError where a file is not what was written."""
    if not path.exists():
        return
    content = path.read_bytes()
    trailer = content[-TRAILER:]
    if trailer.startswith(MARK) and hashlib.sha256(content[:-TRAILER]).digest() != trailer[len(MARK) :]:
        raise ValueError("its content does not fit its checksum")


def _report(path: str, error: Exception) -> None:
    """Say what is damaged; a whole file that names what is no more is another version's, as one that is gone."""
    if not isinstance(error, FileNotFoundError | AttributeError | ImportError):
        logger.warning("%s: damaged compiled code (%s): compiling it again", path, error or type(error).__name__)
