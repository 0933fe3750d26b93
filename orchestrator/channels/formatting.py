"""Render Markdown for Telegram, and cut it into messages that Telegram accepts.

Telegram's own Markdown refuses a message for one stray character. So Markdown is parsed here and
rendered as the HTML subset of the Bot API, in which everything can be escaped.

Where: is a reply split at 4,096 characters?
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
from orchestrator.channels.addresses import keep_addresses
from orchestrator.channels.parsing_cost import MAX_NESTING, find_affordable_end
from orchestrator.reply_html import Run, escape_text, iter_runs, unescape_text
from thinker.protocol.visible_text import remove_hidden, remove_misleading

LIMIT = 4096  # UTF-16 code units of one message, after entity parsing (Bot API, sendMessage)

_TABLE_WIDTH = 80  # characters; a wider table would wrap on a phone, so it is not aligned
_SCHEMES = ("http://", "https://", "mailto:")
_TAGS = {"strong": "b", "em": "i", "s": "s"}
_LANGUAGE = re.compile(r"[\w+#.-]+")
_FENCED = re.compile(
    r"^[ \t]*+(?P<mark>`{3,}+(?=[^`\n]*+$)|~{3,}+)(?P<info>[^\n]*+)\n"
    r"(?P<code>.*?)(?:^[ \t]*+(?P=mark)[`~]*+[ \t]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_TAG = re.compile(r"<[^>]*>")
_SCHEME = re.compile(r"\A(?:[a-z]+://|mailto:)", re.IGNORECASE)
_LINK_TAG = re.compile(r"</?a\b[^>]*>")
_QUOTE_TAG = re.compile(r"</?blockquote>")
_HOST = re.compile(r"(?<![\w-])(?:(?:[\w-]{1,63}\.){1,9}[^\W\d_][\w-]{1,62}|(?:\d{1,3}\.){3}\d+)")
_INSIDE = r"((?:<[^>]*>)*)"  # tags between the letters of an address
# Addresses of apps, which Telegram turns into links by itself: `tg://`, `ton://`.
_APP_ADDRESS = re.compile(
    rf"<[^>]*>|(t{_INSIDE}g|t{_INSIDE}o{_INSIDE}n(?:{_INSIDE}[site]){{0,4}}){_INSIDE}:"
    rf"(?={_INSIDE}/{_INSIDE}/)",
    re.IGNORECASE,
)
_UNPAIRED = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_VISIBLE_SOURCE = re.compile(r"[^\s`~>]")  # of Markdown that renders as nothing, such as `#`
# Without "reference", which would hide a definition `[a]: b` from the reader.
_PARSER = (
    MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    .enable(["table", "strikethrough"])
    .disable("reference")
)
keep_addresses(_PARSER)


@lru_cache(maxsize=16)  # a reply is cut into parts, and sent soon after
def to_html(markdown: str) -> str:
    """Return ``markdown`` as Telegram's HTML; empty if it has no visible text (``#``).

    Text that would take too long to parse stays unformatted, except for its code blocks; see
    `find_affordable_end`.
    """
    text = clean_text(markdown)
    end = find_affordable_end(text)
    formatted, rest = _render_markdown(text[:end]), _render_unparsed(text[end:]).strip("\n")
    gap = "\n\n" if text.startswith("\n", end) or text.endswith("\n\n", 0, end) else "\n"
    return _break_app_addresses(gap.join(filter(None, (formatted, rest))))


def render_plain_text(text: str) -> str:
    """Return the text as it is sent without formatting."""
    return unescape_text(_break_app_addresses(escape_text(clean_text(text))))


def _break_app_addresses(rendered: str) -> str:
    return _APP_ADDRESS.sub(lambda found: f"{found[0]} " if found[1] else found[0], rendered)


def _render_markdown(text: str) -> str:
    try:
        tokens = _PARSER.parse(text)
        if any(token.level >= MAX_NESTING - 1 for token in tokens):
            return escape_text(text)
        return _render_blocks(SyntaxTreeNode(tokens).children)
    except RecursionError:
        # Extreme nesting is as readable unformatted.
        return escape_text(text)


def _render_unparsed(text: str) -> str:
    """Return text without markup, but with its code blocks."""
    pieces, at = [], 0
    for found in _FENCED.finditer(text):
        pieces += [
            escape_text(text[at : found.start()]),
            _render_code(found["code"], found["info"]),
        ]
        at = found.end()
    return "".join([*pieces, escape_text(text[at:])])


def extract_visible_text(rendered: str) -> str:
    """Return the visible text of Telegram HTML."""
    text = _TAG.sub("", rendered)
    return unescape_text(text) if "&" in text else text


def count_utf16_units(text: str) -> int:
    """Return the length in UTF-16 code units, which is how Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean_text(text: str) -> str:
    r"""Return valid Unicode with ``\n`` line ends, without characters that change its direction."""
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n")
    whole = _UNPAIRED.sub("\N{REPLACEMENT CHARACTER}", text)
    whole = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le")  # joins pairs
    return remove_misleading(whole).replace("\r\n", "\n").replace("\r", "\n")


def split(text: str, mark: str = "", limit: int = LIMIT) -> tuple[ReplyPart, ...]:
    """Cut Markdown into messages, at the end of a paragraph, line or word if possible.

    The rendered text is cut: markup that spans a cut is closed and reopened, and only whitespace
    at cuts is lost. Text that fits stays Markdown.

    Args:
        text: Markdown; blank text gives no part.
        mark: plain text for the end of the first part, such as the mark of a preview.
        limit: the maximum number of visible UTF-16 code units in a part; at least 32.
    """
    source = clean_text(text).strip("\n").rstrip()
    rendered = to_html(source)
    shown = extract_visible_text(rendered)
    if not shown.strip():
        rendered = escape_text(source) if _VISIBLE_SOURCE.search(source) else ""
        shown = extract_visible_text(rendered)
    if not mark and max(count_utf16_units(source), count_utf16_units(shown)) <= limit:
        return (ReplyPart(source),) if rendered else ()
    cuts = list(_find_cuts(shown, limit - count_utf16_units(mark))) or ([(0, 0)] if mark else [])
    parts = [
        ReplyPart(shown[start:end], piece)
        for (start, end), piece in zip(cuts, _render_pieces(iter_runs(rendered), cuts), strict=True)
    ]
    if mark:
        parts[0] = ReplyPart(parts[0].text + mark, f"{parts[0].rendered}{escape_text(mark)}")
    return tuple(parts)


def _find_cuts(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part of the visible text."""
    start = 0
    while rest := text[start:].lstrip("\n"):
        start = len(text) - len(rest)
        head = _take_head(rest, limit)
        if head.strip():
            yield start, start + len(head.rstrip())
        start += len(head)


def _take_head(rest: str, budget: int) -> str:
    """Return the longest beginning within ``budget`` units that ends at a good break."""
    window = rest[:budget].encode("utf-16-le")[: 2 * budget].decode("utf-16-le", "ignore")
    if len(window) == len(rest):
        return rest
    for end in ("\n\n", "\n", " "):
        at = window.rfind(end, len(window) // 2)
        if at > 0:
            return window[: at + len(end)]
    return window


def _render_pieces(texts: Iterator[Run], cuts: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the visible characters of each cut, which are in order, as Telegram HTML."""
    around: tuple[str, ...] = ()
    text, at = "", 0  # the current run and its start
    for start, end in cuts:
        pieces = []
        before: tuple[str, ...] = ()
        while at < end:
            if piece := text[max(0, start - at) : end - at]:
                pieces.append(_build_tag_change(before, around) + escape_text(piece))
                before = around
            if at + len(text) >= end:
                break
            at += len(text)
            around, text = next(texts)
        yield "".join(pieces) + _build_tag_change(before, ())


def _build_tag_change(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Return the tags that close ``before`` and open ``after``."""
    same = sum(1 for _ in takewhile(lambda pair: eq(*pair), zip(before, after, strict=False)))
    closing = (f"</{tag.strip('<>').split()[0]}>" for tag in reversed(before[same:]))
    return "".join((*closing, *after[same:]))


def _render_blocks(nodes: Sequence[SyntaxTreeNode], gap: str = "\n\n") -> str:
    return gap.join(filter(None, map(_render_block, nodes)))


def _render_block(node: SyntaxTreeNode) -> str:
    render = _BLOCKS.get(node.type)
    return render(node) if render else escape_text(node.content)


def _render_paragraph(node: SyntaxTreeNode) -> str:
    return "".join(_render_span(span) for inline in node.children for span in inline.children)


def _render_heading(node: SyntaxTreeNode) -> str:
    title = _render_paragraph(node)
    return f"<b>{title}</b>" if title else ""


def _render_quote(node: SyntaxTreeNode) -> str:
    inner = _QUOTE_TAG.sub("", _render_blocks(node.children))  # Telegram does not nest quotes
    return f"<blockquote>{inner}</blockquote>" if inner else ""


def _render_list(node: SyntaxTreeNode) -> str:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    return "\n".join(
        f"{'•' if first is None else f'{first + index}.'} {_render_list_item(item)}".rstrip()
        for index, item in enumerate(node.children)
    )


def _render_list_item(node: SyntaxTreeNode) -> str:
    blocks = (
        textwrap.indent(_render_block(child), "   ")
        if child.type.endswith("_list")
        else _render_block(child)
        for child in node.children
    )
    return "\n".join(filter(None, blocks))


def _render_code_block(node: SyntaxTreeNode) -> str:
    return _render_code(node.content, node.info)


def _render_code(content: str, info: str) -> str:
    code = escape_text(content.rstrip("\n"))
    language = _LANGUAGE.match(info.strip())
    if not code.strip():
        return ""
    if language:
        return f'<pre><code class="language-{language[0]}">{code}</code></pre>'
    return f"<pre>{code}</pre>"


def _render_table(node: SyntaxTreeNode) -> str:
    rows = [
        [extract_visible_text(_render_paragraph(cell)) for cell in row.children]
        for group in node.children
        for row in group.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) > _TABLE_WIDTH:
        lines = [" | ".join(row) for row in rows]
    else:
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return f"<pre>{escape_text(chr(10).join(lines))}</pre>"


def _render_span(node: SyntaxTreeNode) -> str:
    if node.type in _TAGS:
        tag = _TAGS[node.type]
        return f"<{tag}>{''.join(map(_render_span, node.children))}</{tag}>"
    if node.type in ("softbreak", "hardbreak"):
        return "\n"
    if node.type == "code_inline":
        return f"<code>{escape_text(node.content)}</code>"
    if node.type == "link":
        return _render_link(str(node.attrs["href"]), "".join(map(_render_span, node.children)))
    if node.type == "image":
        return _render_link(str(node.attrs["src"]), escape_text(node.content))
    return escape_text(node.content)


def _render_link(address: str, label: str) -> str:
    """Return a link, followed by its address if the label looks like another address."""
    label = remove_hidden(_LINK_TAG.sub("", label))  # an image may be inside a link
    label = label if extract_visible_text(label).strip() else escape_text(address)
    if not address.lower().startswith(_SCHEMES):
        return (
            label if extract_visible_text(label) == address else f"{label} ({escape_text(address)})"
        )
    if extract_visible_text(label) != address and _is_deceptive_label(
        extract_visible_text(label), address
    ):
        return f'{label} (<a href="{html.escape(address)}">{escape_text(address)}</a>)'
    return f'<a href="{html.escape(address)}">{label}</a>'


def _is_deceptive_label(label: str, address: str) -> bool:
    """Return whether a label names a host other than the link's, or another place on that host."""
    scheme, _, rest = address.lower().partition(":")
    authority = re.split(r"[/?#\\]", rest.lstrip("/"), maxsplit=1)[0]
    if "@" in authority and scheme != "mailto":
        return True  # `https://bank.com@evil.com`
    host = authority.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    shown = unicodedata.normalize("NFKC", label).lower().replace("\u3002", ".")
    if any(name.removeprefix("www.") != host for name in _HOST.findall(shown)):
        return True
    said, there = (_SCHEME.sub("", text.strip()).removeprefix("www.") for text in (shown, address))
    named = _HOST.match(said) is not None and " " not in said
    return named and not there.lower().startswith(said.rstrip("/\u2026."))


_BLOCKS: dict[str, Callable[[SyntaxTreeNode], str]] = {
    "paragraph": _render_paragraph,
    "heading": _render_heading,
    "blockquote": _render_quote,
    "bullet_list": _render_list,
    "ordered_list": _render_list,
    "fence": _render_code_block,
    "code_block": _render_code_block,
    "table": _render_table,
    "hr": lambda _: "———",
}
