"""Serialized messages: the header without deserializing the rest (0.5 us instead of 13 us for a JointState at 1 kHz).

CDR: 4 bytes of encapsulation (byte 1 odd: little endian), then int32 sec, uint32 nanosec, uint32 length, the frame
with its closing zero. Valid for every message whose first field is a std_msgs/Header. Bytes come from anybody: the
middleware drops malformed ones only where it deserializes them itself.
"""

import struct
from typing import Any

from rclpy.serialization import deserialize_message

from contact_mpc.errors import InputError
from contact_mpc.settings.units import NS_PER_S

_LITTLE, _BIG = struct.Struct("<iII"), struct.Struct(">iII")
_FRAME_START = 4 + _LITTLE.size
_LONGEST_STAMP = 19  # digits of a 64 bit integer


def read_header(data: bytes) -> tuple[int, str]:
    """Return (stamp in ns, frame_id); raises InputError where the bytes end before the header does."""
    if len(data) < _FRAME_START:
        raise InputError(f"{len(data)} bytes hold no header of a message; check who publishes this topic")
    sec, nanosec, length = (_LITTLE if data[1] & 1 else _BIG).unpack_from(data, 4)
    if length > len(data) - _FRAME_START:
        raise InputError(f"frame_id of {length} bytes in {len(data)} bytes of message; check who publishes this topic")
    frame_id = data[_FRAME_START : _FRAME_START + max(length - 1, 0)].decode("ascii", errors="replace")
    return sec * NS_PER_S + nanosec, frame_id


def read_stamp_ns(data: bytes) -> int:
    """Return the stamp in ns; raises InputError like `read_header`."""
    return read_header(data)[0]


def parse_named_stamp(frame_id: str) -> int | None:
    """Return the stamp, ns, that a frame_id names in decimal digits, None where it names none."""
    return int(frame_id) if frame_id.isdecimal() and len(frame_id) <= _LONGEST_STAMP else None


def deserialize(data: bytes, msg_type: Any) -> Any:
    """Return the message; raises InputError where the bytes are none of this type."""
    try:
        return deserialize_message(data, msg_type)
    except RuntimeError as error:  # the RMWError of rclpy
        raise InputError(f"{len(data)} bytes are no {msg_type.__name__}: {error}") from error
