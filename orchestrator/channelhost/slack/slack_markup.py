"""Read Slack's markup, mrkdwn, and write it. Pure.

What is written comes from the HTML of `orchestrator.channels.formatting`. Every ``&``, ``<`` and
``>`` of a text is escaped, so none can mention a person or a channel, or be a link that lies.
"""

import html
import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from orchestrator.reply_html import Run, escaped, runs

_STYLES = {"<b>": "*", "<i>": "_", "<s>": "~", "<code>": "`"}
_SCHEMES = ("http://", "https://", "mailto:")
_GAP = "\N{ZERO WIDTH SPACE}"  # Slack takes a mark for one only beside a letter of no word
_HREF = re.compile(r'<a href="([^"]*)">')
_MARKED = re.compile(r"<([^<>]*)>")
_PERSON = re.compile(r"<@([A-Z0-9]+)")
_IN_ADDRESS = {"<": "%3C", ">": "%3E", "|": "%7C", " ": "%20", "\n": "%0A", "&": "&amp;"}


def to_mrkdwn(rendered: str) -> str:
    """Return the few tags of `orchestrator.channels.formatting` as mrkdwn."""
    blocks = (
        _block(kind, list(runs)) for kind, runs in groupby(runs(rendered), key=lambda r: _kind(*r))
    )
    return "".join(blocks)


def _kind(tags: tuple[str, ...], _: str) -> str:
    return next((tag for tag in tags if tag in ("<blockquote>", "<pre>")), "")


def _block(kind: str, runs: list[Run]) -> str:
    if kind == "<pre>":
        code = "".join(text for _, text in runs).replace("```", f"``{_GAP}`")
        return f"```\n{escaped(code)}\n```"
    inline = _inline(runs)
    return "\n".join(f"> {line}" for line in inline.split("\n")) if kind else inline


def _inline(runs: list[Run]) -> str:
    """Return a text with its styles; a mark between letters of a word gets space of no width."""
    out, marked_before = "", False
    for piece, marked in _pieces(runs):
        if not piece:
            continue
        beside = marked_before or out[-1:].isalnum() if marked else piece[:1].isalnum()
        if out and beside and (marked or marked_before):
            out += _GAP
        out += piece
        marked_before = marked
    return out


def _pieces(runs: list[Run]) -> Iterator[tuple[str, bool]]:
    """Yield pieces of mrkdwn, and whether marks of a style are around each."""
    for link, group in groupby(runs, key=lambda run: _address(run[0])):
        if link:
            yield _link(link, "".join(text for _, text in group)), False
            continue
        for tags, text in group:
            yield from _styled(tags, text)


def _address(tags: tuple[str, ...]) -> str:
    found = next((match for tag in tags if (match := _HREF.fullmatch(tag))), None)
    address = html.unescape(found[1]) if found else ""
    return address if address.lower().startswith(_SCHEMES) else ""


def _link(address: str, label: str) -> str:
    safe = "".join(_IN_ADDRESS.get(char, char) for char in address)
    shown = escaped(" ".join(label.split())).replace("|", "\N{FULLWIDTH VERTICAL LINE}")
    return f"<{safe}|{shown}>" if shown else f"<{safe}>"


def _styled(tags: tuple[str, ...], text: str) -> Iterator[tuple[str, bool]]:
    """Yield a text line by line: no style of Slack spans lines, or begins with a space."""
    names = dict.fromkeys(tag for tag in tags if tag in _STYLES)
    code = "<code>" in names and "<pre>" not in tags and "`" not in text
    marks = "".join(_STYLES[tag] for tag in names if code or tag != "<code>")
    for number, line in enumerate(text.split("\n")):
        if number:
            yield "\n", False
        words = line.strip() if marks else ""
        if not words:
            yield escaped(line), False
            continue
        start = line.index(words)
        yield escaped(line[:start]), False
        yield f"{marks}{escaped(words)}{marks[::-1]}", True
        yield escaped(line[start + len(words) :]), False


def people(text: str) -> set[str]:
    """Return the ids of the people whom a text mentions."""
    return set(_PERSON.findall(text))


def without_mention(text: str, person: str) -> str:
    """Return a text without a mention at its beginning."""
    mention = rf"\A\s*<@{re.escape(person)}(?:\|[^<>]*)?>[:,]?\s*"
    return re.sub(mention, "", text, count=1)


def readable(text: str, names: Mapping[str, str]) -> str:
    """Return mrkdwn as a person reads it: mentions by name, links with their addresses."""
    return html.unescape(_MARKED.sub(lambda found: _read(found[1], names), text))


def _read(marked: str, names: Mapping[str, str]) -> str:
    target, _, label = marked.partition("|")
    kind, name = target[:1], target[1:]
    if kind == "@":
        return f"@{names.get(name) or label or name}"
    if kind == "#":
        return f"#{label or name}"
    if kind == "!":
        return label or f"@{name.partition('^')[0]}"
    bare = target.removeprefix("mailto:").removeprefix("https://").removeprefix("http://")
    if label.rstrip("/") in (bare.rstrip("/"), target.rstrip("/")):
        return label
    return f"{label} ({target})" if label else target
