"""The profile: fields by path, each with the origin of its words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import WORK, insert_profile
from pydantic import JsonValue

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from thinker.protocol.messages import JsonObject

PETS: JsonObject = {"name": "Ann", "pets": ["cat", "dog"]}


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
    insert_profile(db, WORK, {"persona": value})
    assert profile.find_system_prompt(db, WORK) == prompt


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ((), PETS),
        (("pets", 1), "dog"),
        (("pets", 2), None),
        (("pets", "x"), None),
        (("name", "first"), None),
        (("else",), None),
    ],
)
def test_value_is_looked_up_by_its_keys(keys: tuple[str | int, ...], value: JsonValue) -> None:
    """What is not there is no value."""
    assert profile.get_value(PETS, keys) == value


def test_what_holds_words_of_others_or_is_held_by_them_has_their_origin(db: Database) -> None:
    """The rest is the user's."""
    insert_profile(db, WORK, PETS, {"persona.system_prompt": "web", "pets[0]": "tool"})
    assert profile.load_value_origin(db, WORK, ()) == "web"
    assert profile.load_value_origin(db, WORK, ("persona", "system_prompt", 0)) == "web"
    assert profile.load_value_origin(db, WORK, ("pets",)) == "tool"
    assert profile.load_value_origin(db, WORK, ("pets", 1)) == "user"
