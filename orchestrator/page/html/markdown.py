"""Markdown of models and people as HTML that can do nothing: no tags, no pictures, no scripts."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from orchestrator.page.html.outside_text import plain, visible

MOST = 65_536  # characters; the rest is counted
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
SCHEMES = {"http", "https", "mailto"}


def rendered(text: str) -> Markup:
    """Return a text as HTML."""
    html = _parser().render(plain(text[:MOST]))
    if len(text) > MOST:
        html += f'<p class="soft">… and {len(text) - MOST} characters more</p>'
    return Markup(html)  # noqa: S704 - the parser escapes all that it is given


def growing(text: str) -> Markup:
    """Return a text that is not whole yet; what is before its last block is rendered once."""
    cut = text.rfind("\n\n") + 2
    while cut > 1 and len(_FENCE.findall(text, 0, cut)) % 2:
        cut = text.rfind("\n\n", 0, cut - 2) + 2
    if cut < 2:  # noqa: PLR2004 - nothing was found
        return rendered(text)
    return _closed(text[:cut]) + rendered(text[cut:])


@lru_cache(maxsize=64)
def _closed(text: str) -> Markup:
    return rendered(text)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_link  # type: ignore[method-assign,assignment]  # as its documentation says
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("image", _picture)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    parser.add_render_rule("td_open", _cell)
    parser.add_render_rule("th_open", _cell)
    return parser


def _is_link(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme.lower() in {*SCHEMES, ""}
    except ValueError:
        return False


def _code(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Show a block of code without what it calls its language."""
    return f"<pre><code>{escape(tokens[index].content)}</code></pre>\n"


def _picture(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Show where a picture would come from: to load it would tell that it was read."""
    address = visible(str(tokens[index].attrs.get("src", "")))
    about = visible(tokens[index].content)
    return f"<span>[picture{escape(f' {about}' if about else '')}: {escape(address)}]</span>"


def _cell(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """Align a cell by a class: browsers refuse the style that is the default."""
    side = str(tokens[index].attrs.get("style", "")).rpartition(":")[2]
    return f'<{tokens[index].tag} class="{side}">' if side else f"<{tokens[index].tag}>"


def _link_open(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    address = str(tokens[index].attrs.get("href", ""))
    if urlsplit(address).scheme.lower() not in SCHEMES:  # to a place of this page: only shown
        return f"<span>[{escape(visible(address))}] "
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">'


def _link_close(
    _: RendererHTML, tokens: Sequence[Token], index: int, __: OptionsDict, ___: EnvType
) -> str:
    """End a link, and name its host where its text does not."""
    level, text = tokens[index].level, ""
    for token in reversed(tokens[:index]):
        if token.type == "link_open" and token.level == level:
            address = str(token.attrs.get("href", ""))
            if urlsplit(address).scheme.lower() not in SCHEMES:
                return "</span>"
            host = urlsplit(address).hostname or ""
            return "</a>" if host in text else f"</a> <small>({escape(visible(host))})</small>"
        text = token.content + text
    return "</a>"
