"""Tests that look into processes which are closed to all but root."""

from collections.abc import Iterator
from pathlib import Path

import pytest

CAP_SYS_PTRACE = 19  # linux/capability.h


def may_look_inside() -> bool:
    """Return whether this user sees the memory of hardened processes."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_SYS_PTRACE & 1)
    return False


looks_inside = pytest.mark.skipif(
    not may_look_inside(), reason="only root may look into a hardened process"
)


def _memory(pid: int) -> Iterator[bytes]:
    """Everything that a process can write to."""
    with Path(f"/proc/{pid}/mem").open("rb") as content:
        for line in Path(f"/proc/{pid}/maps").read_text("utf-8").splitlines():
            addresses, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(address, 16) for address in addresses.split("-"))
                content.seek(start)
                try:
                    found = content.read(end - start)
                except OSError:  # given back to the system meanwhile
                    continue
                yield found


def holds(pid: int, text: str) -> bool:
    """Whether a text is anywhere in a process's memory."""
    return any(text.encode() in part for part in _memory(pid))
