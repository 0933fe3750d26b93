"""Render Markdown for Telegram, and cut it into messages that Telegram accepts.

Telegram's own Markdown refuses a message for one stray character. So Markdown is parsed here and
rendered as the HTML subset of the Bot API, in which everything can be escaped.
"""

import html
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import eq

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from orchestrator.channel_api import ReplyPart
from orchestrator.channels.parsing_cost import affordable
from orchestrator.reply_html import Run, escaped, runs, unescaped
from thinker.protocol.visible_text import unambiguous, without_hidden

LIMIT = 4096  # UTF-16 code units of one message, after entity parsing (Bot API, sendMessage)

_MAX_NESTING = 24  # the parser drops text nested deeper, so such text is not formatted
_TABLE_WIDTH = 80  # characters; a wider table would wrap on a phone, so it is not aligned
_SCHEMES = ("http://", "https://", "mailto:")
_TAGS = {"strong": "b", "em": "i", "s": "s"}
_LANGUAGE = re.compile(r"[\w+#.-]+")
_TAG = re.compile(r"<[^>]*>")
_LINK_TAG = re.compile(r"</?a\b[^>]*>")
_QUOTE_TAG = re.compile(r"</?blockquote>")
_HOST = re.compile(r"(?<![\w-])(?:(?:[\w-]{1,63}\.){1,9}[^\W\d_][\w-]{1,62}|(?:\d{1,3}\.){3}\d+)")
_INSIDE = r"((?:<[^>]*>)*)"  # tags between the letters of an address
# Addresses of apps, which Telegram makes links of by itself: `tg://`, `ton://`.
_APP_ADDRESS = re.compile(
    rf"<[^>]*>|(t{_INSIDE}g|t{_INSIDE}o{_INSIDE}n(?:{_INSIDE}[site]){{0,4}}){_INSIDE}:"
    rf"(?={_INSIDE}/{_INSIDE}/)",
    re.IGNORECASE,
)
_UNPAIRED = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_VISIBLE_SOURCE = re.compile(r"[^\s`~>]")  # of Markdown that renders as nothing, such as `#`
# Without "reference", which would hide a definition `[a]: b` from the reader.
_PARSER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    .enable(["table", "strikethrough"])
    .disable("reference")
)


@lru_cache(maxsize=16)  # a reply is cut into parts, and sent soon after
def to_html(markdown: str) -> str:
    """Return ``markdown`` as Telegram's HTML; empty if it has no visible text (``#``).

    What would take too long is left as it is; see `affordable`.
    """
    text = clean(markdown)
    end = affordable(text)
    formatted, rest = _formatted(text[:end]), escaped(text[end:]).strip("\n")
    gap = "\n\n" if text.startswith("\n", end) or text.endswith("\n\n", 0, end) else "\n"
    return _without_app_addresses(gap.join(filter(None, (formatted, rest))))


def plain(text: str) -> str:
    """Return what is sent of a text without formatting."""
    return unescaped(_without_app_addresses(escaped(clean(text))))


def _without_app_addresses(rendered: str) -> str:
    return _APP_ADDRESS.sub(lambda found: f"{found[0]} " if found[1] else found[0], rendered)


def _formatted(text: str) -> str:
    try:
        tokens = _PARSER.parse(text)
        if any(token.level >= _MAX_NESTING - 1 for token in tokens):
            return escaped(text)
        return _blocks(SyntaxTreeNode(tokens).children)
    except RecursionError:
        # Extreme nesting is as readable unformatted.
        return escaped(text)


def visible(rendered: str) -> str:
    """Return the text that a reader sees of Telegram HTML."""
    return unescaped(_TAG.sub("", rendered))


def units(text: str) -> int:
    """Return the length in UTF-16 code units, which is how Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    r"""Return text with ``\n`` line ends that Telegram shows in its order, as valid Unicode."""
    whole = _UNPAIRED.sub("\N{REPLACEMENT CHARACTER}", text)
    whole = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le")  # joins pairs
    return unambiguous(whole).replace("\r\n", "\n").replace("\r", "\n")


def split(text: str, mark: str = "", limit: int = LIMIT) -> tuple[ReplyPart, ...]:
    """Cut Markdown into messages, at the end of a paragraph, line or word if possible.

    What is cut is the rendered text: markup that spans a cut is closed and opened again, and only
    whitespace at cuts is lost. A text that fits stays Markdown.

    Args:
        text: Markdown; blank text gives no part.
        mark: plain text for the end of the first part, such as the mark of a preview.
        limit: the most UTF-16 code units of a part that its reader sees; at least 32.
    """
    source = clean(text).strip("\n").rstrip()
    rendered = to_html(source)
    shown = visible(rendered)
    if not shown.strip():
        rendered = escaped(source) if _VISIBLE_SOURCE.search(source) else ""
        shown = visible(rendered)
    if not mark and max(units(source), units(shown)) <= limit:
        return (ReplyPart(source),) if rendered else ()
    cuts = list(_cuts(shown, limit - units(mark))) or ([(0, 0)] if mark else [])
    parts = [
        ReplyPart(shown[start:end], piece)
        for (start, end), piece in zip(cuts, _pieces(runs(rendered), cuts), strict=True)
    ]
    if mark:
        parts[0] = ReplyPart(parts[0].text + mark, f"{parts[0].rendered}{escaped(mark)}")
    return tuple(parts)


def _cuts(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Yield where each part of a visible text begins and ends."""
    start = 0
    while rest := text[start:].lstrip("\n"):
        start = len(text) - len(rest)
        head = _head(rest, limit)
        if head.strip():
            yield start, start + len(head.rstrip())
        start += len(head)


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


def _pieces(texts: Iterator[Run], cuts: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the visible characters of each cut, which are in order, as Telegram HTML."""
    around: tuple[str, ...] = ()
    text, at = "", 0  # the run in hand, and where it begins
    for start, end in cuts:
        pieces = []
        before: tuple[str, ...] = ()
        while at < end:
            if piece := text[max(0, start - at) : end - at]:
                pieces.append(_between(before, around) + escaped(piece))
                before = around
            if at + len(text) >= end:
                break
            at += len(text)
            around, text = next(texts)
        yield "".join(pieces) + _between(before, ())


def _between(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Return the tags that lead from inside ``before`` to inside ``after``."""
    same = sum(1 for _ in takewhile(lambda pair: eq(*pair), zip(before, after, strict=False)))
    closing = (f"</{tag.strip('<>').split()[0]}>" for tag in reversed(before[same:]))
    return "".join((*closing, *after[same:]))


def _blocks(nodes: Sequence[SyntaxTreeNode], gap: str = "\n\n") -> str:
    return gap.join(filter(None, map(_block, nodes)))


def _block(node: SyntaxTreeNode) -> str:
    render = _BLOCKS.get(node.type)
    return render(node) if render else escaped(node.content)


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
    code = escaped(node.content.rstrip("\n"))
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
    return f"<pre>{escaped(chr(10).join(lines))}</pre>"


def _span(node: SyntaxTreeNode) -> str:
    if node.type in _TAGS:
        tag = _TAGS[node.type]
        return f"<{tag}>{''.join(map(_span, node.children))}</{tag}>"
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    if node.type == "code_inline":
        return f"<code>{escaped(node.content)}</code>"
    if node.type == "link":
        return _link(str(node.attrs["href"]), "".join(map(_span, node.children)))
    if node.type == "image":
        return _link(str(node.attrs["src"]), escaped(node.content))
    return escaped(node.content)


def _link(address: str, label: str) -> str:
    """Return a link, with its address beside it if the label looks like another one."""
    label = without_hidden(_LINK_TAG.sub("", label))  # an image may be inside a link
    label = label if visible(label).strip() else escaped(address)
    if not address.lower().startswith(_SCHEMES):
        return label if visible(label) == address else f"{label} ({escaped(address)})"
    if visible(label) != address and _pretends(visible(label), address):
        return f'{label} (<a href="{html.escape(address)}">{escaped(address)}</a>)'
    return f'<a href="{html.escape(address)}">{label}</a>'


def _pretends(label: str, address: str) -> bool:
    """Return whether a label names a host that its link does not lead to."""
    scheme, _, rest = address.lower().partition(":")
    authority = re.split(r"[/?#\\]", rest.lstrip("/"), maxsplit=1)[0]
    if "@" in authority and scheme != "mailto":
        return True  # `https://bank.com@evil.com`
    host = authority.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    shown = unicodedata.normalize("NFKC", label).lower().replace("\u3002", ".")
    return any(name.removeprefix("www.") != host for name in _HOST.findall(shown))


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
