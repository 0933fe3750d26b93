"""What the user typed at the prompt, for the arrow keys and the search."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from orchestrator.cli import _typed_messages


class InputHistory(History):
    """The messages of all chats of the home, to which those of one are added.

    A file that cannot be read or written costs the history, not the conversation. Nothing is kept
    while it is ``paused``.
    """

    def __init__(self, path: Path, chat: str) -> None:
        super().__init__()
        self.paused = False
        self._path = path
        self._chat = chat

    def append_string(self, string: str) -> None:
        if not self.paused:
            super().append_string(string)

    def load_history_strings(self) -> Iterable[str]:
        """Return the messages, newest first."""
        try:
            return _typed_messages.newest(self._path)
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            _typed_messages.add(self._path, self._chat, string)
