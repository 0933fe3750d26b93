"""Discord shows the text of a reply as it is meant, and nothing else in it is markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels.formatting import extract_visible_text, render_plain_text, split, to_html
from orchestrator.extensions.discord.discord_markup import MAX_CONTENT, escape_text, format_content


def _content(markdown: str) -> str:
    html = to_html(markdown)
    return format_content(extract_visible_text(html), html)


@pytest.mark.parametrize(
    ("markdown", "content"),
    [
        ("**bold** and *slanted* and ~~gone~~", "**bold** and *slanted* and ~~gone~~"),
        ("# Title", "**Title**"),
        ("a `x_y` b", "a `x_y` b"),
        ("``a`b``", "`` a`b ``"),
        ("```` a``b` ````", "a\\`\\`b\\`"),
        ("```py\n*x* = 1\n```", "```py\n*x* = 1\n```"),
        ("````\n```\n````", "```\n`\u200b`\u200b`\n```"),
        ("> one\n> two", "> one\n> two"),
        ("- one\n- two", "• one\n• two"),
        ("[here](https://example.com/a_(b))", "here (<https://example.com/a_(b)>)"),
        ("<https://example.com/a_b_c>", "https://example.com/a_b_c"),
        ("https://example.com/_a_/*b*/~~c~~", "https://example.com/_a_/*b*/~~c~~"),
        ("[me](mailto:a@b.c)", "me (mailto:a@b.c)"),
        ("snake_case_name 2 * 3", "snake\\_case\\_name 2 \\* 3"),
        (r"\[not\](https://evil.example) a link", "\\[not](https://evil.example) a link"),
        (r"\# no title", "\\# no title"),
        (r"\> no quote", "\\> no quote"),
        ("||secret|| \\<@123> <#5> @everyone", "\\|\\|secret\\|\\| \\<@123> \\<#5> @everyone"),
        ("¯\\\\\\_(ツ)_/¯", "¯\\\\\\_(ツ)\\_/¯"),
    ],
)
def test_markdown_becomes_what_discord_shows_alike(markdown: str, content: str) -> None:
    """Formatting stays, signs are escaped, and a link has its address beside it."""
    assert _content(markdown) == content


def test_an_address_with_signs_stays_a_link() -> None:
    """Discord shows the backslashes of an address."""
    assert escape_text("see https://a.example/x_y_z?q=[1] or *") == (
        "see https://a.example/x_y_z?q=[1] or \\*"
    )


def test_what_would_be_too_long_is_shown_plainly() -> None:
    """Escaped signs and addresses count, too."""
    link = "[here](https://example.com/" + "x" * 1990 + ")"
    assert _content(link) == "here"
    signs = "*_" * 900
    assert format_content(signs, signs) == f"```\n{signs}\n```"


@given(st.text(alphabet="ab*_`~|<>[]()#-\\ \n\u2764:/@", max_size=4000))
def test_every_part_fits(text: str) -> None:
    """Whatever a model writes."""
    for part in split(text, "", 1900):
        html = part.rendered or to_html(part.text)
        content = format_content(
            extract_visible_text(html) if html.strip() else render_plain_text(part.text), html
        )
        assert 0 < len(content) <= MAX_CONTENT
