"""Markup is read as people see it, and written so that it can do no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels.formatting import to_html
from orchestrator.extensions.slack.slack_markup import (
    format_readable_text,
    list_mentioned_ids,
    render_mrkdwn,
    strip_mention,
)
from orchestrator.reply_html import escape_text

GAP = "\N{ZERO WIDTH SPACE}"


@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("**bold** and *italic* and ~~gone~~", "*bold* and _italic_ and ~gone~"),
        ("**bold *both* end**", "*bold* *_both_* *end*"),
        ("# Title\n\ntext", "*Title*\n\ntext"),
        ("**one\ntwo**", "*one*\n*two*"),
        ("un**believ**able", f"un{GAP}*believ*{GAP}able"),
        ("`a < b`", "`a &lt; b`"),
        ("`` a`b ``", "a`b"),
        ("```py\nif a & b:\n    c\n```", "```\nif a &amp; b:\n    c\n```"),
        ("> said\n> twice\n\nend", "> said\n> twice\n\nend"),
        ("- a\n- b", "• a\n• b"),
        ("[here](https://a.example/?q=1&r=2)", "<https://a.example/?q=1&amp;r=2|here>"),
        ("[**b** c](https://a.example/)", "<https://a.example/|b c>"),
        ("[a|b](https://a.example/x|y)", "<https://a.example/x%7Cy|a｜b>"),  # noqa: RUF001
        ("[mail](mailto:a@b.example)", "<mailto:a@b.example|mail>"),
        ("<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"),
        ("[<!here>](https://a.example/)", "<https://a.example/|&lt;!here&gt;>"),
    ],
)
def test_formatting_becomes_mrkdwn(markdown: str, written: str) -> None:
    """Through the HTML that channels are given."""
    assert render_mrkdwn(to_html(markdown)) == written


def test_an_address_of_another_scheme_is_no_link() -> None:
    """Even if it came this far."""
    assert render_mrkdwn('<a href="slack://open">x</a>') == "x"


def test_code_cannot_end_its_block() -> None:
    """Three backticks in it are kept apart."""
    assert render_mrkdwn("<pre>a\n```\nb</pre>") == f"```\na\n``{GAP}`\nb\n```"


def test_code_in_a_quote_is_text() -> None:
    """Slack has no block of code in a quote."""
    rendered = "<blockquote>so:\n\n<pre><code>x = 1\ny = 2</code></pre></blockquote>"
    assert render_mrkdwn(rendered) == "> so:\n> \n> x = 1\n> y = 2"


@given(st.text(alphabet="<>@!#|U1&;*_`~[]()ah:/. \n", max_size=60))
def test_only_links_have_angle_brackets(markdown: str) -> None:
    """So nothing that is written can mention a person, a channel or all."""
    for text in (render_mrkdwn(to_html(markdown)), escape_text(markdown)):
        for part in text.split("<")[1:]:
            assert part.startswith(("http://", "https://", "mailto:"))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("hello <@U1> and <@U2|cleo>", "hello @Ann and @cleo"),
        ("<#C1|general> <#C2>", "#general #C2"),
        ("<!here> <!subteam^S1|@team> <!subteam^S1>", "@here @team @subteam"),
        ("<!date^1^{date}|Monday>", "Monday"),
        ("<https://a.example/>", "https://a.example/"),
        ("<https://a.example/|a.example>", "a.example"),
        ("<https://evil.example|bank>", "bank (https://evil.example)"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("1 &lt; 2 &amp;&amp; &lt;@U1&gt;", "1 < 2 && <@U1>"),
        ("<>", ""),
    ],
)
def test_what_people_write_is_read_as_they_see_it(text: str, read: str) -> None:
    """Ids become names; where a link leads is said."""
    assert format_readable_text(text, {"U1": "Ann"}) == read


def test_a_mention_at_the_beginning_is_left_out() -> None:
    """The one person meant, once."""
    assert strip_mention(" <@U1>: <@U1> hello", "U1") == "<@U1> hello"
    assert strip_mention("<@U1|bot>, hello", "U1") == "hello"
    assert strip_mention("<@U12> hello", "U1") == "<@U12> hello"
    assert list_mentioned_ids("<@U1> and <@W2|x>, not &lt;@U3&gt;") == {"U1", "W2"}


@pytest.mark.parametrize(
    ("markdown", "sent"),
    [
        ("https://a.example/_next_/x.", "<https://a.example/_next_/x>."),
        ("**https://a.example/_a_/b** c", "*<https://a.example/_a_/b>* c"),
        ("`https://a.example/_a_/b`", "`https://a.example/_a_/b`"),
        ("https://a.example/?a&b", "https://a.example/?a&amp;b"),
    ],
)
def test_an_address_with_marks_in_it_is_a_link(markdown: str, sent: str) -> None:
    """Slack would show the words between the marks slanted, and lose the marks."""
    assert render_mrkdwn(to_html(markdown)) == sent
