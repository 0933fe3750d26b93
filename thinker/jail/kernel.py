"""System calls for which Python has no function."""

import ctypes
import os
import signal

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
M_MMAP_THRESHOLD, LARGE = -3, 128 * 1024  # malloc.h; bytes, where glibc itself begins
X86_64, ARM64 = "x86_64", "aarch64"
MACHINE = os.uname().machine
SECCOMP, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = {
    X86_64: (317, 444, 445, 446),
    ARM64: (277, 444, 445, 446),
}.get(MACHINE, (-1, -1, -1, -1))  # a number that no kernel knows

_long = ctypes.c_long
LIBC.syscall.restype = _long
LIBC.syscall.argtypes = [_long] * 7
LIBC.prctl.restype = ctypes.c_int
LIBC.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


def syscall(number: int, *arguments: int) -> int:
    """Make a system call.

    Raises:
        OSError: the kernel refuses, or lacks the call.
    """
    padded = (*arguments, *[0] * (6 - len(arguments)))
    result: int = LIBC.syscall(number, *padded)
    return _raise_on_error(result)


def prctl(option: int, *arguments: int) -> int:
    """Change or read an attribute of this process.

    Raises:
        OSError: the kernel refuses, or does not know the attribute.
    """
    padded = (*arguments, *[0] * (4 - len(arguments)))
    result: int = LIBC.prctl(option, *padded)
    return _raise_on_error(result)


def give_back_large_blocks() -> None:
    """Have this process give back large blocks of memory, such as a file's text, when freed.

    Otherwise glibc keeps more and more of them for each thread.
    """
    LIBC.mallopt(M_MMAP_THRESHOLD, LARGE)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, or now if the parent is dead."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _raise_on_error(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
