"""Header of a serialized message without deserializing it: 0.5 us instead of 13 us for a JointState at 1 kHz.

CDR: 4 bytes of encapsulation (byte 1 odd: little endian), then int32 sec, uint32 nanosec, uint32 length, the frame
with its closing zero. Valid for every message whose first field is a std_msgs/Header.
"""

import struct

NS_PER_S = 1_000_000_000
_LITTLE, _BIG = struct.Struct("<iII"), struct.Struct(">iII")
_FRAME_START = 4 + _LITTLE.size


def read_header(data: bytes) -> tuple[int, str]:
    """Return (stamp in ns, frame_id)."""
    sec, nanosec, length = (_LITTLE if data[1] & 1 else _BIG).unpack_from(data, 4)
    frame_id = data[_FRAME_START : _FRAME_START + max(length - 1, 0)].decode("ascii", errors="replace")
    return sec * NS_PER_S + nanosec, frame_id


def read_stamp_ns(data: bytes) -> int:
    """Return the stamp in ns."""
    return read_header(data)[0]
