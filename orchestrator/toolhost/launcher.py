"""Execute an MCP server: ``python -I -S launcher.py PARENT COMMAND ARGS``.

Runs as a file, so that it imports nothing of this package. It gives the server its own process
group, makes the kernel kill it when the tool host dies, and then executes it.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
NOT_FOUND = 127  # exit code, as of a shell


def die_with(parent: int) -> None:
    """Make the kernel kill this process when its parent dies, or at once if it has died."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main(parent: int, command: list[str]) -> None:
    """Replace this process with ``command``."""
    os.setpgid(0, 0)
    die_with(parent)
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of arguments, no shell
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]!r}: {error.strerror}\n")
        sys.exit(NOT_FOUND)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
