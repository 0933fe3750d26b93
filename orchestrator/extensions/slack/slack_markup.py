"""Read Slack's markup, mrkdwn, and write it. Pure.

The input is the HTML of `orchestrator.channels.formatting`. Every ``&``, ``<`` and ``>`` of text is
escaped, so none can mention a person or channel, or be a deceptive link.
"""

import html
import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from orchestrator.reply_html import Run, escape_text, iter_runs

_STYLES = {"<b>": "*", "<i>": "_", "<s>": "~", "<code>": "`"}
_SCHEMES = ("http://", "https://", "mailto:")
_GAP = "\N{ZERO WIDTH SPACE}"  # Slack recognizes a mark only beside a non-word character
_HREF = re.compile(r'<a href="([^"]*)">')
_MARKED = re.compile(r"<([^<>]*)>")
# Slack would read the marks in such an address as styles, unless it is written as a link.
_MARKED_ADDRESS = re.compile(r"(https?://[^\s<>\"*_~`]*[*_~`][^\s<>\"]*[A-Za-z0-9/=_-])")
_PERSON = re.compile(r"<@([A-Z0-9]+)")
_IN_ADDRESS = {"<": "%3C", ">": "%3E", "|": "%7C", " ": "%20", "\n": "%0A", "&": "&amp;"}


def render_mrkdwn(rendered: str) -> str:
    """Return the few tags of `orchestrator.channels.formatting` as mrkdwn."""
    blocks = (
        _render_block(kind, list(runs))
        for kind, runs in groupby(iter_runs(rendered), key=lambda r: _find_block_kind(*r))
    )
    return "".join(blocks)


def _find_block_kind(tags: tuple[str, ...], _: str) -> str:
    return next((tag for tag in tags if tag in ("<blockquote>", "<pre>")), "")


def _render_block(kind: str, runs: list[Run]) -> str:
    if kind == "<pre>":
        code = "".join(text for _, text in runs).replace("```", f"``{_GAP}`")
        return f"```\n{escape_text(code)}\n```"
    inline = _render_inline(runs)
    return "\n".join(f"> {line}" for line in inline.split("\n")) if kind else inline


def _render_inline(runs: list[Run]) -> str:
    """Return text with its styles; zero-width spaces separate marks from letters."""
    out, marked_before = "", False
    for piece, marked in _split_pieces(runs):
        if not piece:
            continue
        beside = marked_before or out[-1:].isalnum() if marked else piece[:1].isalnum()
        if out and beside and (marked or marked_before):
            out += _GAP
        out += piece
        marked_before = marked
    return out


def _split_pieces(runs: list[Run]) -> Iterator[tuple[str, bool]]:
    """Yield pieces of mrkdwn, and whether style marks surround each."""
    for link, group in groupby(runs, key=lambda run: _find_address(run[0])):
        if link:
            yield _format_link(link, "".join(text for _, text in group)), False
            continue
        for tags, text in group:
            yield from _style_lines(tags, text)


def _find_address(tags: tuple[str, ...]) -> str:
    found = next((match for tag in tags if (match := _HREF.fullmatch(tag))), None)
    address = html.unescape(found[1]) if found else ""
    return address if address.lower().startswith(_SCHEMES) else ""


def _format_link(address: str, label: str) -> str:
    safe = "".join(_IN_ADDRESS.get(char, char) for char in address)
    shown = escape_text(" ".join(label.split())).replace("|", "\N{FULLWIDTH VERTICAL LINE}")
    return f"<{safe}|{shown}>" if shown else f"<{safe}>"


def _style_lines(tags: tuple[str, ...], text: str) -> Iterator[tuple[str, bool]]:
    """Yield text line by line: Slack's styles do not span lines or begin with a space."""
    names = dict.fromkeys(tag for tag in tags if tag in _STYLES)
    code = "<code>" in names and "<pre>" not in tags and "`" not in text
    marks = "".join(_STYLES[tag] for tag in names if code or tag != "<code>")
    for number, line in enumerate(text.split("\n")):
        if number:
            yield "\n", False
        words = line.strip() if marks else ""
        if not words:
            yield escape_text(line) if "<code>" in tags else _link_addresses(line), False
            continue
        start = line.index(words)
        yield escape_text(line[:start]), False
        shown = escape_text(words) if code else _link_addresses(words)
        yield f"{marks}{shown}{marks[::-1]}", True
        yield escape_text(line[start + len(words) :]), False


def _link_addresses(line: str) -> str:
    pieces = _MARKED_ADDRESS.split(line)
    pieces[::2] = map(escape_text, pieces[::2])
    pieces[1::2] = (_format_link(address, "") for address in pieces[1::2])
    return "".join(pieces)


def list_mentioned_ids(text: str) -> set[str]:
    """Return the ids of the people whom ``text`` mentions."""
    return set(_PERSON.findall(text))


def strip_mention(text: str, person: str) -> str:
    """Return ``text`` without a mention at its beginning."""
    mention = rf"\A\s*<@{re.escape(person)}(?:\|[^<>]*)?>[:,]?\s*"
    return re.sub(mention, "", text, count=1)


def format_readable_text(text: str, names: Mapping[str, str]) -> str:
    """Return mrkdwn as readable text: names instead of mentions, links with their addresses."""
    return html.unescape(_MARKED.sub(lambda found: _format_marked(found[1], names), text))


def _format_marked(marked: str, names: Mapping[str, str]) -> str:
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
