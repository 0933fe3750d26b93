"""Calls and their results are read by people, and may come from anyone."""

import json
import re

import pytest
from fakes.screens import html
from hypothesis import given
from hypothesis.strategies import (
    booleans,
    dictionaries,
    floats,
    integers,
    lists,
    none,
    recursive,
    text,
)
from pydantic import JsonValue

from orchestrator.extensions.page.html.argument_rows import (
    MAX_ROWS,
    MAX_TEXT,
    find_result_text,
    render_arguments,
    render_result,
    summarize_arguments,
)
from thinker.protocol.messages import ToolSpec

MAIL = {
    "body": "Dear Bob,\n\nthe offer is attached.\n" + "Best wishes " * 10,
    "subject": "The offer",
    "to": "bob@example.org",
}
ANY = recursive(
    none() | booleans() | integers() | floats(allow_nan=False) | text(max_size=30),
    lambda inner: lists(inner, max_size=4) | dictionaries(text(max_size=10), inner, max_size=4),
)
TAGS = re.compile(
    r"</?(?:dl|dt|dd|div|ol|li|span|p|ins|del)"
    r'(?: title="[^"<>]*")?(?: class="[a-z -]+")?(?: role="group" aria-label="Differences")?>'
)


def test_recipient_stands_first_and_text_last_with_its_lines() -> None:
    """Whatever the order of the journal is."""
    shown = html(render_arguments(json.dumps(MAIL)))
    assert shown.index("bob@example.org") < shown.index("The offer") < shown.index("Dear Bob")
    assert '<dd class="first">bob@example.org</dd>' in shown
    assert "Dear Bob,\n\nthe offer" in shown
    assert "\\n" not in shown


def test_edit_is_shown_as_a_difference() -> None:
    """Lines that stay are neither removed nor added."""
    edit = {"path": "/a.txt", "old_string": "one\ntwo", "new_string": "one\nthree"}
    shown = html(render_arguments(json.dumps(edit)))
    assert "<del>- two</del>" in shown
    assert "<ins>+ three</ins>" in shown
    assert "<span>  one</span>" in shown
    assert "old_string" not in shown


def test_nested_values_are_nested_rows() -> None:
    """Short lists stay on their line, and what is empty says so."""
    value = {"to": ["a", "b"], "options": {"urgent": True, "note": ""}, "items": [{"sku": 1}]}
    shown = html(render_arguments(json.dumps(value)))
    assert ">a, b</dd>" in shown
    assert '<dt>urgent</dt><dd>yes</dd><dt>note</dt><dd><span class="soft">empty' in shown
    assert "<dt>sku</dt><dd>1</dd>" in shown


def test_names_are_explained_by_their_tool() -> None:
    """A pointer shows the description of an argument."""
    fields: JsonValue = {"properties": {"to": {"description": "Who gets it"}, "x": 1}}
    spec = ToolSpec(name="mail", description="", parameters=fields)
    assert '<dt title="Who gets it">to</dt>' in html(render_arguments('{"to":"b"}', spec))


@pytest.mark.parametrize("given", ["", "[1]", '{"a":"cut o', "not json"])
def test_what_is_no_object_is_shown_as_it_is(given: str) -> None:
    """Nothing that a model wrote is hidden."""
    assert html(render_arguments(given)) in (
        f'<div class="text">{given.replace(chr(34), "&#34;")}</div>',
        '<div class="text"></div>',
    )


def test_call_without_arguments_says_so() -> None:
    """An empty box would look like a fault."""
    assert "No details." in html(render_arguments("{}"))


def test_cut_values_are_marked() -> None:
    """Texts and lists alike."""
    assert f"the first {MAX_TEXT:,} of {MAX_TEXT + 9:,}" in html(
        render_arguments(json.dumps({"a": "x" * (MAX_TEXT + 9)}))
    )
    assert f"the first {MAX_ROWS} of 999 entries" in html(
        render_arguments(json.dumps({"a": list(range(999))}))
    )


def test_deep_values_end_as_json() -> None:
    """A thousand levels are no thousand boxes."""
    for levels in (100, 900, 2000):
        shown = html(render_arguments('{"a":' * levels + "1" + "}" * levels))
        assert shown.count("<dl") < 10
        assert "1}" in shown


@given(dictionaries(text(max_size=10), ANY, max_size=5))
def test_only_harmless_tags_come_out(value: dict[str, JsonValue]) -> None:
    """Of any arguments and any result."""
    given = json.dumps(value)
    for node in (render_arguments(given), render_result(given)):
        assert "<" not in TAGS.sub("", html(node))


def test_result_is_the_text_that_the_model_read() -> None:
    """Without the envelope of the journal and without terminal codes."""
    stored = json.dumps(
        {"role": "tool", "call_id": "c", "content": "\x1b[31mred\nline"}, separators=(",", ":")
    )
    assert html(render_result(stored)) == '<div class="text">red\nline</div>'


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 20])
def test_cut_result_is_text_too(cut: int) -> None:
    """A long one is cut in the middle of its JSON."""
    stored = json.dumps({"role": "tool", "content": "a\n" * 9 + "é\u4e00"}, separators=(",", ":"))
    assert find_result_text(stored[:-cut]).startswith("a\na\n")


def test_result_that_is_json_is_rows() -> None:
    """Tools often answer with an object."""
    stored = json.dumps({"content": '{"temperature": 21, "city": "Lisbon"}'})
    assert "<dt>city</dt><dd>Lisbon</dd>" in html(render_result(stored))


def test_summary_names_the_first_arguments() -> None:
    """In the order of the rows, on one line."""
    assert summarize_arguments(json.dumps(MAIL)).startswith("bob@example.org · The offer · Dear")
    assert summarize_arguments("{}") == ""
