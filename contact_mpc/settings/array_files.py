"""Files of named arrays (.npz) with a JSON header: written whole or not at all, read within bounds.

The size of every array is taken from its header and compared with what the archive says that it holds, before any
memory is asked for: a small file cannot unpack to gigabytes.
"""

import json
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import PlanError
from contact_mpc.settings.file_access import replacing

MOST_BYTES = 512_000_000  # of all arrays of a file, unpacked
MOST_HEADER_BYTES = 10_000_000
# What zipfile, numpy and json raise on bytes that are no such file; RecursionError and NotImplementedError among them.
DEFECTS = (
    EOFError, LookupError, MemoryError, RuntimeError, SyntaxError, TokenError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_arrays(path: Path, what: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays with a header; raises PlanError where the file cannot be written, and leaves the one before."""
    try:
        with replacing(path) as file:
            np.savez_compressed(file, header=np.array(json.dumps(header)), **cast(Any, arrays))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlanError(f"{path}: {what} cannot be written ({reason}); choose a writable folder") from error


def read_arrays(
    path: Path, what: str, names: tuple[str, ...], optional: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return (header, arrays by name) of a file that `write_arrays` wrote.

    Raises
    ------
    PlanError
        The file cannot be read, is too large, or lacks one of `names`; `what` names what it should have been.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            size = sum(item.file_size for item in archive.infolist())
            if size > MOST_BYTES:
                raise PlanError(f"{path}: unpacks to {size} bytes; at most {MOST_BYTES} are allowed")
            present = set(archive.namelist())
            wanted = (*names, *(name for name in optional if f"{name}.npy" in present))
            header = json.loads(str(_read_array(archive, "header", "U", MOST_HEADER_BYTES)))
            arrays = {name: _read_array(archive, name, "fiub", MOST_BYTES) for name in wanted}
    except OSError as error:
        raise PlanError(f"{path}: {what} cannot be read ({error.strerror or error})") from error
    except DEFECTS as error:
        raise PlanError(f"{path}: not a {what} file of contact_mpc ({error})") from error
    if not isinstance(header, dict):
        raise PlanError(f"{path}: not a {what} file of contact_mpc (its header is no mapping)")
    return header, arrays


def _read_array(archive: zipfile.ZipFile, name: str, kinds: str, most_bytes: int) -> NDArray[Any]:
    """Return one array; raises ValueError where its header does not fit what the archive holds."""
    item = archive.getinfo(f"{name}.npy")
    with archive.open(item) as file:
        shape, dtype = _read_shape(cast(BinaryIO, file))
    size = int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize
    if dtype.kind not in kinds or min(shape, default=0) < 0 or not size <= min(item.file_size, most_bytes):
        raise ValueError(f"{name} of type {dtype}, shape {shape}, does not fit its {item.file_size} bytes")
    with archive.open(item) as file:
        return np.asarray(np.lib.format.read_array(cast(BinaryIO, file), allow_pickle=False))


def _read_shape(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"version {version} of its arrays is unknown")
    shape, _, dtype = read(file)
    return shape, dtype
