"""Find the kept versions of configured texts that name what is forgotten.

Each version is a file below the home's history: a line about it, and the text. One without its file
is simply not there any more.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

CHANNEL = "[a-z]+(?:@[a-z0-9-]+)?"  # a pattern: a chat system, perhaps with an account
VERSIONS = "*/*"  # in the folder of all of them


def build_name_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds ids and names of people in a configured text, or in YAML."""
    named = "|".join(map(re.escape, sorted(names))) or "(?!)"
    return re.compile(
        rf"""(["'])(?:{CHANNEL}:)?(?:{named})(?:/[^"']*)?\1"""
        rf"|[\s\[:,](?:{CHANNEL}:)?(?:{named})(?=[\s\],}}]|$)"
    )


def list_versions_with(history: Path, names: Iterable[str]) -> list[Path]:
    """Return the files of versions that name a person or a chat: in the text, or who made it."""
    names = sorted({name for name in names if name not in {"", "*"}})
    said = "|".join(rf"{CHANNEL}:{re.escape(name)}(?![\w-])" for name in names) or "(?!)"
    return _list_matching(history, build_name_pattern(names), re.compile(said))


def list_versions_of_agent(history: Path, agent_id: str) -> list[Path]:
    """Return the files of versions that name an agent, and those of its own texts."""
    own = history.glob(f"{quote(f'personas/{agent_id}/', safe='')}*/*")
    name = re.escape(agent_id)
    text = re.compile(rf"""(["']){name}\1|^\s*agent: *{name}\s*$""", re.MULTILINE)
    head = re.compile(rf"(?<![\w@.-]){name}(?![\w@-])")
    return sorted({*own, *_list_matching(history, text, head)})


def _list_matching(history: Path, text: re.Pattern[str], head: re.Pattern[str]) -> list[Path]:
    """Return the versions of which the text, or the line about them, matches its pattern."""
    found = []
    for path in sorted(history.glob(VERSIONS)):
        first, _, rest = path.read_text("utf-8", "replace").partition("\n")
        if head.search(first) or text.search(rest):
            found.append(path)
    return found
