"""Tests that look into processes which are closed to all but root."""

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
