"""seccomp: give up system calls for a process and all that it starts.

A denied call fails with EPERM, as if the user had no right to it. A filter is permanent and applies
to all threads; of several filters, the strictest answer wins.
"""

import ctypes
import errno
import struct
from collections.abc import Collection, Iterable
from typing import NamedTuple

from thinker.jail import hardening, kernel
from thinker.jail.calls import NUMBERS
from thinker.jail.kernel import prctl, syscall

SET_MODE_FILTER, FLAG_TSYNC, FLAG_NEW_LISTENER = 1, 1, 8  # linux/seccomp.h
ALLOW, ERRNO, NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06  # linux/bpf_common.h
AT_NUMBER, AT_ARCH, AT_ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
ARCHITECTURES = {kernel.X86_64: 0xC000003E, kernel.ARM64: 0xC00000B7}  # linux/audit.h
X32 = 0x40000000  # added to the numbers of x86-64's other calling convention
WHOLE = 0xFFFFFFFF
INSTRUCTION = struct.Struct("=HBBI")
DENY, MISSING = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS


class ArgumentCheck(NamedTuple):
    """Denies a call unless a masked argument has one of the values, or with ``refused`` if so.

    Of each argument, the lower 32 bits are compared.
    """

    call: str
    argument: int
    values: Collection[int]
    mask: int = WHOLE
    refused: bool = False


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def build_filter(
    denied: Iterable[str],
    checks: Iterable[ArgumentCheck] = (),
    missing: Iterable[str] = ("clone3",),
    notified: Iterable[str] = (),
) -> bytes:
    """Build a filter that denies calls, checks arguments, and reports calls as missing.

    ``notified`` calls wait until the holder of the listener answers.

    ``clone3`` passes its flags in memory, where no filter can look; libraries then use ``clone``.
    Calls of other architectures are denied. The filter is empty on machines other than x86-64 and
    arm64.
    """
    if kernel.MACHINE not in ARCHITECTURES:
        return b""
    code = [
        (LOAD, 0, 0, AT_ARCH),
        (EQUAL, 1, 0, ARCHITECTURES[kernel.MACHINE]),
        (RETURN, 0, 0, DENY),
        (LOAD, 0, 0, AT_NUMBER),
    ]
    if kernel.MACHINE == kernel.X86_64:
        code += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, DENY)]
    for names, answer in ((denied, DENY), (missing, MISSING), (notified, NOTIFY)):
        for number in list_call_numbers(names):
            code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]
    by_call: dict[str, list[ArgumentCheck]] = {}
    for check in checks:
        by_call.setdefault(check.call, []).append(check)
    for call, found in by_call.items():
        for number in list_call_numbers([call]):
            block = [step for check in found for step in _compile_check(check)] + [
                (RETURN, 0, 0, ALLOW)
            ]
            code += [(EQUAL, 0, len(block), number), *block]
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(INSTRUCTION.pack(*step) for step in code)


def list_call_numbers(names: Iterable[str]) -> list[int]:
    """Return the numbers of calls on this machine, without missing ones."""
    column = 0 if kernel.MACHINE == kernel.X86_64 else 1
    return sorted(number for name in set(names) if (number := NUMBERS[name][column]) >= 0)


def install_filter(filter_program: bytes) -> tuple[str, ...]:
    """Apply a filter to all threads; return ``("seccomp",)`` if the kernel cannot."""
    try:
        _apply_filter(filter_program, FLAG_TSYNC)
    except OSError:
        return ("seccomp",)
    return ()


def install_listener(notified: Iterable[str], missing: Iterable[str]) -> int:
    """Make calls of this thread, and of all that it starts, wait; return the listener.

    Raises:
        OSError: the kernel lacks listeners, or another listener is active.
    """
    return _apply_filter(build_filter((), missing=missing, notified=notified), FLAG_NEW_LISTENER)


def _apply_filter(filter_program: bytes, flag: int) -> int:
    if not filter_program:
        raise OSError(errno.ENOSYS, "seccomp")
    argument = _Program(len(filter_program) // INSTRUCTION.size, filter_program)
    prctl(hardening.PR_SET_NO_NEW_PRIVS, 1)  # otherwise it would need a capability
    return syscall(kernel.SECCOMP, SET_MODE_FILTER, flag, ctypes.addressof(argument))


def _compile_check(check: ArgumentCheck) -> list[tuple[int, int, int, int]]:
    code = [(LOAD, 0, 0, AT_ARGUMENTS + 8 * check.argument)]  # the lower half: little-endian
    if check.mask != WHOLE:
        code.append((AND, 0, 0, check.mask))
    values = [value & WHOLE for value in check.values]
    if check.refused:
        for value in values:
            code += [(EQUAL, 0, 1, value), (RETURN, 0, 0, DENY)]
        return code
    for left, value in zip(range(len(values), 0, -1), values, strict=True):
        code.append((EQUAL, left, 0, value))  # over the other values and the refusal
    return [*code, (RETURN, 0, 0, DENY)]
