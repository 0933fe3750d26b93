"""Markdown becomes valid Telegram HTML, in parts of a size that Telegram takes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channel_api import ReplyPart
from orchestrator.channels.formatting import (
    LIMIT,
    clean_text,
    count_utf16_units,
    extract_visible_text,
    render_plain_text,
    split,
    to_html,
)
from orchestrator.reply_html import iter_runs
from orchestrator.testing.sent_html import read_reply_html

MARKDOWN = st.text(st.sampled_from("ab1 \n*_`~#>|-[](){}!.:\\<&\"'+=\tß👍\ud83d"), max_size=300)
Kind = tuple[str, str, tuple[str, ...]]
SPANNING: list[Kind] = [  # Markdown, a letter in it, and the tags around that letter
    ("**{}**", "a", ("<b>",)),
    ("*{}*", "c", ("<i>",)),
    ("**_{}_**", "d", ("<b>", "<i>")),
    ("~~{}~~", "e", ("<s>",)),
    ("`{}`", "f", ("<code>",)),
    ("```py\n{}\n```", "g", ("<pre>", '<code class="language-py">')),
    ("[{}](https://x.y)", "h", ('<a href="https://x.y">',)),
    ("> {}", "i", ("<blockquote>",)),
    ("- {}", "j", ()),
]


def sent(part: ReplyPart) -> str:
    """Return what Telegram is sent for a part."""
    return to_html(part.text) if part.rendered is None else part.rendered


def texts(markdown: str, limit: int = LIMIT) -> list[str]:
    """Return the texts of the parts."""
    return [part.text for part in split(markdown, limit=limit)]


def squeezed(text: str) -> str:
    """Return a text without whitespace."""
    return "".join(text.split())


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
        ("[t](data:text/html,x)", "[t](data:text/html,x)"),
        ("[t](tg://resolve?domain=x)", "t (tg: //resolve?domain=x)"),
        ("[t](&#116;G://x) <tg://y>", "t (tG: //x) tg: //y"),
        ("tg://x t**g**://x ton://y", "tg: //x t<b>g</b>: //x ton: //y"),
        ("`tg://x` stage://x", "<code>tg: //x</code> stage://x"),
        ("[m](mailto:a@x.y)", '<a href="mailto:a@x.y">m</a>'),
        (
            "[https://bank.com](https://evil.com/a)",
            'https://bank.com (<a href="https://evil.com/a">https://evil.com/a</a>)',
        ),
        (
            "[bank\u3002com/in](http://bank.com.evil.com)",
            'bank\u3002com/in (<a href="http://bank.com.evil.com">http://bank.com.evil.com</a>)',
        ),
        (
            "[Bank](https://bank.com@evil.com)",
            'Bank (<a href="https://bank.com@evil.com">https://bank.com@evil.com</a>)',
        ),
        (
            "[**www.bank.com**](https://bank.com/login)",
            '<a href="https://bank.com/login"><b>www.bank.com</b></a>',
        ),
        (
            "[https://g.e.com/us](https://g.e.com/eve)",
            'https://g.e.com/us (<a href="https://g.e.com/eve">https://g.e.com/eve</a>)',
        ),
        (
            "[git.e.com/us…](https://git.e.com/us/it)",
            '<a href="https://git.e.com/us/it">git.e.com/us…</a>',
        ),
        ("[ann.b@x.org](mailto:ann.b@x.org)", '<a href="mailto:ann.b@x.org">ann.b@x.org</a>'),
        (
            "[at 10.0.0.1](http://bank.com)",
            'at 10.0.0.1 (<a href="http://bank.com">http://bank.com</a>)',
        ),
        ("[Python 3.12](http://e)", '<a href="http://e">Python 3.12</a>'),
        ("[a\u200f\u2066b](http://e)", '<a href="http://e">ab</a>'),
        ("[\u200f](http://e)", '<a href="http://e">http://e</a>'),
        ("a\u202eb \u200fc", "ab \u200fc"),
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


def test_what_is_sent_without_formatting_has_no_links_to_apps_either() -> None:
    """Telegram would make links of them by itself."""
    assert render_plain_text("tg://x <b> &amp; \u202etg:/") == "tg: //x <b> &amp; tg:/"


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
    assert "x" in extract_visible_text(to_html(absurd))


@given(MARKDOWN)
def test_any_text_becomes_html_that_telegram_accepts(markdown: str) -> None:
    """The fake's checker stands for Telegram's: known tags, closed in order, all else escaped."""
    rendered = to_html(markdown)
    assert read_reply_html(rendered) == extract_visible_text(rendered)


@given(MARKDOWN, st.integers(32, 200), st.sampled_from(["", " …"]))
def test_every_part_fits_and_none_is_blank(markdown: str, limit: int, mark: str) -> None:
    """What Telegram counts stays within the limit, and what is sent if it refuses the markup."""
    for part in split(markdown, mark, limit):
        assert part.text.strip()
        assert count_utf16_units(part.text) <= limit
        assert count_utf16_units(extract_visible_text(sent(part))) <= limit


@given(MARKDOWN, st.integers(32, 200))
def test_the_parts_show_what_the_whole_shows(markdown: str, limit: int) -> None:
    """Each cut part is HTML that Telegram accepts; only whitespace at cuts is missing."""
    whole = extract_visible_text(to_html(markdown)) or clean_text(markdown)
    parts = split(markdown, limit=limit)
    for part in parts:
        assert read_reply_html(sent(part)) == extract_visible_text(sent(part))
        assert part.rendered is None or extract_visible_text(part.rendered) == part.text
    shown = "".join(extract_visible_text(sent(part)) or part.text for part in parts)
    assert squeezed(shown) == squeezed(whole) or not squeezed(shown)


@given(st.lists(st.sampled_from(SPANNING), min_size=1, max_size=4), st.integers(32, 80))
def test_markup_that_spans_a_cut_is_closed_and_opened_again(kinds: list[Kind], limit: int) -> None:
    """Every letter is marked in its part as it is in the whole."""
    text = "\n\n".join(form.format(" ".join([letter] * 60)) for form, letter, _ in kinds)
    parts = split(text, limit=limit)
    assert len(parts) > 1
    for _, letter, tags in kinds:
        for part in parts:
            around = {open_tags for open_tags, run in iter_runs(sent(part)) if letter in run}
            assert around <= {tags}


@pytest.mark.parametrize("marks", ["```py", "~~~~py"])
def test_the_preview_of_a_text_that_ends_in_code_shows_no_backticks(marks: str) -> None:
    """Its mark is no part of the Markdown."""
    (part,) = split(f"{marks}\nx = 1\n{marks.removesuffix('py')}", " …")
    assert part.rendered == '<pre><code class="language-py">x = 1</code></pre> …'
    assert part.text == "x = 1 …"


def test_the_preview_of_a_long_text_has_room_for_its_mark() -> None:
    """Its first part is as long as a message, mark included."""
    assert [count_utf16_units(part.text) for part in split("a" * 5000, " …")] == [4096, 906]


def test_a_paragraph_ends_a_part_rather_than_a_line_or_a_word() -> None:
    """Cuts are made where a reader would make them."""
    assert texts("aaaa aaaa aaaa aaaa aaaa\n\nbb\ncc dd", 32) == [
        "aaaa aaaa aaaa aaaa aaaa",
        "bb\ncc dd",
    ]
    assert texts("aaaa aaaa aaaa aaaa aaaa\nbb ccccccc", 32)[1] == "bb ccccccc"
    assert texts("word " * 8, 32)[0] == "word word word word word word"


def test_a_surrogate_pair_is_never_cut() -> None:
    """4097 units with an emoji across the limit: the emoji goes to the next part whole (F52)."""
    assert texts("a" * 4095 + "👍") == ["a" * 4095, "👍"]
    assert texts("👍" * 2048) == ["👍" * 2048]
    assert [count_utf16_units(part) for part in texts("👍" * 2049)] == [4096, 2]


def test_a_list_that_renders_longer_than_its_source_is_cut_earlier() -> None:
    """Numbers that Markdown writes for the author count too, and go on after a cut."""
    parts = texts("1. a\n" * 819)
    assert all(count_utf16_units(part) <= 4096 for part in parts)
    assert "\n".join(parts).split("\n") == [f"{number}. a" for number in range(1, 820)]


def test_a_text_whose_addresses_are_long_is_one_message() -> None:
    """Telegram counts what is seen; if it refuses the markup, that is what is sent."""
    (part,) = split(f"[here](https://x.y/{'z' * 5000})")
    assert part.text == "here"
    assert part.rendered is not None
    assert part.rendered.startswith('<a href="https://x.y/zzz')


@pytest.mark.parametrize("blank", ["", " \n\t\n", "\u00a0", "```\n```"])
def test_blank_text_gives_no_part(blank: str) -> None:
    """Telegram refuses empty messages."""
    assert split(blank) == ()


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    """What UTF-8 cannot hold cannot be sent."""
    assert clean_text("a\ud83d\r\nb") == "a\ufffd\nb"


LINE = 'if (a[i] != b->c) { *p++ = "**[a](b)**" | <T>_x; } // `code`'


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "~~~~~"])
@pytest.mark.parametrize("indent", ["", "   "])
@pytest.mark.parametrize("repeated", [1, 66, 200])
def test_code_across_messages_stays_code(fence: str, indent: str, repeated: int) -> None:
    """Each message closes its block and opens it again with the language; no line is lost."""
    lines = [f"{fence} c", *[LINE] * repeated, fence]
    parts = split("\n".join(["1. Code:", *(indent + line for line in lines), "", "**Done.**"]))
    rendered = [to_html(part.text) if part.rendered is None else part.rendered for part in parts]
    assert all('<pre><code class="language-c">' in html for html in rendered)
    shown = "\n".join(map(extract_visible_text, rendered))
    assert list(filter(None, shown.split("\n"))) == ["1. Code:", *[LINE] * repeated, "Done."]
    assert rendered[-1].endswith("</pre>\n\n<b>Done.</b>")


def test_a_fence_in_longer_fences_is_code() -> None:
    """Models show Markdown so, over several messages, too."""
    inner = "```c\nint x;\n```\n**bold**\n" * 200
    parts = split(f"````markdown\n{inner}````")
    assert len(parts) > 1
    for part in parts:
        assert part.rendered == f'<pre><code class="language-markdown">{part.text}</code></pre>'


@pytest.mark.parametrize(
    "text",
    [
        "Open https://example.com/_next_/data/x and https://site.example/_config_.yml please",
        "(https://a.example/_x_(y)_z) and https://a.example/~~a~~/*b*/**c**/`d`?e=_f_&g=_h_",
        "ftp://a.example/_a_/b, http://[::1]/_a_/_b_/, www.a.example/_b_/*c*/d",
        "_ann_@a.example, first_last_@a.example, ann_b_c@a.example",
        "__init__.py, pkg/__init__.py, self.__dict__, x/_a_/b, snake_case_words, _a_.b",
        "src/**/*.py and tests/**/*.js",
    ],
)
def test_addresses_and_file_names_arrive_unchanged(text: str) -> None:
    """Marks in them are letters, in a sentence and within emphasis."""
    assert extract_visible_text(to_html(text)) == text
    assert to_html(f"**{text}**") == f"<b>{to_html(text)}</b>"
    assert not re.search("<[bis]>|<code>", to_html(text))


def test_addresses_in_links_arrive_unchanged() -> None:
    """As a target, as a label, and in angle brackets."""
    address = "https://a.example/_x_/*y*?c=%20d"
    link = f'<a href="{address}">{address}</a>'
    assert to_html(f"<{address}>") == link
    assert to_html(f"[{address}]({address})") == link


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("**https://a.example/b** c **d**", "<b>https://a.example/b</b> c <b>d</b>"),
        ("*https://a.example/b*, _c_.", "<i>https://a.example/b</i>, <i>c</i>."),
        ("(https://a.example/b)**c**", "(https://a.example/b)<b>c</b>"),
        ("**链接: https://a.example/b**\uff0c然后", "<b>链接: https://a.example/b</b>\uff0c然后"),
        (r"https://a.example/b\_c\_d", "https://a.example/b_c_d"),
        ("**Yes**/**No** (_c_) _d_: __e__!", "<b>Yes</b>/<b>No</b> (<i>c</i>) <i>d</i>: <b>e</b>!"),
    ],
)
def test_emphasis_beside_addresses_stays_emphasis(text: str, rendered: str) -> None:
    """An address ends where the formatting around it ends."""
    assert to_html(text) == rendered
