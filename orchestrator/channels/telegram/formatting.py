"""Render Markdown for Telegram, and cut it into messages that Telegram accepts.

Telegram's own Markdown refuses a message for one stray character. So Markdown is parsed here and
rendered as the HTML subset of the Bot API, in which everything can be escaped.
"""

import html
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

LIMIT = 4096  # UTF-16 code units of one message, after entity parsing (Bot API, sendMessage)

_MAX_NESTING = 100  # the parser drops text nested deeper, so such text is not formatted
_TABLE_WIDTH = 80  # characters; a wider table would wrap on a phone, so it is not aligned
_SCHEMES = ("http://", "https://", "tg://", "mailto:")
_TAGS = {"strong": "b", "em": "i", "s": "s"}
_LANGUAGE = re.compile(r"[\w+#.-]+")
_TAG = re.compile(r"<[^>]*>")
_LINK_TAG = re.compile(r"</?a\b[^>]*>")
_QUOTE_TAG = re.compile(r"</?blockquote>")
_FENCE = re.compile(
    r"(?P<prefix>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)"
)
# Without "reference", which would hide a definition `[a]: b` from the reader.
_PARSER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    .enable(["table", "strikethrough"])
    .disable("reference")
)


def to_html(markdown: str) -> str:
    """Return ``markdown`` as Telegram's HTML; empty if it has no visible text (``#``)."""
    text = clean(markdown)
    try:
        tokens = _PARSER.parse(text)
        if any(token.level >= _MAX_NESTING - 1 for token in tokens):
            return _escape(text)
        return _blocks(SyntaxTreeNode(tokens).children)
    except RecursionError:
        # Extreme nesting is as readable unformatted.
        return _escape(text)


def visible(rendered: str) -> str:
    """Return the text that a reader sees of Telegram HTML."""
    return html.unescape(_TAG.sub("", rendered))


def units(text: str) -> int:
    """Return the length in UTF-16 code units, which is how Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    r"""Return text with ``\n`` line ends and without unpaired surrogates, which UTF-8 lacks."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\r\n", "\n").replace("\r", "\n")


def split(text: str, limit: int = LIMIT) -> tuple[str, ...]:
    """Cut Markdown into messages, at the end of a paragraph, line or word if possible.

    A code fence that is cut is closed and opened again. Only whitespace at cuts is lost.

    Args:
        text: Markdown; blank text gives no part.
        limit: the most UTF-16 code units of a part, in its source and rendered; at least 32.
    """
    parts: list[str] = []
    rest, fence = clean(text).lstrip("\n"), None
    while rest.strip():
        part, rest, fence = _take(rest, fence, limit)
        parts.append(part)
    return tuple(filter(None, parts))


@dataclass(frozen=True)
class _Fence:
    """An open code fence: the prefix of its line, its marks, its language."""

    prefix: str
    marks: str
    info: str

    @property
    def opening(self) -> str:
        # Four spaces would make it indented code.
        prefix = self.prefix if ">" in self.prefix else self.prefix[:3]
        return f"{prefix}{self.marks}{self.info}\n"

    @property
    def closing(self) -> str:
        return f"\n{self.prefix}{self.marks}"


def _take(rest: str, fence: _Fence | None, limit: int) -> tuple[str, str, _Fence | None]:
    """Return the next part of ``rest`` (empty if blank), the remainder, and the open fence."""
    opening = fence.opening if fence else ""
    budget = limit
    while True:
        head = _head(rest, budget)
        still_open = _open_fence(head, fence, limit)
        part = opening + head.rstrip() + (still_open.closing if still_open else "")
        over = max(units(part), units(visible(to_html(part)))) - limit
        if over <= 0 or budget == 2:  # noqa: PLR2004 - one character may take two units
            kept = part if _has_text(head) else ""
            return kept, rest[len(head) :].lstrip("\n"), still_open
        budget = max(budget - over, budget // 2, 2)


def _has_text(head: str) -> bool:
    """Return whether there is more than blank lines and the marks of a fence."""
    lines = ((line, _FENCE.fullmatch(line)) for line in head.split("\n"))
    return any(fence["info"].strip() if fence else line.strip() for line, fence in lines)


def _head(rest: str, budget: int) -> str:
    """Return the longest beginning within ``budget`` units that ends at a good place."""
    window = rest[:budget].encode("utf-16-le")[: 2 * budget].decode("utf-16-le", "ignore")
    if len(window) == len(rest):
        return rest
    for end in ("\n\n", "\n", " "):
        at = window.rfind(end, len(window) // 2)
        if at > 0:
            return window[: at + len(end)]
    return window


def _open_fence(head: str, fence: _Fence | None, limit: int) -> _Fence | None:
    """Return the fence open at the end of ``head``; ``fence`` is the one open at its start."""
    for line in head.split("\n"):
        if fence is None:
            found = _FENCE.fullmatch(line)
            # A very long info string would fill every part in which the fence is opened again.
            if found and units(line) <= limit // 4:
                prefix = re.sub(r"[^\s>]", " ", found["prefix"])
                fence = _Fence(prefix, found["marks"], found["info"])
        elif set(marks := line.strip(" \t>")) == {fence.marks[0]} and len(marks) >= len(
            fence.marks
        ):
            fence = None
    return fence


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _blocks(nodes: Sequence[SyntaxTreeNode], gap: str = "\n\n") -> str:
    return gap.join(filter(None, map(_block, nodes)))


def _block(node: SyntaxTreeNode) -> str:
    render = _BLOCKS.get(node.type)
    return render(node) if render else _escape(node.content)


def _paragraph(node: SyntaxTreeNode) -> str:
    return "".join(_span(span) for inline in node.children for span in inline.children)


def _heading(node: SyntaxTreeNode) -> str:
    title = _paragraph(node)
    return f"<b>{title}</b>" if title else ""


def _quote(node: SyntaxTreeNode) -> str:
    inner = _QUOTE_TAG.sub("", _blocks(node.children))  # Telegram does not nest quotes
    return f"<blockquote>{inner}</blockquote>" if inner else ""


def _list(node: SyntaxTreeNode) -> str:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    return "\n".join(
        f"{'•' if first is None else f'{first + index}.'} {_item(item)}".rstrip()
        for index, item in enumerate(node.children)
    )


def _item(node: SyntaxTreeNode) -> str:
    blocks = (
        textwrap.indent(_block(child), "   ") if child.type.endswith("_list") else _block(child)
        for child in node.children
    )
    return "\n".join(filter(None, blocks))


def _code(node: SyntaxTreeNode) -> str:
    code = _escape(node.content.rstrip("\n"))
    language = _LANGUAGE.match(node.info)
    if not code.strip():
        return ""
    if language:
        return f'<pre><code class="language-{language[0]}">{code}</code></pre>'
    return f"<pre>{code}</pre>"


def _table(node: SyntaxTreeNode) -> str:
    rows = [
        [visible(_paragraph(cell)) for cell in row.children]
        for group in node.children
        for row in group.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) > _TABLE_WIDTH:
        lines = [" | ".join(row) for row in rows]
    else:
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return f"<pre>{_escape(chr(10).join(lines))}</pre>"


def _span(node: SyntaxTreeNode) -> str:
    if node.type in _TAGS:
        tag = _TAGS[node.type]
        return f"<{tag}>{''.join(map(_span, node.children))}</{tag}>"
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    if node.type == "code_inline":
        return f"<code>{_escape(node.content)}</code>"
    if node.type == "link":
        return _link(str(node.attrs["href"]), "".join(map(_span, node.children)))
    if node.type == "image":
        return _link(str(node.attrs["src"]), _escape(node.content))
    return _escape(node.content)


def _link(address: str, label: str) -> str:
    label = _LINK_TAG.sub("", label) or _escape(address)  # an image may be inside a link
    if address.lower().startswith(_SCHEMES):
        return f'<a href="{html.escape(address)}">{label}</a>'
    return label if visible(label) == address else f"{label} ({_escape(address)})"


_BLOCKS: dict[str, Callable[[SyntaxTreeNode], str]] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "blockquote": _quote,
    "bullet_list": _list,
    "ordered_list": _list,
    "fence": _code,
    "code_block": _code,
    "table": _table,
    "hr": lambda _: "———",
}
