"""Keep the versions of texts in files of the home that only this user can read.

Each text has a folder, and each version a file named after its number: a line of JSON, and below
it the text. A file that is gone or damaged is a version less, and nothing else.

Where: are the versions of agents.json, prompts and skills stored?
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from pydantic import Field, ValidationError

from orchestrator.errors import OrchestratorError
from orchestrator.files import write_private
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileKind, Folder
from thinker.protocol.messages import Frozen

MAX_VERSIONS = 50  # of each text
MAX_BYTES = 16 * 1024 * 1024  # of all versions of a text; the newest two are always kept
VERSION = FileKind(2 * regular_file.AGENTS_FILE.max_bytes, "remove it")
KEPT_ANYWAY = 2


class VersionHead(Frozen):
    """A version without its text; ``at`` in milliseconds since the epoch.

    ``removed`` says that there was no text. ``undoes`` is the number of the version that an undo
    went back to, else 0.
    """

    number: int = Field(ge=1)
    at: int
    by: str
    why: str = ""
    sentences: tuple[str, ...] = ()
    removed: bool = False
    undoes: int = 0


class VersionFiles:
    """The versions of all texts, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_names(self) -> list[str]:
        """Return the names of all texts that have versions."""
        with suppress(FileError):
            return [unquote(name) for name in Folder(self._folder).list_names()]
        return []

    def list_heads(self, name: str) -> list[VersionHead]:
        """Return the versions of a text, oldest first."""
        found = map(_load_head, self._list_paths(name))
        return [head for head in found if head is not None]

    def find_newest(self, name: str) -> tuple[VersionHead, str | None] | None:
        """Return the newest version of a text, with the text; None without any version."""
        found = (self._load(path) for path in reversed(self._list_paths(name)))
        return next((version for version in found if version is not None), None)

    def read_version(self, name: str, number: int) -> tuple[VersionHead, str | None]:
        """Return a version with its text.

        Raises:
            OrchestratorError: there is no such version.
        """
        found = self._load(self._find_folder(name) / str(number))
        if found is None:
            raise OrchestratorError(
                f"{name} has no version {number}; see: orchestrator config history {name}"
            )
        return found

    def add_version(self, name: str, head: VersionHead, text: str | None) -> VersionHead:
        """Store a version under the next number, and remove what is beyond the limits.

        Raises:
            OSError: it cannot be stored.
        """
        paths = self._list_paths(name)
        head = head.model_copy(
            update={
                "number": int(paths[-1].name) + 1 if paths else 1,
                "removed": text is None,
            }
        )
        folder = self._find_folder(name)
        for made in (self._folder, folder):
            made.mkdir(mode=0o700, exist_ok=True)
        path = folder / str(head.number)
        write_private(path, f"{head.model_dump_json()}\n{text or ''}".encode())
        for old in list(_iter_excess([*paths, path])):
            old.unlink(missing_ok=True)
        return head

    def _find_folder(self, name: str) -> Path:
        return self._folder / quote(name, safe="@")

    def _list_paths(self, name: str) -> list[Path]:
        """Return the files of a text's versions, oldest first."""
        folder = self._find_folder(name)
        try:
            numbers = [int(one) for one in Folder(folder).list_names() if one.isdecimal()]
        except FileError:
            return []
        return [folder / str(number) for number in sorted(numbers)]

    def _load(self, path: Path) -> tuple[VersionHead, str | None] | None:
        try:
            data = regular_file.read_bytes(path, VERSION)
            first, _, text = data.partition(b"\n")
            head = VersionHead.model_validate_json(first)
            return head, None if head.removed else text.decode()
        except (FileError, ValidationError, UnicodeDecodeError):
            return None


def _load_head(path: Path) -> VersionHead | None:
    """Read the first line of a version, without its text, which may be a thousand times as long."""
    try:
        with os.fdopen(regular_file.open_regular(path, os.O_RDONLY), "rb") as file:
            return VersionHead.model_validate_json(file.readline(VERSION.max_bytes))
    except (FileError, OSError, ValidationError):
        return None


def _iter_excess(paths: list[Path]) -> Iterator[Path]:
    """Yield the files of versions beyond the limits; ``paths`` are in order, oldest first."""
    room = MAX_BYTES
    for place, path in enumerate(reversed(paths)):
        with suppress(FileNotFoundError):
            room -= path.stat().st_size
        if place >= MAX_VERSIONS or (room < 0 and place >= KEPT_ANYWAY):
            yield path
