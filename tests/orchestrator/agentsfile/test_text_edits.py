"""A change of an agents.json as text: it is what was asked for, and nothing else moves."""

import json
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agentsfile.text_edits import remove_value, replace_value
from orchestrator.home_paths import find_bundled_path

BUNDLED = (find_bundled_path("config") / "agents.json").read_text("utf-8")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ('{ "a": 1 }', ("a",), 2, '{ "a": 2 }'),
        ('{ "a": 1 }', ("b",), "é", '{ "a": 1, "b": "é" }'),
        ("{}", ("a", "b"), 1, '{"a": { "b": 1 }}'),
        ('{"a": [ ]}', ("a", 0), 1, '{"a": [1]}'),
        ("{}", ("a", 0), 1, '{"a": [1]}'),
        ("[1,2]", (2,), {"a": [3]}, '[1,2, { "a": [3] }]'),
        ('{\n\t"a": "}"\n}\n', ("b",), None, '{\n\t"a": "}",\n\t"b": null\n}\n'),
    ],
)
def test_part_is_replaced_or_added_in_the_layout_around_it(
    text: str, path: tuple[str | int, ...], value: object, expected: str
) -> None:
    """Spaces, line breaks and order stay."""
    assert replace_value(text, path, value) == expected  # type: ignore[arg-type]


def test_every_line_but_the_changed_ones_stays() -> None:
    """Changes of one file follow each other."""
    edits = [
        (("agents", 0, "llmProvider"), "groq"),
        (("agents", 0, "model"), "m"),
        (("agents", 1), {"agentId": "b", "llmProvider": "demo"}),
        (("channels", "telegram", "allowlist"), ["1"]),
    ]
    after = reduce(lambda text, edit: replace_value(text, *edit), edits, BUNDLED)  # type: ignore[arg-type]
    kept = {line.strip(" ,") for line in BUNDLED.splitlines()}
    gone = kept - {line.strip(" ,") for line in after.splitlines()}
    assert gone == {'"llmProvider": "auto"', '"telegram": { "access": "pairing" }'}
    value = json.loads(after)
    assert [agent["agentId"] for agent in value["agents"]] == ["assistant", "b"]


@given(whole=st.dictionaries(st.text(), VALUES), name=st.text(), value=VALUES, indent=st.booleans())
def test_value_that_is_read_back_is_the_one_that_was_set(
    whole: dict[str, object], name: str, value: object, *, indent: bool
) -> None:
    """Whatever the text holds besides."""
    text = json.dumps(whole, indent=2 if indent else None)
    assert json.loads(replace_value(text, (name,), value)) == whole | {name: value}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{ "a": 1, "b": 2 }', ("a",), '{ "b": 2 }'),
        ('{ "a": 1, "b": 2 }', ("b",), '{ "a": 1 }'),
        ('{ "a": [1, 2, 3] }', ("a", 1), '{ "a": [1, 3] }'),
        ('{ "a": [ 1 ] }', ("a", 0), '{ "a": [] }'),
        ('{ "a": 1 }', ("b",), '{ "a": 1 }'),
        ('{ "a": 1 }', (), '{ "a": 1 }'),
    ],
)
def test_removed_part_leaves_the_rest_as_it_was(
    text: str, path: tuple[str | int, ...], expected: str
) -> None:
    """With its comma; what is not there stays away."""
    assert remove_value(text, path) == expected
