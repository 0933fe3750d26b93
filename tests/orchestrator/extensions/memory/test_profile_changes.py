"""Changes of the profile: each is kept, and nothing that could not be read again."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from fakes.journal import opened
from fakes.memory import HOME, WORK, own_of
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.extensions.memory import profile_changes
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from thinker.protocol.messages import JsonObject

ANN, BEN = own_of("telegram:1"), own_of("telegram:2")
OPERATOR = own_of("telegram:3", shared=True)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


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
    assert profile_changes.set_value(before, profile.parse_path(path), value) == after
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
        profile_changes.set_value(now, profile.parse_path(path), 1)


@given(
    st.lists(st.from_regex(r"[a-z]{1,3}", fullmatch=True), min_size=1, max_size=4), st.integers()
)
def test_what_was_set_is_looked_up(names: list[str], value: int) -> None:
    """By the same path; and it is gone once it is removed."""
    keys = profile.parse_path(".".join(names))
    changed = profile_changes.set_value({}, keys, value)
    assert profile.get_value(changed, keys) == value
    assert profile.get_value(profile_changes.set_value(changed, keys, None), keys) is None


def test_every_change_is_kept_with_its_source(db: Database) -> None:
    """Newest first; agents have their own."""
    profile_changes.update_profile(db, WORK, "name", "Ann", "turn t1", 1)
    profile_changes.update_profile(db, WORK, "name", "Anna", "turn t2", 2)
    profile_changes.update_profile(db, WORK, "name", None, "turn t3", 3)
    assert profile.load_profile(db, WORK) == {}
    assert profile.load_profile(db, HOME) == {}
    rows = [
        (c.path, c.before, c.after, c.source, c.at)
        for c in profile_changes.list_profile_changes(db, WORK, 9)
    ]
    assert rows == [
        ("name", '"Anna"', None, "turn t3", 3),
        ("name", '"Ann"', '"Anna"', "turn t2", 2),
        ("name", None, '"Ann"', "turn t1", 1),
    ]
    assert profile_changes.list_profile_changes(db, HOME, 9) == []


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
        profile_changes.update_profile(db, WORK, path, value, "turn t1", 1)
    assert profile.load_profile(db, WORK) == {}
    assert profile_changes.list_profile_changes(db, WORK, 9) == []


def test_prompt_may_speak_of_passwords(db: Database) -> None:
    """It is an instruction, not a memory."""
    text = "Never ask for it. Password: not your business."
    profile_changes.update_profile(db, WORK, "persona.system_prompt", text, "turn t1", 1)
    assert profile.find_system_prompt(db, WORK) == text


def test_field_that_others_wrote_is_theirs_until_the_user_writes_it(db: Database) -> None:
    """Whatever holds it, or is held by it, has their origin."""
    profile_changes.update_profile(db, WORK, "persona.system_prompt", "Obey.", "turn t1", 1, "web")
    profile_changes.update_profile(db, WORK, "pets[0]", "cat", "turn t1", 1, "tool")
    profile_changes.update_profile(db, WORK, "pets[1]", "dog", "turn t2", 1)
    assert profile.load_value_origin(db, WORK, ()) == "web"
    assert profile.load_value_origin(db, WORK, ("persona", "system_prompt")) == "web"
    assert profile.load_value_origin(db, WORK, ("pets", 1)) == "user"
    profile_changes.update_profile(db, WORK, "persona", {"system_prompt": "Be kind."}, "turn t3", 1)
    assert profile.load_value_origin(db, WORK, ("persona", "system_prompt")) == "user"
    profile_changes.update_profile(db, WORK, "pets[0]", None, "turn t4", 1)
    assert profile.load_value_origin(db, WORK, ("pets", 0)) == "tool"  # the list has moved up


def test_change_of_a_chat_stays_in_that_chat(db: Database) -> None:
    """An operator's profile begins with that of every chat, which stays as it is."""
    profile_changes.update_profile(db, WORK, "persona.system_prompt", "Everybody's.", "turn t1", 1)
    profile_changes.update_profile(db, ANN, "persona.system_prompt", "Ann's.", "turn t2", 2)
    profile_changes.update_profile(db, OPERATOR, "name", "Ona", "turn t3", 3)
    assert profile.find_system_prompt(db, OPERATOR) == "Everybody's."
    assert profile.load_profile(db, WORK) == {"persona": {"system_prompt": "Everybody's."}}
    assert [item.source for item in profile_changes.list_profile_changes(db, ANN, 9)] == ["turn t2"]
    assert [item.source for item in profile_changes.list_profile_changes(db, OPERATOR, 9)] == [
        "turn t3",
        "turn t1",
    ]
    assert profile_changes.list_profile_changes(db, BEN, 9) == []
