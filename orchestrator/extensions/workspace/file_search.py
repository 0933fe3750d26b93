"""Find files by name and by text (argument: QUESTION).

A separate process in the jail of commands, with a limit of time, so that neither an endless folder
nor a pattern that takes forever to match can hold up the server.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from thinker.formats.text_encoding import decode_bytes

MAX_FILES = 50_000  # entries that are looked at
MAX_MATCHES = 200  # lines in the answer
MAX_FILE = 4 * 1024 * 1024  # bytes of a file that is searched
MAX_LINE = 300  # characters of a line that are shown
MAX_DEPTH = 40  # folders in folders
LEFT_OUT = frozenset({".git", ".tmp"})


@dataclass(frozen=True)
class Question:
    """What to look for below ``folder``: names by ``glob``, lines by ``text`` or ``pattern``."""

    folder: str
    glob: str = ""
    text: str = ""
    pattern: str = ""
    admitted: tuple[str, ...] = ()  # folders in it to look into; empty means the folder itself


def list_matches(question: Question) -> Iterator[str]:
    """Yield the lines of the answer.

    Raises:
        re.error: the pattern is not a regular expression.
    """
    named = _compile_glob(question.glob)
    found = _compile_text_filter(question)
    matches = looked = 0
    for path, relative in _walk_files(question):
        looked += 1
        if looked > MAX_FILES:
            yield f"[stopped after {MAX_FILES} files; name a folder]"
            return
        if not named(relative):
            continue
        for line in [relative] if found is None else _search_lines(path, relative, found):
            matches += 1
            if matches > MAX_MATCHES:
                yield f"[stopped after {MAX_MATCHES} matches; search for something rarer]"
                return
            yield line
    if not matches:
        yield f"Nothing found in {looked} files."


def _walk_files(question: Question) -> Iterator[tuple[str, str]]:
    """Yield regular files with their relative paths; follow no link."""
    queue = [(name, 1) for name in question.admitted] or [("", 0)]
    for relative, depth in queue:  # grows
        try:
            with os.scandir(os.path.join(question.folder, relative)) as entries:  # noqa: PTH118
                below = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in below:
            path = os.path.join(relative, entry.name)  # noqa: PTH118 - a hot loop
            if entry.name in LEFT_OUT:
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and len(queue) < MAX_FILES:
                    queue.append((path, depth + 1))
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, path


def _compile_glob(glob: str) -> Callable[[str], bool]:
    """Return a test of relative paths: ``*`` matches within a name, ``**`` across folders."""
    if not glob:
        return lambda _: True
    if "/" not in glob:
        glob = f"**/{glob}"
    source, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at):
            source, at = source + "(?:.*/)?", at + 3
        elif glob.startswith("**", at):
            source, at = source + ".*", at + 2
        else:
            source += {"*": "[^/]*", "?": "[^/]"}.get(glob[at], re.escape(glob[at]))
            at += 1
    found = re.compile(source, re.DOTALL)
    return lambda path: found.fullmatch(path) is not None


def _compile_text_filter(question: Question) -> Callable[[str], bool] | None:
    if question.pattern:
        found = re.compile(question.pattern)
        return lambda line: found.search(line) is not None
    return (lambda line: question.text in line) if question.text else None


def _search_lines(path: str, relative: str, found: Callable[[str], bool]) -> Iterator[str]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
            return
        data = file.read(MAX_FILE)
    text = decode_bytes(data)
    if text is None:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if found(line):
            yield f"{relative}:{number}: {line.strip()[:MAX_LINE]}"


if __name__ == "__main__":
    try:
        values = json.loads(sys.argv[1])
        for shown in list_matches(Question(**{**values, "admitted": tuple(values["admitted"])})):
            print(shown.encode("utf-8", "replace").decode())  # noqa: T201 - its output is its answer
    except re.error as problem:
        sys.exit(f"the pattern is not a regular expression: {problem}")
