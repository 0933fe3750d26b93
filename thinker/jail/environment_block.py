"""Erase or replace the environment and the arguments of this process that the kernel shows."""

import ctypes
import os
import posix
import re
from collections.abc import Iterable
from pathlib import Path

ARGUMENTS, ENVIRONMENT = 45, 47  # index after the name in proc_pid_stat(5), fields 48 and 50
SECRET_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS")
OF_ACCOUNT = re.compile("_(TOKEN|PASSWORD)_", re.IGNORECASE)  # such as TELEGRAM_BOT_TOKEN_WORK


def take_secrets(names: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment, and erase its secrets from this process.

    Secrets are the variables with these names, and those whose names end like a secret's, also
    before the name of an account. They are removed from `os.environ`, and their values from the
    memory that ``/proc/PID/environ`` shows.
    """
    environ = dict(os.environ)
    secrets = {*names, *filter(_is_secret, environ)}
    erase_values(secrets)
    for name in secrets:
        os.environ.pop(name, None)
    return environ


def erase_environment() -> None:
    """Remove all variables from this process, also from its memory.

    Raises:
        OSError: /proc does not tell where they are.
    """
    start, end = find_block(ENVIRONMENT)
    for value in posix.environ.values():
        if len(value) > 1:  # there is one object for each shorter text
            ctypes.memset(id(value) + bytes.__basicsize__ - 1, 0, len(value))
    os.environ.clear()
    ctypes.memset(start, 0, end - start)


def _is_secret(name: str) -> bool:
    return name.upper().endswith(SECRET_ENDINGS) or OF_ACCOUNT.search(name) is not None


def erase_values(names: Iterable[str]) -> None:
    """Overwrite the values of variables with zeros where this process received them."""
    try:
        start, end = find_block(ENVIRONMENT)
    except (OSError, ValueError, IndexError):  # no /proc
        return
    wanted = set(map(os.fsencode, names))
    at = start
    for item in ctypes.string_at(start, end - start).split(b"\0"):
        name, _, value = item.partition(b"=")
        if name in wanted:
            ctypes.memset(at + len(item) - len(value), 0, len(value))
        at += len(item) + 1


def overwrite_block(block: tuple[int, int], words: Iterable[str]) -> None:
    """Overwrite what /proc shows as this process's arguments or environment."""
    start, end = block
    text = b"\0".join(map(os.fsencode, words))
    ctypes.memmove(start, text[: end - start - 1].ljust(end - start, b"\0"), end - start)


def find_block(at: int) -> tuple[int, int]:
    """Return where this process's `ARGUMENTS` or `ENVIRONMENT` begin and end in its memory.

    Raises:
        OSError: there is no /proc.
    """
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    return int(fields[at]), int(fields[at + 1])
