"""The profile: fields by path, every change kept, nothing that could not be read again."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from fakes.journal import opened
from fakes.memory import HOME, WORK
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from thinker.protocol.messages import JsonObject


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("", ()),
        ("name", ("name",)),
        ("persona.system_prompt", ("persona", "system_prompt")),
        ("pets[0].name", ("pets", 0, "name")),
        ("grid[1][22]", ("grid", 1, 22)),
        (" favourite colour . warm ", ("favourite colour", "warm")),
    ],
)
def test_path_is_read_as_keys(path: str, keys: tuple[str | int, ...]) -> None:
    """Names, list positions, both."""
    assert profile.parse_path(path) == keys


@pytest.mark.parametrize(
    "path", [".", "a..b", "a.", "[0]", "a[x]", "a[-1]", "a]b", "a[0]b", "x." * 16 + "x", "x" * 5000]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    """With an example, or the limit."""
    with pytest.raises(ProfileError, match=r"write one such as|at most (16|2000)"):
        profile.parse_path(path)


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ({}, "a.b.c", 1, {"a": {"b": {"c": 1}}}),
        ({}, "a[0].b", 1, {"a": [{"b": 1}]}),
        ({"a": [1, 2]}, "a[2]", 3, {"a": [1, 2, 3]}),
        ({"a": [1, 2, 3]}, "a[1]", None, {"a": [1, 3]}),
        ({"a": {"b": 1, "c": 2}}, "a.b", None, {"a": {"c": 2}}),
        ({"a": 1}, "b", None, {"a": 1}),
        ({"a": 1}, "a", {"x": [True]}, {"a": {"x": [True]}}),
    ],
)
def test_value_is_put_where_the_path_says(
    before: JsonObject, path: str, value: JsonValue, after: JsonObject
) -> None:
    """What is on the way is made; the profile that was given stays as it is."""
    copy = orjson.dumps(before)
    assert profile.set_value(before, profile.parse_path(path), value) == after
    assert orjson.dumps(before) == copy


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "path is empty"),
        ("name.first", "cannot be set in a plain value"),
        ("pets.first", "cannot be set in a list"),
        ("pets[3]", r"the next position is \[1\]"),
        ("persona[0]", "cannot be set in an object"),
    ],
)
def test_what_stands_in_the_way_is_told(path: str, message: str) -> None:
    """Nothing is overwritten by guess."""
    now: JsonObject = {"name": "Ann", "pets": ["cat"], "persona": {"x": 1}}
    with pytest.raises(ProfileError, match=message):
        profile.set_value(now, profile.parse_path(path), 1)


@given(
    st.lists(st.from_regex(r"[a-z]{1,3}", fullmatch=True), min_size=1, max_size=4), st.integers()
)
def test_what_was_set_is_looked_up(names: list[str], value: int) -> None:
    """By the same path; and it is gone once it is removed."""
    keys = profile.parse_path(".".join(names))
    changed = profile.set_value({}, keys, value)
    assert profile.get_value(changed, keys) == value
    assert profile.get_value(profile.set_value(changed, keys, None), keys) is None


def test_every_change_is_kept_with_its_source(db: Database) -> None:
    """Newest first; agents have their own."""
    profile.update_profile(db, WORK, "name", "Ann", "turn t1", 1)
    profile.update_profile(db, WORK, "name", "Anna", "turn t2", 2)
    profile.update_profile(db, WORK, "name", None, "turn t3", 3)
    assert profile.load_profile(db, WORK) == {}
    assert profile.load_profile(db, HOME) == {}
    rows = [
        (c.path, c.before, c.after, c.source, c.at)
        for c in profile.list_profile_changes(db, WORK, 9)
    ]
    assert rows == [
        ("name", '"Anna"', None, "turn t3", 3),
        ("name", '"Ann"', '"Anna"', "turn t2", 2),
        ("name", None, '"Ann"', "turn t1", 1),
    ]
    assert profile.list_profile_changes(db, HOME, 9) == []


def nested(depth: int) -> JsonValue:
    """A list in a list in a list."""
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("wifi.password", "hunter2", "looks like a password"),
        ("bank", {"card": "4111 1111 1111 1111"}, "looks like a card number"),
        ("x", "y" * 70_000, "at most 64 KiB"),
        ("a.b.c", nested(300), "nested too deep"),
        ("a.b.c", nested(199), "nested too deep"),
        ("x", "\ud800", "nested too deep, or not valid text"),
    ],
)
def test_value_that_cannot_be_kept_changes_nothing(
    db: Database, path: str, value: JsonValue, message: str
) -> None:
    """Secrets, too much, too deep: a profile must be readable in every turn."""
    with pytest.raises(ProfileError, match=message):
        profile.update_profile(db, WORK, path, value, "turn t1", 1)
    assert profile.load_profile(db, WORK) == {}
    assert profile.list_profile_changes(db, WORK, 9) == []


@pytest.mark.parametrize(
    ("value", "prompt"),
    [
        ({"system_prompt": "Be brief."}, "Be brief."),
        ({"system_prompt": "  "}, None),
        ({"system_prompt": 5}, None),
        ("x", None),
        (None, None),
    ],
)
def test_profile_prompt_is_taken_only_when_it_says_something(
    db: Database, value: JsonValue, prompt: str | None
) -> None:
    """Anything else leaves the base prompt as it is."""
    profile.update_profile(db, WORK, "persona", value, "turn t1", 1)
    assert profile.find_system_prompt(db, WORK) == prompt


def test_prompt_may_speak_of_passwords(db: Database) -> None:
    """It is an instruction, not a memory."""
    text = "Never ask for it. Password: not your business."
    profile.update_profile(db, WORK, "persona.system_prompt", text, "turn t1", 1)
    assert profile.find_system_prompt(db, WORK) == text


def test_field_that_others_wrote_is_theirs_until_the_user_writes_it(db: Database) -> None:
    """Whatever holds it, or is held by it, has their origin."""
    profile.update_profile(db, WORK, "persona.system_prompt", "Obey.", "turn t1", 1, "web")
    profile.update_profile(db, WORK, "pets[0]", "cat", "turn t1", 1, "tool")
    profile.update_profile(db, WORK, "pets[1]", "dog", "turn t2", 1)
    assert profile.load_value_origin(db, WORK, ()) == "web"
    assert profile.load_value_origin(db, WORK, ("persona", "system_prompt")) == "web"
    assert profile.load_value_origin(db, WORK, ("pets", 1)) == "user"
    profile.update_profile(db, WORK, "persona", {"system_prompt": "Be kind."}, "turn t3", 1)
    assert profile.load_value_origin(db, WORK, ("persona", "system_prompt")) == "user"
    profile.update_profile(db, WORK, "pets[0]", None, "turn t4", 1)
    assert profile.load_value_origin(db, WORK, ("pets", 0)) == "tool"  # the list has moved up
