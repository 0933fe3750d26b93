"""Keep objects unwritten, so that forked processes share the pages that they are on."""

import ctypes
import gc
import sys
from types import FunctionType

WORD = ctypes.sizeof(ctypes.c_uint32)
IMMORTAL = 1 << 31  # what the reference count of None is at least, where there are such counts
ADDRESSES = 1 << 45  # words in the address space of a process


def share_objects() -> None:
    """Let neither references nor collections write to the objects that exist now.

    Each gets the reference count of None, which CPython 3.12 and later neither change nor let
    reach zero: it is never freed. Other interpreters keep counting. Call it before a fork.
    """
    gc.unfreeze()  # or they would not be listed
    objects: list[object] = gc.get_objects()
    gc.freeze()
    count = ctypes.c_uint32.from_address(id(None)).value
    if count < IMMORTAL or sys.byteorder == "big":
        return
    memory = memoryview((ctypes.c_uint32 * ADDRESSES).from_address(WORD)).cast("B").cast("I")
    for item in objects:
        _set_count(memory, item, count)
        if type(item) is FunctionType:
            _set_count(memory, item.__code__, count)


def _set_count(memory: memoryview, item: object, count: int) -> None:
    """Set a reference count, unless it is set: the page may be shared already."""
    if sys.getrefcount(item) < count:
        memory[(id(item) - WORD) // WORD] = count
