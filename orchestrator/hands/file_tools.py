"""Tools that read, write, edit and list files of a workspace."""

import base64
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.hands import roots
from orchestrator.hands.hand_tool import (
    Arguments,
    HandFailure,
    HandTool,
    NamedFile,
    Picture,
    integer,
)
from orchestrator.hands.roots import RootedPath, Roots
from thinker.formats.images import MAX_MEDIA, MAX_PICTURE, media_type

MIB = 1024 * 1024
MAX_FILE = 16 * MIB  # bytes that are read to show lines of them
MAX_WRITTEN = 2 * MIB  # bytes of one new text
MAX_LINES = 2000  # of one answer
MAX_TEXT = 60_000  # characters of one answer
MAX_LINE = 2000  # characters of one line
MAX_ENTRIES = 1000  # of a folder in one answer
MAX_FOUND = 20_000  # entries of a folder that are looked at
PATH = "Path; relative ones begin in the workspace."


@dataclass(frozen=True)
class FileTools:
    """The tools for the files below some roots."""

    roots: Roots

    def tools(self) -> tuple[HandTool, ...]:
        return (
            HandTool(
                "read_file",
                "Read a text file of the workspace with line numbers, or look at a picture.",
                {
                    "path": PATH,
                    "first_line": integer("First line to show; 1 if omitted."),
                    "lines": integer(f"How many lines; {MAX_LINES} if omitted."),
                },
                self.read,
                ("path",),
                read_only=True,
            ),
            HandTool(
                "write_file",
                "Write a text file of the workspace; it and its folders are made if missing, and an"
                " existing file is replaced.",
                {"path": PATH, "content": "The whole text of the file."},
                self.write,
                ("path", "content"),
                idempotent=True,
            ),
            HandTool(
                "edit_file",
                "Replace one passage of a text file. The old text must occur exactly once; read the"
                " file first, and take enough lines around the change.",
                {
                    "path": PATH,
                    "old_text": "The passage as it is, without line numbers.",
                    "new_text": "The passage as it shall be; empty removes it.",
                },
                self.edit,
                ("path", "old_text", "new_text"),
            ),
            HandTool(
                "take_file",
                "Get a handle of a file of the workspace, with which send_file sends it to the"
                " chat as it is.",
                {"path": PATH},
                self.take,
                ("path",),
                read_only=True,
            ),
            HandTool(
                "list_dir",
                "List a folder of the workspace, with sizes.",
                {"path": f"{PATH} The workspace itself if omitted."},
                self.list_dir,
                read_only=True,
            ),
        )

    def read(self, arguments: Arguments) -> str | Picture:
        place = self.roots.place(arguments.text("path"))
        first = arguments.number("first_line", 1, 1, 10**9)
        count = arguments.number("lines", MAX_LINES, 1, MAX_LINES)
        data = _bytes(place)
        kind = media_type(data[:16])
        if kind is not None:
            if len(data) > MAX_PICTURE:
                raise HandFailure(f"the picture has {len(data)} bytes; at most {MAX_PICTURE}")
            return Picture(kind, base64.b64encode(data).decode())
        text = _text(place, data)
        return _numbered(text, first, count)

    def write(self, arguments: Arguments) -> str:
        place = self.roots.place(arguments.text("path"))
        data = arguments.text("content").encode("utf-8", "replace")
        _replace(place, data)
        return f"Wrote {len(data)} bytes to {place.shown}."

    def edit(self, arguments: Arguments) -> str:
        place = self.roots.place(arguments.text("path"))
        old, new = arguments.text("old_text"), arguments.text("new_text")
        text = _text(place, _bytes(place))
        if not old:
            raise HandFailure("old_text is empty; use write_file for a new file")
        found = text.count(old)
        if found != 1:
            advice = "copy it exactly from read_file, without line numbers"
            if found:
                advice = "add lines before or after it until it occurs once"
            raise HandFailure(f"old_text occurs {found} times in {place.shown}; {advice}")
        line = text.count("\n", 0, text.index(old)) + 1
        _replace(place, text.replace(old, new).encode("utf-8", "replace"))
        return f"Changed {place.shown} at line {line}."

    def take(self, arguments: Arguments) -> NamedFile:
        place = self.roots.place(arguments.text("path"))
        data = _bytes(place)
        if len(data) > MAX_MEDIA:
            raise HandFailure(
                f"{place.shown} has {len(data)} bytes; at most {MAX_MEDIA} can be sent, so make it"
                " smaller or send parts of it"
            )
        return NamedFile(place.parts[-1], base64.b64encode(data).decode())

    def list_dir(self, arguments: Arguments) -> str:
        place = self.roots.place(arguments.text("path", "."))
        with roots.opened(place, roots.FOLDER) as fd:
            entries = sorted(_entries(fd))
        admitted = [line for name, line in entries if place.parts or place.root.admits(name)]
        more = len(admitted) - MAX_ENTRIES
        note = [f"[{more} more; name a folder below]"] if more > 0 else []
        return "\n".join([f"{place.shown}:", *admitted[:MAX_ENTRIES], *note, *self._others(place)])

    def _others(self, place: RootedPath) -> list[str]:
        """Return the other folders, below a listing of the workspace itself."""
        if place.parts or place.root is not self.roots.workspace or not self.roots.others:
            return []
        return [f"Beside it you may use {self.roots.listing()}."]


def _bytes(place: RootedPath) -> bytes:
    with roots.regular(place) as fd:
        size = os.fstat(fd).st_size
        if size > MAX_FILE:
            raise HandFailure(
                f"{place.shown} has {size} bytes; read parts of it with run_command, such as"
                " head, tail, grep"
            )
        parts, room = [], MAX_FILE
        while room > 0 and (part := os.read(fd, min(room, MIB))):
            parts.append(part)
            room -= len(part)
    return b"".join(parts)


def _text(place: RootedPath, data: bytes) -> str:
    if b"\0" in data:
        raise HandFailure(f"{place.shown} is no text file ({len(data)} bytes); use run_command")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise HandFailure(f"{place.shown} is not UTF-8 at byte {error.start}") from error


def _numbered(text: str, first: int, count: int) -> str:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return "[the file is empty]"
    if first > len(lines):
        raise HandFailure(f"the file has {len(lines)} lines")
    shown: list[str] = []
    room = MAX_TEXT
    for number, line in enumerate(lines[first - 1 : first - 1 + count], first):
        cut = line[:MAX_LINE] + (" [line cut]" if len(line) > MAX_LINE else "")
        shown.append(f"{number:>6}\t{cut}")
        room -= len(shown[-1])
        if room <= 0:
            break
    last = first + len(shown) - 1
    if last < len(lines):
        shown.append(f"[{len(lines) - last} more lines; go on with first_line {last + 1}]")
    return "\n".join(shown)


def _entries(folder: int) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as found:
        for count, entry in enumerate(found):
            if count == MAX_FOUND:
                return
            with suppress(OSError):  # it was removed meanwhile
                yield entry.name, _described(entry, folder)


def _described(entry: "os.DirEntry[str]", folder: int) -> str:
    name = entry.name.encode("utf-8", "replace").decode()
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(entry.name, dir_fd=folder)
        return f"{name} -> {target}".encode("utf-8", "replace").decode()
    if stat.S_ISDIR(status.st_mode):
        return f"{name}/"
    if stat.S_ISREG(status.st_mode):
        return f"{name} ({status.st_size} bytes)"
    return f"{name} (no regular file)"


def _replace(place: RootedPath, data: bytes) -> None:
    """Replace a file atomically: readers see the old or the new text; its mode is kept."""
    if len(data) > MAX_WRITTEN:
        raise HandFailure(f"the text has {len(data)} bytes; at most {MAX_WRITTEN}")
    with roots.parent_of(place) as (folder, name):
        mode = _mode(folder, name, place)
        fresh = f".{name[:100]}.{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(fresh, flags, mode, dir_fd=folder)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(fresh, dir_fd=folder)
            raise


def _mode(folder: int, name: str, place: RootedPath) -> int:
    """Return the mode for a new version of a file; refuse what is no regular file."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o600
    if not stat.S_ISREG(status.st_mode):
        what = (
            "a link; name the file that it leads to"
            if stat.S_ISLNK(status.st_mode)
            else (roots.KINDS.get(stat.S_IFMT(status.st_mode), "a device"))
        )
        raise HandFailure(f"{place.shown} is {what}")
    return stat.S_IMODE(status.st_mode) & 0o777
