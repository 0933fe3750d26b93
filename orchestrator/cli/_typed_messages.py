"""The file of what the user typed in `orchestrator chat`: JSON lines, the oldest first.

Several conversations may add to it at once. Only this user can read it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from orchestrator.files import write_private

KEPT = 1000  # messages that a new conversation finds
SLACK = 2 * KEPT  # messages in the file before the oldest are dropped
LONGEST = 10_000  # characters of a message; a pasted book is sent, and not kept


def add(path: Path, chat: str, text: str) -> None:
    """Add a message unless it is too long.

    Raises:
        OSError: the file cannot be written.
    """
    if len(text) > LONGEST:
        return
    line = json.dumps({"chat": chat, "text": text}, ensure_ascii=False)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode(errors="replace") + b"\n")
    finally:
        os.close(file)


def newest(path: Path) -> list[str]:
    """Return the texts of all chats, newest first; shorten a file that has grown too long.

    Raises:
        OSError: the file cannot be read.
    """
    lines = _lines(path)
    if len(lines) > SLACK:
        lines = lines[-KEPT:]
        _write(path, lines)
    return [text for line in reversed(lines[-KEPT:]) if (text := _entry(line)[1])]


def of_chat(path: Path, chat: str) -> int:
    """Return how many messages of a chat the file has; 0 if there is none."""
    return sum(_in(chat)(line) for line in _lines(path)) if path.exists() else 0


def forget(path: Path, chat: str) -> None:
    """Delete the messages of a chat."""
    wanted = _in(chat)
    _write(path, [line for line in _lines(path) if not wanted(line)])


def _in(chat: str) -> Callable[[str], bool]:
    return lambda line: _entry(line)[0] == chat


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]


def _write(path: Path, lines: list[str]) -> None:
    write_private(path, "".join(f"{line}\n" for line in lines).encode())


def _entry(line: str) -> tuple[str, str]:
    """Return the chat and the text of a line; empty if something else stands there."""
    try:
        entry = json.loads(line)
        return str(entry["chat"]), str(entry["text"])
    except (ValueError, KeyError, TypeError):
        return "", ""
