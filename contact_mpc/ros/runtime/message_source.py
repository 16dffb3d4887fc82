"""Takes serialized messages together with the identity of their publisher, which rclpy does not hand over.

rclpy 7 takes a message with time stamps alone; the GID of its publisher (16 bytes, the middleware's own name for one
publisher of one process) is in the same `rmw_message_info_t`, so it is read here from rcl itself, through the
structures of rcl and rmw of ROS 2 Jazzy. A GID keeps mistakes and intruders apart that publish as ROS nodes do; whoever
forges packets of the middleware can forge it too, and only SROS 2 helps.
"""

import ctypes
from functools import cache
from typing import Any, NamedTuple

GID_BYTES = 16  # RMW_GID_STORAGE_SIZE
FIRST_CAPACITY = 4096
RCL_RET_OK, RCL_RET_SUBSCRIPTION_TAKE_FAILED = 0, 401

Gid = bytes


class Taken(NamedTuple):
    """A serialized message: its bytes, when it was published and received (system clock, ns), and by whom."""

    data: bytes
    published_ns: int
    received_ns: int
    gid: Gid


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "free", "reallocate", "zero_allocate", "state")]


class _ByteArray(ctypes.Structure):
    """`rcutils_uint8_array_t`."""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]


class _PublisherGid(ctypes.Structure):
    """`rmw_gid_t`."""

    _fields_ = [("implementation", ctypes.c_char_p), ("data", ctypes.c_uint8 * GID_BYTES)]


class _MessageInfo(ctypes.Structure):
    """`rmw_message_info_t`."""

    _fields_ = [
        ("source_timestamp", ctypes.c_int64),
        ("received_timestamp", ctypes.c_int64),
        ("publication_sequence_number", ctypes.c_uint64),
        ("reception_sequence_number", ctypes.c_uint64),
        ("publisher_gid", _PublisherGid),
        ("from_intra_process", ctypes.c_bool),
    ]


@cache
def _libraries() -> tuple[Any, Any]:
    """Return rcl's take and rcutils, which rclpy has loaded already."""
    rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
    take = rcl.rcl_take_serialized_message
    take.argtypes = [ctypes.c_void_p, ctypes.POINTER(_ByteArray), ctypes.POINTER(_MessageInfo), ctypes.c_void_p]
    take.restype = ctypes.c_int
    rcutils.rcutils_get_default_allocator.restype = _Allocator
    rcutils.rcutils_uint8_array_init.argtypes = [
        ctypes.POINTER(_ByteArray), ctypes.c_size_t, ctypes.POINTER(_Allocator),
    ]  # fmt: skip
    rcutils.rcutils_uint8_array_fini.argtypes = [ctypes.POINTER(_ByteArray)]
    return take, rcutils


class MessageSource:
    """Takes messages of any subscriptions into one buffer; not for several threads at once."""

    def __init__(self) -> None:
        self._take, rcutils = _libraries()
        self._array, self._info = _ByteArray(), _MessageInfo()
        allocator = rcutils.rcutils_get_default_allocator()
        if rcutils.rcutils_uint8_array_init(ctypes.byref(self._array), FIRST_CAPACITY, ctypes.byref(allocator)) != 0:
            raise MemoryError("no memory for a buffer of messages")
        self._free = rcutils.rcutils_uint8_array_fini

    def take(self, handle: Any, largest: int) -> Taken | None:
        """Return the oldest message of a subscription, or None.

        Parameters
        ----------
        handle : rclpy subscription handle
            Where to take it from.
        largest : int
            Bytes; of a longer message only `largest` + 1 are copied.

        Raises
        ------
        RuntimeError
            rcl refused.
        """
        with handle:
            result = self._take(handle.pointer, ctypes.byref(self._array), ctypes.byref(self._info), None)
        if result == RCL_RET_SUBSCRIPTION_TAKE_FAILED:
            return None
        if result != RCL_RET_OK:
            raise RuntimeError(f"rcl_take_serialized_message returned {result}")
        info = self._info
        data = ctypes.string_at(self._array.buffer, min(self._array.length, largest + 1))
        gid = bytes(info.publisher_gid.data)
        return Taken(data, info.source_timestamp, info.received_timestamp, gid)

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free(ctypes.byref(self._array))
