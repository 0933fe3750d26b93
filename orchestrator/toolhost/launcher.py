"""Becomes an MCP server: started as ``python -I -S launcher.py PARENT COMMAND ARGS``.

Run as a file, so that it loads nothing: it gives the server a process group of its own and the
kernel's order to die with the tool host, then turns into it.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
NOT_FOUND = 127  # as a shell reports it


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, now if it did already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main(parent: int, command: list[str]) -> None:
    """Turn into ``command``."""
    os.setpgid(0, 0)
    die_with(parent)
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of arguments, no shell
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]!r}: {error.strerror}\n")
        sys.exit(NOT_FOUND)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
