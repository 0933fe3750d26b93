"""Render Markdown of models and people as inert HTML: no tags, pictures or scripts."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)

MAX_CHARACTERS = 65_536  # the rest is counted
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
COPY = 'class="plain" data-copy=".codeblock"'  # what the button copies the text of
SCHEMES = {"http", "https", "mailto"}


def render_markdown(text: str) -> Markup:
    """Return Markdown as HTML."""
    html = _build_parser().render(strip_terminal_codes(text[:MAX_CHARACTERS]))
    if len(text) > MAX_CHARACTERS:
        html += f'<p class="soft">… and {len(text) - MAX_CHARACTERS} characters more</p>'
    return Markup(html)  # noqa: S704 - the parser escapes its input


def render_growing_markdown(text: str) -> Markup:
    """Render unfinished Markdown; everything before the last block is rendered only once."""
    cut = text.rfind("\n\n") + 2
    while cut > 1 and len(_FENCE.findall(text, 0, cut)) % 2:
        cut = text.rfind("\n\n", 0, cut - 2) + 2
    if cut < 2:  # noqa: PLR2004 - nothing was found
        return render_markdown(text)
    return _render_closed_blocks(text[:cut]) + render_markdown(text[cut:])


@lru_cache(maxsize=64)
def _render_closed_blocks(text: str) -> Markup:
    return render_markdown(text)


@cache
def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_allowed_link  # type: ignore[method-assign,assignment]  # as its documentation says
    parser.add_render_rule("fence", _render_code_block)
    parser.add_render_rule("image", _render_picture)
    parser.add_render_rule("link_open", _render_link_start)
    parser.add_render_rule("link_close", _render_link_end)
    parser.add_render_rule("td_open", _render_cell_start)
    parser.add_render_rule("th_open", _render_cell_start)
    return parser


def _is_allowed_link(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme.lower() in {*SCHEMES, ""}
    except ValueError:
        return False


def _render_code_block(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Render a code block without its language name, with a button for a script that copies it."""
    code = f"<pre><code>{escape(tokens[index].content)}</code></pre>"
    return f'<div class="codeblock"><button type="button" {COPY}>Copy</button>{code}</div>\n'


def _render_picture(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Show the image's URL; loading it would reveal that the message was read."""
    address = show_hidden_characters(str(tokens[index].attrs.get("src", "")))
    about = show_hidden_characters(tokens[index].content)
    return f"<span>[picture{escape(f' {about}' if about else '')}: {escape(address)}]</span>"


def _render_cell_start(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Align a cell by a class: browsers refuse the parser's inline style."""
    side = str(tokens[index].attrs.get("style", "")).rpartition(":")[2]
    return f'<{tokens[index].tag} class="{side}">' if side else f"<{tokens[index].tag}>"


def _render_link_start(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    address = str(tokens[index].attrs.get("href", ""))
    if urlsplit(address).scheme.lower() not in SCHEMES:  # to a place of this page: only shown
        return f"<span>[{escape(show_hidden_characters(address))}] "
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">'


def _render_link_end(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Close a link, followed by its host if the text does not name it."""
    level, text = tokens[index].level, ""
    for token in reversed(tokens[:index]):
        if token.type == "link_open" and token.level == level:
            address = str(token.attrs.get("href", ""))
            if urlsplit(address).scheme.lower() not in SCHEMES:
                return "</span>"
            host = urlsplit(address).hostname or ""
            return (
                "</a>"
                if host in text
                else f"</a> <small>({escape(show_hidden_characters(host))})</small>"
            )
        text = token.content + text
    return "</a>"
