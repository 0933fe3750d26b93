"""Markdown of others can do nothing."""

import re

import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from, text

from orchestrator.extensions.page.html.markdown import (
    MAX_CHARACTERS,
    render_growing_markdown,
    render_markdown,
)

PIECES = sampled_from(
    [
        *(
            "<script>alert(1)</script>",
            "![x](https://evil.example/?q=1)",
            "[a](javascript:alert(1))",
        ),
        *(
            "<img src=x onerror=alert(1)>",
            "```\ncode\n```",
            "\n\n",
            "- item\n",
            "| a |\n|---|\n| b |\n",
        ),
        *(
            "[b](/act/reload)",
            "[c](data:text/html,x)",
            "<style>*{}</style>",
            "&lt;",
            "\u202e",
            "```\n",
        ),
        *('[d](https://a.example "t\\" onclick=x")', "<https://b.example>", "https://c.example"),
    ]
)
ALLOWED = re.compile(
    r"</?(?:p|h[1-6]|em|strong|s|code|pre|ul|ol|li|blockquote|hr|br|table|thead|tbody|tr|td|th|span|small)"
    r'(?: class="[a-z -]+")?(?: start="\d+")?(?: ?/)?>'
    r'|<div class="codeblock"><button type="button" class="plain" data-copy="\.codeblock">'
    r"|</button>|</div>"
    r'|<a href="(?:https?://|mailto:)[^"<>]*" rel="noopener noreferrer nofollow">|</a>'
)


@given(lists(PIECES | text(max_size=20)))
def test_only_harmless_tags_come_out(pieces: list[str]) -> None:
    """Of any text, whole or growing; nothing is loaded, nothing runs."""
    for html in (render_markdown("".join(pieces)), render_growing_markdown("".join(pieces))):
        rest = ALLOWED.sub("", str(html))
        assert "<" not in rest, rest


def test_picture_is_shown_as_its_address() -> None:
    """To load it would tell its server."""
    html = render_markdown("![cat](https://evil.example/cat.png?secret)")
    assert "picture cat: https://evil.example/cat.png?secret" in html
    assert "<img" not in html


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "/act/reload", "vbscript:x"]
)
def test_link_that_is_no_address_of_the_web_is_text(address: str) -> None:
    """Neither scripts nor actions of this page."""
    assert "<a " not in render_markdown(f"[click]({address})")


def test_link_names_its_host_where_the_text_does_not() -> None:
    """Its text may lie."""
    assert "(evil.example)" in render_markdown("[your bank](https://evil.example/x)")
    assert "(a.example)" not in render_markdown("[see a.example](https://a.example/x)")


def test_long_text_is_cut_and_counted() -> None:
    """A page stays small."""
    assert "and 5 characters more" in render_markdown("x" * (MAX_CHARACTERS + 5))


def test_growing_text_shows_all_of_it() -> None:
    """Also in the middle of a block of code."""
    whole = "# Title\n\nfirst\n\n```python\nx = 1\n\ny = 2"
    assert "y = 2" in render_growing_markdown(whole)
    assert render_growing_markdown(whole).count("<pre>") == 1


def test_cells_are_aligned_by_a_class() -> None:
    """A style in the text is refused by the page's policy."""
    text = str(render_markdown("|a|b|\n|-:|-|\n|1|2|\n"))
    assert "style" not in text
    assert '<td class="right">1</td>' in text
    assert "<td>2</td>" in text
