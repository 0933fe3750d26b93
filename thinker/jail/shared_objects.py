"""Keep objects unwritten, so that forked processes share the pages that they are on."""

import ctypes
import gc
import sys
from types import FunctionType

WORD = ctypes.sizeof(ctypes.c_uint32)
IMMORTAL = 1 << 31  # what the reference count of None is at least, where there are such counts
GAPS = 1000  # filled for each size at most
POOL, FIRST = 16 * 1024, 48  # bytes of a pool of equal blocks, and of its head
ADDRESSES = 1 << 45  # words in the address space of a process
_gap_fillers: list[bytes] = []


def share_objects(*, with_values: bool = False) -> None:
    """Let neither references nor collections write to the objects that exist now.

    Each gets the reference count of None, which CPython 3.12 and later neither change nor let
    reach zero: it is never freed. Other interpreters keep counting. Call it before a fork. What
    collections do not look at, such as texts, is included ``with_values`` only: that takes longer.
    """
    _fill_gaps()
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
    for item in objects if with_values else ():
        values = gc.get_referents(item)
        while values:
            value = values.pop()
            if sys.getrefcount(value) < count:
                _set_count(memory, value, count)
                values += gc.get_referents(value)


def _set_count(memory: memoryview, item: object, count: int) -> None:
    """Set a reference count, unless it is set: the page may be shared already."""
    if sys.getrefcount(item) < count:
        memory[(id(item) - WORD) // WORD] = count


def _fill_gaps() -> None:
    """Fill free gaps in the heap, whose pages are shared until written.

    New objects of a forked process then lie together, on few pages of its own. CPython has one kind
    of pool for every 16 bytes of object size up to 512 (Objects/obmalloc.c); a bytes object has 33
    bytes of header. The first block of a new pool tells that all others are full.
    """
    for size in range(48, 513, 16):
        for _ in range(GAPS):
            _gap_fillers.append(filler := bytes(size - 33))
            if id(filler) % POOL == FIRST:
                break
