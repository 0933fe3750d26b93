"""Give back the memory of code that only the start of this process has run.

Pages of a library stay resident once they were touched, however long ago; most of them are needed
only while modules are loaded. The system keeps the files at hand for when they are needed again.
"""

import ctypes
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from thinker.jail.kernel import LIBC

MADV_DONTNEED = 4  # linux/mman.h
MAPS = Path("/proc/self/smaps")
# A private mapping of a file's code or constants. None of its pages was ever written to (anonymous,
# as those that the linker prepares), so that all can be read again.
_CODE = re.compile(
    r"^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ \S+ [1-9].*\n(?:[A-Z].*\n)*?Anonymous: +0 kB",
    re.MULTILINE,
)

LIBC.madvise.restype = ctypes.c_int
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.malloc_trim.argtypes = [ctypes.c_size_t]


class CodePages(NamedTuple):
    """Addresses of code or constants: of the first byte, and after the last."""

    first: int
    end: int


def list_code_pages() -> list[CodePages]:
    """Return where this process has the code and the constants of its libraries."""
    found = _CODE.findall(MAPS.read_text("ascii", errors="replace"))
    return [CodePages(int(first, 16), int(end, 16)) for first, end in found]


def release_memory(pages: Iterable[CodePages]) -> None:
    """Give back pages of code, and free memory that was kept for new objects."""
    LIBC.malloc_trim(0)
    for first, end in pages:
        LIBC.madvise(first, end - first, MADV_DONTNEED)
