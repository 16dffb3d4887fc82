"""Raw messages of a rosbag2 bag: MCAP or sqlite3, a folder or a single file, closed or cut off."""

from collections.abc import Callable, Iterator
from pathlib import Path

from rosbags.rosbag2 import Reader

from contact_mpc.bags.recovery import McapScanner, RawMessage
from contact_mpc.errors import BagError

SUFFIXES = (".mcap", ".db3")
Warn = Callable[[str], None]


class DamagedBagError(Exception):
    """The library gave up on a bag; `raw_messages(..., recover=True)` may still save a part of it."""


def raw_messages(path: Path, warn: Warn, *, recover: bool = False) -> Iterator[RawMessage]:
    """Yield the messages of a bag in the order of their receipt.

    Parameters
    ----------
    path : Path
        Folder of a bag, or one of its files.
    warn : callable
        Told, in one sentence each, what is wrong with a bag that can be read all the same.
    recover : bool
        Read file after file without the index, leaving out what is damaged and warning of each.

    Raises
    ------
    BagError
        There is no bag at `path`, or nothing in it can be read.
    DamagedBagError
        Only without `recover`: the bag was not closed or is damaged.
    """
    files = storage_files(path)
    if recover:
        for file in files:
            yield from _recovered(file, warn)
    elif path.is_dir() and not (path / "metadata.yaml").is_file():
        warn("metadata.yaml is missing: the recorder did not close the bag")
        for file in files:
            yield from _indexed(file)
    else:
        yield from _indexed(path)


def storage_files(path: Path) -> tuple[Path, ...]:
    """Return the storage files of a bag in their order; raises BagError where there are none."""
    if not path.exists():
        raise BagError(f"{path}: no such bag; give the folder of a rosbag2 bag, or its .mcap or .db3 file")
    files = (path,) if path.is_file() else tuple(sorted(file for file in path.iterdir() if _is_storage(file)))
    if not files or not _is_storage(files[0]):
        inside = [str(file.parent) for file in path.glob("*/*") if _is_storage(file)]
        there = f"; there is one in {inside[0]}" if inside else "; give the folder that `--record` named"
        raise BagError(f"{path}: not a rosbag2 bag: no .mcap or .db3 file{there}")
    for file in files:
        if file.stat().st_size == 0:
            raise BagError(f"{file}: the file is empty: the recording stopped before its first message")
    return files


def _is_storage(file: Path) -> bool:
    return file.is_file() and (file.suffix in SUFFIXES or file.name.endswith((".mcap.zstd", ".db3.zstd")))


def _indexed(path: Path) -> Iterator[RawMessage]:
    """Read by the library, which checks index and checksums and knows compression."""
    try:
        with Reader(path) as reader:
            for connection, receive_ns, data in reader.messages():
                yield RawMessage(connection.topic, connection.msgtype, receive_ns, bytes(data))
    except GeneratorExit:
        raise
    except Exception as error:  # a damaged file makes the library raise nearly anything
        raise DamagedBagError(str(error)) from error


def _recovered(file: Path, warn: Warn) -> Iterator[RawMessage]:
    count = 0
    scanner = McapScanner(file)
    messages = scanner.messages() if file.suffix == ".mcap" else _indexed(file)
    try:
        for message in messages:
            count += 1
            yield message
        damages = scanner.damages
    except DamagedBagError as error:
        damages = [str(error)]
    if damages and count == 0:
        raise BagError(f"{file}: no message can be recovered: {damages[0]}; record the run again")
    for damage in damages:
        warn(f"{file.name} is cut off or damaged ({damage}): {count} messages recovered")
