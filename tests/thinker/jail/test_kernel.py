"""What processes ask of the kernel and the C library."""

import subprocess
import sys

import pytest

# A large block that was freed has glibc keep others, as long as what came later is in use.
FREE = """
import os
from pathlib import Path
from thinker.jail import kernel
{first}
def count_resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20
del (block := [bytearray(8 << 20)])[:]
before = count_resident()
blocks = [bytearray(b"x") * (1 << 20) for _ in range(64)]
kept = bytearray(100_000)
del blocks
print(count_resident() - before > 32)
"""


@pytest.mark.parametrize(
    ("first", "is_kept"), [("", "True"), ("kernel.give_back_large_blocks()", "False")]
)
def test_large_blocks_are_given_back_once_they_are_free(first: str, is_kept: str) -> None:
    """Each thread that has read a large file would keep as much for the next one."""
    code = FREE.format(first=first)
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == is_kept
