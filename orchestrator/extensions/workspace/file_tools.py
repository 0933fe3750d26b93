"""Tools that read, write, edit and list files of a workspace."""

import base64
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.extensions.workspace import roots
from orchestrator.extensions.workspace.roots import RootedPath, Roots
from orchestrator.extensions.workspace.served_tool import (
    Arguments,
    CallFailure,
    NamedFile,
    Picture,
    ServedTool,
    build_integer_schema,
)
from thinker.formats.images import MAX_MEDIA, MAX_PICTURE, detect_image_type
from thinker.formats.text_encoding import decode_bytes

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

    def list_tools(self) -> tuple[ServedTool, ...]:
        return (
            ServedTool(
                "read_file",
                "Read a text file of the workspace with line numbers, or look at a picture.",
                {
                    "path": PATH,
                    "first_line": build_integer_schema("First line to show; 1 if omitted."),
                    "lines": build_integer_schema(f"How many lines; {MAX_LINES} if omitted."),
                },
                self.read_file,
                ("path",),
                read_only=True,
            ),
            ServedTool(
                "write_file",
                "Write a text file of the workspace; it and its folders are made if missing, and an"
                " existing file is replaced.",
                {"path": PATH, "content": "The whole text of the file."},
                self.write_file,
                ("path", "content"),
                idempotent=True,
            ),
            ServedTool(
                "edit_file",
                "Replace one passage of a text file. The old text must occur exactly once; read the"
                " file first, and take enough lines around the change.",
                {
                    "path": PATH,
                    "old_text": "The passage as it is, without line numbers.",
                    "new_text": "The passage as it shall be; empty removes it.",
                },
                self.edit_file,
                ("path", "old_text", "new_text"),
            ),
            ServedTool(
                "take_file",
                "Get a handle of a file of the workspace, with which send_file sends it to the"
                " chat as it is.",
                {"path": PATH},
                self.take_file,
                ("path",),
                read_only=True,
            ),
            ServedTool(
                "list_dir",
                "List a folder of the workspace, with sizes.",
                {"path": f"{PATH} The workspace itself if omitted."},
                self.list_dir,
                read_only=True,
            ),
        )

    def read_file(self, arguments: Arguments) -> str | Picture:
        place = self.roots.resolve_path(arguments.get_text("path"))
        first = arguments.get_number("first_line", 1, 1, 10**9)
        count = arguments.get_number("lines", MAX_LINES, 1, MAX_LINES)
        data = _read_bytes(place)
        kind = detect_image_type(data[:16])
        if kind is not None:
            if len(data) > MAX_PICTURE:
                raise CallFailure(f"the picture has {len(data)} bytes; at most {MAX_PICTURE}")
            return Picture(kind, base64.b64encode(data).decode())
        text = decode_bytes(data)
        if text is None:
            raise CallFailure(
                f"{place.shown_path} is not a text file ({len(data)} bytes); use run_command"
            )
        return _number_lines(text, first, count)

    def write_file(self, arguments: Arguments) -> str:
        place = self.roots.resolve_path(arguments.get_text("path"))
        data = arguments.get_text("content").encode("utf-8", "replace")
        _replace_file(place, data)
        return f"Wrote {len(data)} bytes to {place.shown_path}."

    def edit_file(self, arguments: Arguments) -> str:
        place = self.roots.resolve_path(arguments.get_text("path"))
        old, new = arguments.get_text("old_text"), arguments.get_text("new_text")
        text = _decode_utf8(place, _read_bytes(place))
        if not old:
            raise CallFailure("old_text is empty; use write_file for a new file")
        found = text.count(old)
        if found != 1:
            advice = "copy it exactly from read_file, without line numbers"
            if found:
                advice = "add lines before or after it until it occurs once"
            raise CallFailure(f"old_text occurs {found} times in {place.shown_path}; {advice}")
        line = text.count("\n", 0, text.index(old)) + 1
        _replace_file(place, text.replace(old, new).encode("utf-8", "replace"))
        return f"Changed {place.shown_path} at line {line}."

    def take_file(self, arguments: Arguments) -> NamedFile:
        place = self.roots.resolve_path(arguments.get_text("path"))
        data = _read_bytes(place)
        if len(data) > MAX_MEDIA:
            raise CallFailure(
                f"{place.shown_path} has {len(data)} bytes; at most {MAX_MEDIA} can be sent, so"
                " make it smaller or send parts of it"
            )
        return NamedFile(place.parts[-1], base64.b64encode(data).decode())

    def list_dir(self, arguments: Arguments) -> str:
        place = self.roots.resolve_path(arguments.get_text("path", "."))
        with roots.open_path(place, roots.FOLDER) as fd:
            entries = sorted(_list_entries(fd))
        admitted = [line for name, line in entries if place.parts or place.root.admits(name)]
        more = len(admitted) - MAX_ENTRIES
        note = [f"[{more} more; name a folder below]"] if more > 0 else []
        return "\n".join(
            [
                f"{place.shown_path}:",
                *admitted[:MAX_ENTRIES],
                *note,
                *self._describe_other_folders(place),
            ]
        )

    def _describe_other_folders(self, place: RootedPath) -> list[str]:
        """Return the other folders, below a listing of the workspace itself."""
        if place.parts or place.root is not self.roots.workspace or not self.roots.others:
            return []
        return [f"Beside it you may use {self.roots.describe_folders()}."]


def _read_bytes(place: RootedPath) -> bytes:
    with roots.open_regular_file(place) as fd:
        size = os.fstat(fd).st_size
        if size > MAX_FILE:
            raise CallFailure(
                f"{place.shown_path} has {size} bytes; read parts of it with run_command, such as"
                " head, tail, grep"
            )
        parts, room = [], MAX_FILE
        while room > 0 and (part := os.read(fd, min(room, MIB))):
            parts.append(part)
            room -= len(part)
    return b"".join(parts)


def _decode_utf8(place: RootedPath, data: bytes) -> str:
    """Return text that can be written again without changing its encoding."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CallFailure(
            f"{place.shown_path} is not UTF-8 at byte {error.start}; write it anew as UTF-8, or"
            " change it with run_command"
        ) from error


def _number_lines(text: str, first: int, count: int) -> str:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return "[the file is empty]"
    if first > len(lines):
        raise CallFailure(f"the file has {len(lines)} lines")
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


def _list_entries(folder: int) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as found:
        for count, entry in enumerate(found):
            if count == MAX_FOUND:
                return
            with suppress(OSError):  # it was removed meanwhile
                yield entry.name, _describe_entry(entry, folder)


def _describe_entry(entry: "os.DirEntry[str]", folder: int) -> str:
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


def _replace_file(place: RootedPath, data: bytes) -> None:
    """Replace a file atomically: readers see the old or the new text; its mode is kept."""
    if len(data) > MAX_WRITTEN:
        raise CallFailure(f"the text has {len(data)} bytes; at most {MAX_WRITTEN}")
    with roots.open_parent(place) as (folder, name):
        mode = _choose_mode(folder, name, place)
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


def _choose_mode(folder: int, name: str, place: RootedPath) -> int:
    """Return the mode for a new version of a file; refuse anything but a regular file."""
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
        raise CallFailure(f"{place.shown_path} is {what}")
    return stat.S_IMODE(status.st_mode) & 0o777
