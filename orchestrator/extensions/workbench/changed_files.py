"""Files on disk as the texts that a trial changes, by the names that editors have for them."""

import re
from collections.abc import Iterable
from pathlib import Path

from orchestrator.errors import UnknownNameError
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError

# The end of a path that tells what a file is, wherever a repository keeps it.
TELLING = re.compile(
    r"(?:^|/)(skills/[^/]+/SKILL\.md|prompts/[^/]+\.(?:md|ya?ml|json)"
    r"|personas/[^/]+/(?:instructions\.md|skills/[^/]+/SKILL\.md))$"
)


def read_changed_files(settings: Settings, words: Iterable[str]) -> dict[str, str]:
    """Return the texts of files, each given as its path or as ``NAME=PATH``.

    Raises:
        UnknownNameError: a file cannot be read, or its path does not tell what it is.
    """
    found = {}
    for word in words:
        given, _, path = word.rpartition("=")
        name = given or _find_name(settings, Path(path))
        found[name] = _read_text(Path(path))
    return found


def _find_name(settings: Settings, path: Path) -> str:
    resolved = path.resolve()
    home = settings.home.resolve()
    inside = resolved.relative_to(home) if resolved.is_relative_to(home) else resolved
    match = re.search(TELLING, inside.as_posix())
    if match is None:
        raise UnknownNameError(
            f"{path}: the path does not tell which text it is; write for example"
            f" skills/NAME/SKILL.md={path}"
        )
    return match[1]


def _read_text(path: Path) -> str:
    try:
        return regular_file.read_text(path, regular_file.BASE_PROMPT)
    except FileError as error:
        raise UnknownNameError(f"{path} cannot be read: {error}") from error
