"""Find files with secrets that other users of this machine may read."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.config_problem import Problem

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_exposure(
    path: Path, secrets: tuple[str, ...], others: tuple[Path, ...]
) -> Iterator[Problem]:
    """Warn if others may read agents.json at ``path`` or one of the other files.

    agents.json counts if it has ``secrets``, fields with values that may be secret.
    """
    if secrets:
        yield from check_other_readers(path, f"it holds secrets ({', '.join(secrets[:3])})")
    for other in others:
        yield from check_other_readers(other, "it holds a token or a key")


def check_other_readers(path: Path, why: str) -> Iterator[Problem]:
    """Warn if other users of this machine may read a file; ``why`` says what that exposes."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OTHERS:
            text = f"others may read this file (mode {mode:o}), and {why}; run: chmod 600 {path}"
            yield Problem("warning", path.name, 0, None, text)
