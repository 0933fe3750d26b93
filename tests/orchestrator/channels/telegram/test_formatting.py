"""Markdown becomes valid Telegram HTML, in parts of a size that Telegram takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels.telegram.formatting import clean, split, to_html, units, visible
from orchestrator.selftest.bot_world import parse_html

MARKDOWN = st.text(st.sampled_from("ab1 \n*_`~#>|-[](){}!.:\\<&\"'+=\tß👍\ud83d"), max_size=300)
PROSE = st.text(st.sampled_from("abc \n*_>#-.👍é"), max_size=600)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**b** *i* ~~s~~ `c<d`", "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;d</code>"),
        ("a < b && c_d_e 2 * 3 \\*", "a &lt; b &amp;&amp; c_d_e 2 * 3 *"),
        ("# Title\ntext", "<b>Title</b>\n\ntext"),
        ("- a\n- b\n  1. c\n  2. d", "• a\n• b\n   1. c\n   2. d"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> q\n> > r", "<blockquote>q\n\nr</blockquote>"),
        ("```py\na<b\n```", '<pre><code class="language-py">a&lt;b</code></pre>'),
        ("```\nx\n```", "<pre>x</pre>"),
        ("| a | b |\n|---|---|\n| long | 2 |", "<pre>a     b\nlong  2</pre>"),
        ("[t](https://x.y/?a=1&b=2)", '<a href="https://x.y/?a=1&amp;b=2">t</a>'),
        ("![pic](https://x/y.png)", '<a href="https://x/y.png">pic</a>'),
        ("[![p](http://i)](http://l)", '<a href="http://l">p</a>'),
        ("[t](./f.md) <ftp://q>", "t (./f.md) ftp://q"),
        ("[t](javascript:x)", "[t](javascript:x)"),
        ("[](http://e)", '<a href="http://e">http://e</a>'),
        ("<b>raw</b>", "&lt;b&gt;raw&lt;/b&gt;"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("[ref]: http://x", "[ref]: http://x"),
        ("#", ""),
    ],
)
def test_markdown_is_written_as_telegram_html(markdown: str, expected: str) -> None:
    """One case for each thing that models write."""
    assert to_html(markdown) == expected


def test_a_wide_table_is_not_padded() -> None:
    """Aligned columns would wrap on a phone, and would not fit a message."""
    wide = "x" * 90
    table = to_html(f"| {wide} | b |\n|---|---|\n| 1 | 2 |")
    assert table == f"<pre>{wide} | b\n1 | 2</pre>"


@pytest.mark.parametrize(
    "absurd", [">" * 500 + "x", "*" * 1500 + "x" + "*" * 1500, "![" * 600 + "x" + "](y)" * 600]
)
def test_absurd_nesting_stays_readable(absurd: str) -> None:
    """No text is lost and nothing overflows."""
    assert "x" in visible(to_html(absurd))


@given(MARKDOWN)
def test_any_text_becomes_html_that_telegram_accepts(markdown: str) -> None:
    """The fake's checker stands for Telegram's: known tags, closed in order, all else escaped."""
    rendered = to_html(markdown)
    assert parse_html(rendered) == visible(rendered)


@given(MARKDOWN, st.integers(32, 200))
def test_every_part_fits_and_none_is_blank(markdown: str, limit: int) -> None:
    """Both the source and what Telegram counts stay within the limit."""
    for part in split(markdown, limit):
        assert part.strip()
        assert units(part) <= limit
        assert units(visible(to_html(part))) <= limit


@given(PROSE, st.integers(32, 200))
def test_nothing_but_whitespace_is_lost_at_cuts(prose: str, limit: int) -> None:
    """Without fences the parts are the text."""
    assert "".join("".join(split(prose, limit)).split()) == "".join(prose.split())


@given(
    st.lists(st.text("ab =(👍", min_size=1, max_size=50), min_size=1, max_size=40),
    st.sampled_from(["```", "~~~~"]),
    st.sampled_from(["", "  ", "> "]),
)
def test_a_cut_fence_is_closed_and_opened_again(lines: list[str], marks: str, prefix: str) -> None:
    """Each part is a whole code block in the same language, and together they are the code."""
    code = [f"x{line}" for line in lines]
    fenced = [f"{marks}py", *code, marks]
    parts = split("\n".join(prefix + line for line in fenced), 64)
    found = ""
    for part in parts:
        first, *body, last = (line.removeprefix(prefix) for line in part.split("\n"))
        assert (first, last) == (f"{marks}py", marks)
        found += "".join(body)
    assert "".join(found.split()) == "".join("".join(code).split())


def test_a_paragraph_ends_a_part_rather_than_a_line_or_a_word() -> None:
    """Cuts are made where a reader would make them."""
    assert split("aaaa aaaa aaaa aaaa aaaa\n\nbb\ncc dd", 32) == (
        "aaaa aaaa aaaa aaaa aaaa",
        "bb\ncc dd",
    )
    assert split("aaaa aaaa aaaa aaaa aaaa\nbb ccccccc", 32)[1] == "bb ccccccc"
    assert split("word " * 8, 32)[0] == "word word word word word word"


def test_a_surrogate_pair_is_never_cut() -> None:
    """4097 units with an emoji across the limit: the emoji goes to the next part whole (F52)."""
    assert split("a" * 4095 + "👍") == ("a" * 4095, "👍")
    assert split("👍" * 2048) == ("👍" * 2048,)
    assert [units(part) for part in split("👍" * 2049)] == [4096, 2]


def test_a_list_that_renders_longer_than_its_source_is_cut_earlier() -> None:
    """Numbers that Markdown writes for the author count too."""
    for part in split("1. a\n" * 819):
        assert units(visible(to_html(part))) <= 4096


@pytest.mark.parametrize("blank", ["", " \n\t\n", "\u00a0", "```\n```"])
def test_blank_text_gives_no_part(blank: str) -> None:
    """Telegram refuses empty messages."""
    assert split(blank) == ()


def test_a_language_as_long_as_a_message_does_not_stop_the_cutting() -> None:
    """Bad input from a model ends like any other."""
    parts = split("```" + "z" * 5000 + "\ncode\n```")
    assert all(units(part) <= 4096 for part in parts)
    assert "".join(parts).count("z") == 5000
    assert "code" in parts[-1]


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    """What UTF-8 cannot hold cannot be sent."""
    assert clean("a\ud83d\r\nb") == "a\ufffd\nb"
