"""The manual as data: its pages, links, examples and command lines."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SKILL = ROOT / "skills" / "orchestrator-guide"
REFERENCES = SKILL / "references"
PAGES = (
    ROOT / "README.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    SKILL / "SKILL.md",
    *sorted(REFERENCES.glob("*.md")),
)
GENERATED = (
    "agents-json",
    "channel-keys",
    "commands",
    "agent-commands",
    "environment",
    "exit-codes",
)
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```[ ]*$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
PLACEHOLDER = re.compile(r"[A-Z]+(:[A-Z_]+)?")
SEPARATORS = {";", "&&", "||", "|", "&"}


@dataclass(frozen=True)
class Example:
    """A fenced block: its info string and its text, without the indentation of a list."""

    info: str
    text: str


@dataclass(frozen=True)
class CommandLine:
    """The arguments of one ``orchestrator …``; ``whole`` when it is meant to be run as it is."""

    arguments: tuple[str, ...]
    whole: bool


def examples(page: Path) -> Iterator[Example]:
    """Every fenced block of a page."""
    for indent, info, body in FENCE.findall(page.read_text("utf-8")):
        lines = (line.removeprefix(indent) for line in body.splitlines(keepends=True))
        yield Example(info.strip(), "".join(lines))


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """The relative links of a page."""
    found = LINK.findall(INLINE.sub("", prose(page)))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def inline_code(page: Path) -> list[str]:
    """Every span of code in a page's prose, on one line."""
    return [" ".join(code.split()) for code in INLINE.findall(prose(page))]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    titles = (title.replace("`", "") for title in HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def command_lines(page: Path) -> Iterator[CommandLine]:
    """Every command line of ours on a page, in shell examples and in its prose."""
    for example in examples(page):
        if example.info in ("sh", "console"):
            for line in example.text.replace("\\\n", " ").splitlines():
                for words in commands_in(line.removeprefix("$ ")):
                    yield CommandLine(words, whole=True)
    for code in inline_code(page):
        if code.startswith("orchestrator "):
            words = tuple(_filled(word) for word in shlex.split(code)[1:])
            yield CommandLine(words, whole=False)


def commands_in(line: str) -> Iterator[tuple[str, ...]]:
    """The arguments of every ``orchestrator`` in a line of a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # one line of a quotation that goes over several
        return
    command: list[str] = []
    for word in (*words, ";"):
        if word not in SEPARATORS:
            command.append(word)
            continue
        arguments = _ours(command)
        if arguments is not None:
            yield tuple(map(_filled, arguments))
        command = []


def _ours(command: list[str]) -> list[str] | None:
    """The arguments of ``orchestrator``, if that is what the command runs."""
    words = list(command)
    if words[:1] == ["sudo"]:
        words = words[3:] if words[1:2] == ["-u"] else words[1:]
    while words and ASSIGNMENT.fullmatch(words[0]):
        words.pop(0)
    return words[1:] if words and Path(words[0]).name == "orchestrator" else None


def _filled(word: str) -> str:
    """A value in the place of a word such as AGENT or ID."""
    return "1" if PLACEHOLDER.fullmatch(word) else word
