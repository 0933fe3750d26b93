"""Find files with secrets that other users of this machine may read."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.agentsfile.problems import Problem

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def exposed(path: Path, secrets: tuple[str, ...], others: tuple[Path, ...]) -> Iterator[Problem]:
    """Yield a warning for agents.json at ``path``, and for each other file, that others may read.

    agents.json counts if it has ``secrets``, fields with values that may be secret.
    """
    if secrets:
        yield from readable_by_others(path, f"it holds secrets ({', '.join(secrets[:3])})")
    for other in others:
        yield from readable_by_others(other, "it holds a token or a key")


def readable_by_others(path: Path, why: str) -> Iterator[Problem]:
    """Yield a warning if other users of this machine may read a file; ``why`` it matters."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OTHERS:
            text = f"others may read this file (mode {mode:o}), and {why}; run: chmod 600 {path}"
            yield Problem("warning", path.name, 0, None, "", text)
