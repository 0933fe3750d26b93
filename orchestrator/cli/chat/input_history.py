"""What the user wrote at the prompt, kept across sessions in a file that only the user can read."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from orchestrator.files import write_private

KEPT = 1000  # entries that a new session finds
SLACK = 2 * KEPT  # entries in the file before the oldest are dropped
LONGEST = 10_000  # characters of an entry; a pasted book is sent, and not kept


class InputHistory(History):
    """The entries of a file, one JSON string a line, oldest first.

    Several sessions may add to it at once. A file that cannot be read or written costs the
    history, not the conversation. Nothing is kept while it is ``paused``.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.paused = False
        self._path = path

    def append_string(self, string: str) -> None:
        if not self.paused and len(string) <= LONGEST:
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, newest first; shorten a file that has grown too long."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
            if len(lines) > SLACK:
                lines = lines[-KEPT:]
                write_private(self._path, "".join(f"{line}\n" for line in lines).encode())
        except OSError:
            return []
        return [text for line in reversed(lines[-KEPT:]) if (text := _entry(line))]

    def store_string(self, string: str) -> None:
        line = json.dumps(string).encode() + b"\n"  # ASCII, so that any input can be stored
        with suppress(OSError):
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)


def _entry(line: str) -> str:
    """Return the text of a line; empty if a crash or an editor left something else there."""
    try:
        text = json.loads(line)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
