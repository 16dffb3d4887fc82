"""The writer of bags, with a checksum over every chunk: the library writes 0 there, which means none.

Without it a bit that flips on a disk or a stick changes a recorded number, and no reader can tell.
"""

from binascii import crc32
from pathlib import Path
from typing import Any, ClassVar

from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.rosbag2.storage_mcap import McapWriter

BAG_VERSION = 9
CRC_OFFSET = 9 + 24  # of a chunk: opcode and length; first and last time, size before compression


class CheckedMcapWriter(McapWriter):
    """Fills in the checksum of every chunk that the library has written."""

    def close_chunk(self) -> None:
        """Write the chunk begun so far, then its checksum."""
        start, crc = self.bio.tell(), crc32(self.chunk.bio.getbuffer())
        super().close_chunk()
        self.bio.seek(start + CRC_OFFSET)
        self.bio.write(crc.to_bytes(4, "little"))
        self.bio.seek(0, 2)


class CheckedWriter(Writer):
    """Writer of a rosbag2 bag in MCAP whose chunks carry checksums."""

    STORAGE_PLUGINS: ClassVar[dict[StoragePlugin, Any]] = {
        **Writer.STORAGE_PLUGINS,
        StoragePlugin.MCAP: CheckedMcapWriter,
    }

    def __init__(self, path: Path, storage: StoragePlugin = StoragePlugin.MCAP) -> None:
        super().__init__(path, version=BAG_VERSION, storage_plugin=storage)
