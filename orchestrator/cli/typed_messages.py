"""The history of `orchestrator chat`: JSON lines, oldest first.

Several conversations may add to it at the same time. Only this user can read it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from orchestrator.files import write_private

MAX_LOADED = 1000  # messages that a new conversation loads
MAX_STORED = 2 * MAX_LOADED  # messages in the file before the oldest are dropped
MAX_LENGTH = 10_000  # characters of a message; a pasted book is sent, but not kept


def add_message(path: Path, chat: str, text: str) -> None:
    """Add a message unless it is too long.

    Raises:
        OSError: the file cannot be written.
    """
    if len(text) > MAX_LENGTH:
        return
    line = json.dumps({"chat": chat, "text": text}, ensure_ascii=False)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode(errors="replace") + b"\n")
    finally:
        os.close(file)


def load_messages(path: Path) -> list[str]:
    """Return the texts of all chats, newest first; shorten a file that has grown too long.

    Raises:
        OSError: the file cannot be read.
    """
    lines = _read_lines(path)
    if len(lines) > MAX_STORED:
        lines = lines[-MAX_LOADED:]
        _write_lines(path, lines)
    return [text for line in reversed(lines[-MAX_LOADED:]) if (text := _parse_entry(line)[1])]


def count_messages(path: Path, chat: str) -> int:
    """Return the number of a chat's messages in the file; 0 without a file."""
    return sum(_match_chat(chat)(line) for line in _read_lines(path)) if path.exists() else 0


def delete_messages(path: Path, chat: str) -> None:
    """Delete the messages of a chat."""
    wanted = _match_chat(chat)
    _write_lines(path, [line for line in _read_lines(path) if not wanted(line)])


def _match_chat(chat: str) -> Callable[[str], bool]:
    return lambda line: _parse_entry(line)[0] == chat


def _read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]


def _write_lines(path: Path, lines: list[str]) -> None:
    write_private(path, "".join(f"{line}\n" for line in lines).encode())


def _parse_entry(line: str) -> tuple[str, str]:
    """Return the chat and the text of a line; empty if the line is malformed."""
    try:
        entry = json.loads(line)
        return str(entry["chat"]), str(entry["text"])
    except (ValueError, KeyError, TypeError):
        return "", ""
