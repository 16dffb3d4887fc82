"""Messages of an MCAP file that was not closed: no footer, no index, a last chunk cut anywhere.

An MCAP file is a magic number and then records (opcode, 64-bit length, content). The reader walks over them from the
start and opens every complete chunk. A chunk whose checksum or content is damaged is left out and reported; where the
walk itself is lost, it ends. Topics and types are read from the summary at the end, too, if there is one. Format: the
MCAP specification, https://mcap.dev/spec (opcodes 0x02 footer, 0x03 schema, 0x04 channel, 0x05 message, 0x06 chunk).
"""

import struct
import sys
from binascii import crc32
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lz4.frame import decompress as lz4_decompress  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x02, 0x03, 0x04, 0x05, 0x06
FOOTER_SIZE = 9 + 20 + len(MAGIC)
RECORD_HEAD = struct.Struct("<BQ")
MOST_CHUNK_BYTES = 1_000_000_000
CHUNK_HEAD = struct.Struct("<QQQI")
MESSAGE_HEAD = struct.Struct("<HIQQ")


class RawMessage(NamedTuple):
    """A message as it lies in the bag: topic, type, receive time (ns) and CDR bytes."""

    topic: str
    msgtype: str
    receive_ns: int
    data: bytes


class _DamageError(Exception):
    """Where the walk had to stop; never leaves this module."""


class McapScanner:
    """Walk over the records of one MCAP file, footer or not.

    Attributes
    ----------
    damages : list of str
        After the walk: every damage, and at which byte; empty for an intact file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damages: list[str] = []
        self._types: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}

    def messages(self) -> Iterator[RawMessage]:
        """Yield the messages in file order; `damages` is complete once the iterator is exhausted."""
        with self.path.open("rb") as file:
            self._learn_summary(file)
            if file.read(len(MAGIC)) != MAGIC:
                self.damages.append("it does not start with the MCAP magic number")
                return
            while head := file.read(RECORD_HEAD.size):
                start = file.tell() - len(head)
                if head == MAGIC:
                    return
                where = f"at byte {start} of {self.path.stat().st_size}"
                try:
                    opcode, content = self._read_record(head, file)
                except _DamageError as damage:
                    self.damages.append(f"{damage} {where}")
                    return
                try:
                    yield from self._open_record(opcode, content)
                except _DamageError as damage:
                    self.damages.append(f"{damage} {where}")
        self.damages.append("the footer is missing")

    def _learn_summary(self, file: BinaryIO) -> None:
        """Take topics and types from the summary, so that no chunk's damage costs the chunks after it."""
        with suppress(OSError, struct.error, _DamageError):
            file.seek(-FOOTER_SIZE, 2)
            opcode, length = RECORD_HEAD.unpack(file.read(RECORD_HEAD.size))
            (summary,) = struct.unpack_from("<Q", file.read(20))
            if (opcode, length) == (FOOTER, 20) and summary:
                file.seek(summary)
                while len(head := file.read(RECORD_HEAD.size)) == RECORD_HEAD.size:
                    opcode, content = self._read_record(head, file)
                    if opcode not in (SCHEMA, CHANNEL):
                        break
                    list(self._record(opcode, content))
        file.seek(0)

    def _read_record(self, head: bytes, file: BinaryIO) -> tuple[int, bytes]:
        if len(head) < RECORD_HEAD.size:
            raise _DamageError("a record head is cut off")
        opcode, length = RECORD_HEAD.unpack(head)
        if length > self.path.stat().st_size - file.tell():
            raise _DamageError("a record is cut off")
        return opcode, file.read(length)

    def _open_record(self, opcode: int, content: bytes) -> Iterator[RawMessage]:
        if opcode == CHUNK:
            yield from self._records(_decompress_chunk(content))
        else:
            yield from self._record(opcode, content)

    def _records(self, data: bytes) -> Iterator[RawMessage]:
        offset = 0
        while offset < len(data):
            if offset + RECORD_HEAD.size > len(data):
                raise _DamageError("a chunk ends inside a record")
            opcode, length = RECORD_HEAD.unpack_from(data, offset)
            offset += RECORD_HEAD.size
            yield from self._record(opcode, data[offset : offset + length])
            offset += length

    def _record(self, opcode: int, content: bytes) -> Iterator[RawMessage]:
        try:
            if opcode == SCHEMA:
                self._types[int.from_bytes(content[:2], "little")] = _string(content, 2)[0]
            elif opcode == CHANNEL:
                channel, schema = struct.unpack_from("<HH", content)
                self._channels[channel] = (_string(content, 4)[0], self._types.get(schema, ""))
            elif opcode == MESSAGE:
                channel, _, log_ns, _ = MESSAGE_HEAD.unpack_from(content)
                topic, msgtype = self._channels[channel]
                yield RawMessage(topic, msgtype, log_ns, content[MESSAGE_HEAD.size :])
        except (struct.error, KeyError, UnicodeDecodeError) as error:
            raise _DamageError("a record is damaged") from error


def _string(content: bytes, offset: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", content, offset)
    end = offset + 4 + length
    return content[offset + 4 : end].decode(), end


def _decompress_chunk(content: bytes) -> bytes:
    try:
        _, _, size, crc = CHUNK_HEAD.unpack_from(content)
        compression, offset = _string(content, CHUNK_HEAD.size)
        packed = content[offset + 8 :]
        if size > MOST_CHUNK_BYTES:
            raise _DamageError(f"a chunk says that it unpacks to {size} bytes")
        raw = {"": bytes, "lz4": lz4_decompress, "zstd": zstd.decompress}[compression](packed)
    except KeyError as error:
        raise _DamageError(f"a chunk has the unknown compression {error}") from error
    except (struct.error, UnicodeDecodeError, RuntimeError, zstd.ZstdError) as error:
        raise _DamageError("a chunk is damaged") from error
    if len(raw) != size:
        raise _DamageError("a chunk is damaged")
    if crc and crc32(raw) != crc:  # 0: its writer made none
        raise _DamageError("a chunk does not fit its checksum and is left out")
    return raw
