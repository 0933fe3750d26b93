"""System calls that are allowed only with some arguments."""

import os
import socket

from thinker.jail.seccomp import ArgumentCheck

CLONE_THREAD = 0x10000  # linux/sched.h
CLONE_NAMESPACES = 0x7E020000
TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E  # asm-generic/ioctls.h
FIOSETOWN, SIOCSPGRP = 0x8901, 0x8902  # asm-generic/sockios.h
F_SETOWN, F_SETOWN_EX = 8, 15  # asm-generic/fcntl.h
SOCKET_KIND = 0xF  # without SOCK_CLOEXEC and SOCK_NONBLOCK

THREADS_ONLY = ArgumentCheck("clone", 0, (CLONE_THREAD,), CLONE_THREAD)
NO_NAMESPACES = ArgumentCheck("clone", 0, (0,), CLONE_NAMESPACES)
NO_TERMINAL_INPUT = ArgumentCheck("ioctl", 1, (TIOCSTI, TIOCLINUX, TIOCSCTTY), refused=True)
# Of the calling process, which is 0, and of no other.
OWN_LIMITS = (
    ArgumentCheck("prlimit64", 0, (0,)),
    *(ArgumentCheck("setpriority", argument, (0,)) for argument in (0, 1)),
    *(ArgumentCheck(f"sched_{name}", 0, (0,)) for name in ("setaffinity", "setattr")),
    *(ArgumentCheck(f"sched_{name}", 0, (0,)) for name in ("setparam", "setscheduler")),
    ArgumentCheck("ioprio_set", 1, (0,)),
)
# The kernel signals the owner of a descriptor, which may be any process of the user.
NO_DESCRIPTOR_OWNERS = (
    ArgumentCheck("fcntl", 1, (F_SETOWN, F_SETOWN_EX), refused=True),
    ArgumentCheck("ioctl", 1, (FIOSETOWN, SIOCSPGRP), refused=True),
)
# A pair of another kind could send to any address.
CONNECTED_PAIRS = (
    ArgumentCheck("socketpair", 0, (socket.AF_UNIX,)),
    ArgumentCheck("socketpair", 1, (socket.SOCK_STREAM, socket.SOCK_SEQPACKET), SOCKET_KIND),
)


def allow_families(*allowed: int) -> ArgumentCheck:
    """Return the check that allows only sockets of these families, such as ``socket.AF_INET``."""
    return ArgumentCheck("socket", 0, allowed)


def allow_own_signals() -> tuple[ArgumentCheck, ...]:
    """Return the checks that allow signals only to this very process, not to its children."""
    calls = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
    return tuple(ArgumentCheck(call, 0, (os.getpid(),)) for call in calls)


def allow_own_limits() -> ArgumentCheck:
    """Return the check that allows setting limits only of this very process."""
    return ArgumentCheck("prlimit64", 0, (0, os.getpid()))
