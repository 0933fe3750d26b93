"""The English of the code and the manual: words that hide who does what are not used."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.manual import PAGES, ROOT

BANNED = re.compile(
    r"(?i:\bmend(s|ed|ing)?\b|\bwhoever\b|\bnobody\b|\bsomebody\b|\btold of\b|\bof ours\b)"
    # Not "is None", which is Python, nor the text about tool choices, which is fixed.
    r"|(?<!there )(?<!Tool choice )\bis none\b"
)

# Documents that readers of the repository cannot open.
ELSEWHERE = re.compile(
    r"design §|\b(reliability|annabelle|prompt-semantics|peers)\.md|\bseed 00\d\b"
)


def python_files(folder: str) -> list[Path]:
    """The programs and modules below a folder."""
    return [
        path
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix == ".py"
        or (path.is_file() and not path.suffix and b"python" in path.read_bytes().split(b"\n")[0])
    ]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of every string, docstring and comment of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


@pytest.mark.parametrize("folder", ["orchestrator", "thinker", "scripts"])
def test_source_says_who_does_what(folder: str) -> None:
    """Docstrings, comments, help texts, errors."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {' '.join(text.split())[:100]}"
        for path in python_files(folder)
        for line, text in texts(path)
        if BANNED.search(" ".join(text.split()))
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["orchestrator", "thinker", "scripts"])
def test_source_cites_only_what_readers_can_open(folder: str) -> None:
    """The reason stands beside the code, or in the manual."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:100]}"
        for path in python_files(folder)
        for line, text in texts(path)
        if ELSEWHERE.search(text)
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_manual_says_who_does_what(page: Path) -> None:
    """Every page, also those that are generated."""
    text = " ".join(page.read_text("utf-8").split())
    assert [match[0] for match in BANNED.finditer(text)] == []
