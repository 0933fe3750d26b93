"""The history of typed messages, for the arrow keys and the search."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from orchestrator.cli import typed_messages


class InputHistory(History):
    """The messages of all chats of the home; new ones are added for one chat.

    If the file cannot be read or written, only the history is lost. Nothing is stored while it is
    ``paused``.
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
            return typed_messages.load_messages(self._path)
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            typed_messages.add_message(self._path, self._chat, string)
