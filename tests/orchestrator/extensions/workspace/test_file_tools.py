"""Reading, writing, editing and listing files beneath a folder."""

import base64
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.extensions.workspace.file_tools import MAX_LINES, FileTools
from orchestrator.extensions.workspace.roots import Root, Roots
from orchestrator.extensions.workspace.served_tool import Arguments, CallFailure, Picture

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace with a secret beside it."""
    (tmp_path / "secret.txt").write_text("the secret", "utf-8")
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def tools(home: Path) -> FileTools:
    """The tools of the workspace, and of a folder that is read-only."""
    (home.parent / "ro").mkdir()
    return FileTools(Roots(Root(home, writable=True), (Root(home.parent / "ro"),)))


def read(tools: FileTools, path: str, **more: object) -> str | Picture:
    return tools.read_file(Arguments({"path": path, **more}))


def write(tools: FileTools, path: str, content: str = "x") -> str:
    return tools.write_file(Arguments({"path": path, "content": content}))


def edit(tools: FileTools, path: str, old: str, new: str) -> str:
    return tools.edit_file(Arguments({"path": path, "old_text": old, "new_text": new}))


def test_text_is_shown_with_line_numbers_and_in_parts(tools: FileTools, home: Path) -> None:
    """What is left is said, with where to go on."""
    write(tools, "deep/er/a.txt", "".join(f"line {n}\n" for n in range(1, 6)))
    assert read(tools, "deep/er/a.txt") == "\n".join(f"{n:>6}\tline {n}" for n in range(1, 6))
    part = read(tools, "~/deep/er/a.txt", first_line=2, lines=2)
    assert part == "     2\tline 2\n     3\tline 3\n[2 more lines; go on with first_line 4]"
    write(tools, "long.txt", "x\n" * (MAX_LINES + 1))
    assert str(read(tools, f"{home}/long.txt")).endswith(
        "[1 more lines; go on with first_line 2001]"
    )
    with pytest.raises(CallFailure, match="has 5 lines"):
        read(tools, "deep/er/a.txt", first_line=6)


def test_picture_is_shown_and_other_bytes_are_not(tools: FileTools, home: Path) -> None:
    """By what the file begins with, whatever its name is."""
    (home / "p.txt").write_bytes(PNG)
    shown = read(tools, "p.txt")
    assert isinstance(shown, Picture)
    assert (shown.media_type, base64.b64decode(shown.data)) == ("image/png", PNG)
    (home / "b.bin").write_bytes(b"ab\0cd")
    with pytest.raises(CallFailure, match="not a text file"):
        read(tools, "b.bin")


def test_file_in_another_encoding_is_read_and_not_changed(tools: FileTools, home: Path) -> None:
    """An edit would write all of its letters anew, in UTF-8."""
    (home / "l.csv").write_bytes("Größe;5".encode("latin-1"))
    assert read(tools, "l.csv") == "     1\tGröße;5"
    with pytest.raises(CallFailure, match="not UTF-8 at byte 2; write it anew as UTF-8"):
        edit(tools, "l.csv", "5", "6")


def test_edit_needs_exactly_one_place(tools: FileTools) -> None:
    """Otherwise nothing changes, and the message says what to do."""
    write(tools, "a.txt", "one two\ntwo\n")
    assert edit(tools, "a.txt", "one two", "ONE TWO").endswith("a.txt at line 1.")
    for old, problem in (("three", r"occurs 0 times.*copy it"), ("", "is empty")):
        with pytest.raises(CallFailure, match=problem):
            edit(tools, "a.txt", old, "x")
    write(tools, "b.txt", "two two")
    with pytest.raises(CallFailure, match=r"occurs 2 times.*add lines"):
        edit(tools, "b.txt", "two", "x")
    assert read(tools, "b.txt") == "     1\ttwo two"


def test_new_version_keeps_the_mode_and_leaves_nothing_behind(tools: FileTools, home: Path) -> None:
    """A reader sees the old or the new text; a hard link elsewhere keeps the old one."""
    script = home / "x.sh"
    script.write_text("old", "utf-8")
    script.chmod(0o755)
    os.link(script, home.parent / "linked")
    write(tools, "x.sh", "new")
    assert script.stat().st_mode & 0o777 == 0o755
    assert (home.parent / "linked").read_text("utf-8") == "old"
    assert [path.name for path in home.iterdir()] == ["x.sh"]


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "{out}/secret.txt",
        "a/../../secret.txt",
        "link",
        "folder/secret.txt",
        "/etc/passwd",
        "up/secret.txt",
    ],
)
def test_no_path_leads_out(tools: FileTools, home: Path, path: str) -> None:
    """Neither to read nor to write nor to edit nor to list."""
    (home / "a").mkdir()
    (home / "link").symlink_to(home.parent / "secret.txt")
    (home / "folder").symlink_to(home.parent)
    (home / "up").symlink_to("..")
    shown = path.replace("{out}", str(home.parent))
    attempts: tuple[Callable[[], object], ...] = (
        lambda: read(tools, shown),
        lambda: write(tools, shown),
        lambda: edit(tools, shown, "the", "x"),
        lambda: tools.list_dir(Arguments({"path": shown})),
    )
    for attempt in attempts:
        with pytest.raises(CallFailure):
            attempt()
    assert (home.parent / "secret.txt").read_text("utf-8") == "the secret"


def test_link_within_the_folder_is_followed_to_read(tools: FileTools, home: Path) -> None:
    """But not replaced by a file."""
    write(tools, "a.txt", "text")
    (home / "b.txt").symlink_to("a.txt")
    assert read(tools, "b.txt") == "     1\ttext"
    with pytest.raises(CallFailure, match="is a link"):
        write(tools, "b.txt")


def test_what_is_no_file_does_not_hold_a_call(tools: FileTools, home: Path) -> None:
    """A pipe is neither waited for nor replaced; a folder is no file."""
    os.mkfifo(home / "pipe")
    (home / "dir").mkdir()
    for name in ("pipe", "dir", "dir/.."):
        with pytest.raises(CallFailure):
            read(tools, name)
    for name in ("pipe", "dir", ".", "dir/.."):
        with pytest.raises(CallFailure):
            write(tools, name)


def test_read_only_folder_is_read_only(tools: FileTools, home: Path) -> None:
    """It is named in the listing of the workspace."""
    file = home.parent / "ro" / "a.txt"
    file.write_text("text", "utf-8")
    assert read(tools, str(file)) == "     1\ttext"
    with pytest.raises(CallFailure, match="read-only"):
        write(tools, str(file))
    assert f"{home.parent}/ro (read-only)" in tools.list_dir(Arguments({}))


def test_sizes_are_limited(tools: FileTools, home: Path) -> None:
    """Of what is read and of what is written."""
    with (home / "big").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    with pytest.raises(CallFailure, match="read parts of it"):
        read(tools, "big")
    with pytest.raises(CallFailure, match="at most"):
        write(tools, "new", "x" * (3 * 1024 * 1024))
    assert not (home / "new").exists()


def test_folder_that_becomes_a_link_meanwhile_leads_nowhere(tools: FileTools, home: Path) -> None:
    """However often the two are exchanged."""
    (home / "real").mkdir()
    (home / "real" / "secret.txt").write_text("harmless", "utf-8")
    (home / "trap").symlink_to(home.parent)
    done = threading.Event()

    def exchange() -> None:
        while not done.is_set():
            for old, new in (("real", "at"), ("at", "real"), ("trap", "at"), ("at", "trap")):
                (home / old).rename(home / new)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(500):
            try:
                assert read(tools, "at/secret.txt") == "     1\tharmless"
            except CallFailure:
                continue
    finally:
        done.set()
        thread.join()
