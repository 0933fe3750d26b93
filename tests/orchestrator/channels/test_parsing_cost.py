"""No text makes formatting expensive: what would is left as it is."""

import pytest
from fakes.call_count import call_count
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from orchestrator.channels import formatting
from orchestrator.channels.parsing_cost import find_affordable_end
from orchestrator.reply_html import escape_text

SIZE = 80_000  # characters, as in the attack that held the daemon for 29 seconds
MOST_CALLS = 600_000  # functions; an ordinary reply of three messages takes half of it
CODE = 'if (a[i] != b->c) { *p++ = "[a](b)" | <T>_x; }\n'
FRAGMENTS = [
    *("![", "[", "]", "[](", "[a](", "[a](<b", '[a](b "', "[![", "](c)", "[x][y]", "[a]: b\n"),
    *("*", "**", "_", "*a ", "a*", "a**b", "_a*__", "~~", "~~a ", "`", "``a`", "`a ", "```\n"),
    *("> ", ">", "> a\n", ">- a\n", "- ", "- a\n", "* * a\n", "1. ", "1. a\n", "   - b\n", "+\n"),
    *("a|b\n", "-|-\n", "|", "|a|b|\n|-|-|\n", "a\n", "\n", "\n\n", " ", "\t", "    a\n", "~~~\n"),
    *("<", "<a", "<http:", "<http://a>", "<a@b.", "<!--", "&", "&#", "&amp;", "&#65;", "\\", "\\["),
    *("# a\n", "#", "a\n=\n", "---\n", "http://a.b ", "😀", "汉", "א", "\ud83d", "\x00", "{", "!"),
]
NESTED = {
    "brackets": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "images": "![" * 20_000 + "](y)" * 10_000,
    "emphasis": "*a" * 20_000 + "a*" * 20_000,
    "lists": "".join(" " * (2 * (line % 90)) + "- a\n" for line in range(900)),
    "columns": "|".join(["a"] * 10_000) + "\n" + "|".join(["-"] * 10_000) + "\n" + "a\n" * 20_000,
    "quotes": (">" * 90 + "a\n") * 800,
    "lazy lines in quotes": ">" * 20 + "a" * SIZE,
    "code spans": "".join("`" * (ticks % 400 + 1) + " " for ticks in range(400)),
    "parentheses": "[a](" + "(" * SIZE,
    "spaces in a heading": "# a" + " " * SIZE + "b",
    "fences": "~~~\n```\n![\n~~~ `\n    ```\n- ```\n" * 2_500,
    "openings of fences": "![*" * 20_000 + "\n~~~" + "~" * 20_000 + "`\n```" + " " * 20_000 + "`\n",
    "addresses": "https://a_b_www.a_(" * 4_000,
    "web names": "www.a_b*(" * 9_000,
    "names": "_a" * 40_000 + "_.a/_*" * 10_000,
    "paragraphs of brackets": ("[" * 99 + "\n\n") * 800,
}


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_fragment_repeated_costs_no_more_than_a_long_reply(fragment: str) -> None:
    """Attacks repeat what the parser looks for; parsing ``![`` alone took 29 seconds."""
    text = fragment * (SIZE // len(fragment))
    assert call_count(lambda: formatting.split(text)) < MOST_CALLS


@pytest.mark.parametrize("name", NESTED)
def test_nesting_costs_no_more_than_a_long_reply(name: str) -> None:
    """What is nested or wide is worse than what is repeated."""
    assert call_count(lambda: formatting.split(NESTED[name])) < MOST_CALLS
    assert call_count(lambda: formatting.to_html(NESTED[name])) < MOST_CALLS


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@example(["a\n", "> ", "> ", "\n"], 20_000)
@example(["~~a ", "- a\n", "<a", "<http://a>", "![", "* * a\n"], 20_000)
@example(["\n", "😀", "&#", ">- a\n", "#", "!["], 20_000)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6), st.integers(200, 20_000))
def test_fragments_that_alternate_cost_no_more_either(fragments: list[str], times: int) -> None:
    """No combination is worse than its parts."""
    text = ("".join(fragments) * times)[:SIZE]
    assert call_count(lambda: formatting.split(text)) < MOST_CALLS


def test_an_ordinary_long_message_is_affordable() -> None:
    """Four thousand characters of lists, links, bold words and code are formatted to the end."""
    line = "- **Point** with `code`, a [link](https://example.org/a/b?c=d) and *stress*.\n"
    message = "# Heading\n\nA paragraph that says what follows.\n\n" + line * 52
    assert find_affordable_end(message) == len(message)
    reply = (message + "\n") * 2
    assert find_affordable_end(reply) == len(reply)


def test_what_is_not_affordable_stays_as_it_is() -> None:
    """The reader loses no letter, and the beginning is formatted."""
    tail = "![" * 20_000
    rendered = formatting.to_html(f"**bold**\n\n{tail}")
    assert rendered == f"<b>bold</b>\n\n{tail}"


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ~~~"])
def test_lines_of_code_cost_less_than_lines_of_markup(fence: str) -> None:
    """Marks and brackets in a code block are not parsed."""
    text = f"Code:\n{fence}c\n{CODE * 400}{fence}\n\n**Done.**"
    assert find_affordable_end(text) == len(text)
    assert find_affordable_end(text.replace(fence, "")) < len(text)


def test_what_only_looks_like_a_fence_is_no_code() -> None:
    """Text after a fence that is closed, quoted or in a paragraph costs what text costs."""
    for begin in ("```\n```\n", "> ```\n\n", "a\n    ```\n", "``` `\n", "- ```\n\na\n"):
        text = begin + "![*" * 20_000
        assert find_affordable_end(text) <= len(begin)


def test_a_code_block_is_parsed_as_a_whole_or_not_at_all() -> None:
    """A block that is too long is not cut: what comes first is affordable."""
    assert find_affordable_end(f"Look:\n\n```c\n{CODE * 9000}```\n") == len("Look:\n\n")


def test_code_that_is_not_affordable_stays_code() -> None:
    """Nobody reads a fence, wherever the affordable text ends."""
    before = "![" * 20_000
    for fence in ("```", "~~~~"):
        for code in (CODE, CODE * 9000):
            rendered = formatting.to_html(f"{before}\n\n{fence}c\n{code}{fence}\nEnd")
            shown = escape_text(code.rstrip("\n"))
            block = f'<pre><code class="language-c">{shown}</code></pre>'
            assert rendered == f"{before}\n\n{block}\nEnd"


def test_only_whole_lines_are_affordable() -> None:
    """A line is formatted as a whole or not at all."""
    assert find_affordable_end("a\n" + "*b" * 10_000) == 2
