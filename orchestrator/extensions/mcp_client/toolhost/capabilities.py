"""Give up root's capabilities, capabilities(7); other users have none."""

import ctypes
from collections.abc import Collection
from contextlib import suppress

from thinker.jail.kernel import LIBC, prctl

CHOWN, DAC_OVERRIDE, FOWNER, FSETID = 0, 1, 3, 4  # linux/capability.h
OF_FILES = frozenset({CHOWN, DAC_OVERRIDE, FOWNER, FSETID})
VERSION_3 = 0x20080522
PR_CAPBSET_DROP, PR_CAP_AMBIENT, CLEAR_ALL = 24, 47, 4  # linux/prctl.h
SETS = 3  # effective, permitted, inheritable


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def keep_capabilities(kept: Collection[int]) -> None:
    """Give up all capabilities but these, for this thread and what it starts."""
    with suppress(OSError):  # no right to, or past the last capability
        for number in range(64):
            if number not in kept:
                prctl(PR_CAPBSET_DROP, number)
    with suppress(OSError):
        prctl(PR_CAP_AMBIENT, CLEAR_ALL)
    header, sets = _Header(VERSION_3, 0), (ctypes.c_uint32 * (2 * SETS))()
    if LIBC.capget(ctypes.byref(header), sets) == 0:
        for index in range(2 * SETS):  # each set is two words of 32 capabilities
            word = index // SETS
            sets[index] &= sum(1 << number % 32 for number in kept if number // 32 == word)
        LIBC.capset(ctypes.byref(header), sets)
