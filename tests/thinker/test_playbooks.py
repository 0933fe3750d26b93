"""Matching of playbooks; recorded cases are in tests/vectors."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.formats.skill_file import MAX_KEYWORD, MAX_KEYWORDS, parse_skill
from thinker.playbooks import (
    MAX_MATCHED_CHARACTERS,
    Matcher,
    Playbook,
    build_playbook,
    list_required_tools,
    parse_record,
)


def matched(text: str, *keywords: str) -> bool:
    """Return whether the text matches a playbook with these keywords."""
    return bool(Matcher([Playbook("p", "", "i", keywords)]).match(text))


@pytest.mark.parametrize(
    ("text", "keyword", "expected"),
    [
        ("I write c++ daily", "c++", True),
        ("visit asp.net today", ".net", True),
        ("emails are piling up", "email", False),
        ("file_name", "file", False),
        ("my file-name", "file", True),
        ("profile, then file", "file", True),
        ("unread email address", "email address", True),
        ("größer", "gr", False),
        ("ÜBER uns", "über", True),
        ("查看邮件吧", "邮件", True),
        ("今日のmailを見て", "mail", True),
        ("", "x", False),
    ],
)
def test_keyword_stands_alone_where_words_have_boundaries(
    text: str, keyword: str, *, expected: bool
) -> None:
    """In every alphabet with spaces; scripts without spaces have no boundaries."""
    assert matched(text, keyword) is expected


def test_overlapping_keywords_are_all_found() -> None:
    """A match inside another one, or without its boundary, hides nothing."""
    books = [Playbook(name, "", "i", (name,)) for name in ("email", "check email", "email from")]
    names = {playbook.name for playbook in Matcher(books).match("xemail, check email from Ann")}
    assert names == {"email", "check email", "email from"}


def test_keyword_of_two_playbooks_calls_for_both_in_order_given() -> None:
    """Equal priorities keep their order; a playbook appears once however often it matches."""
    books = [Playbook(name, "", "i", ("mail", "post")) for name in ("b", "a")]
    assert [playbook.name for playbook in Matcher(books).match("mail post mail")] == ["b", "a"]


def test_no_playbooks_match_nothing() -> None:
    """An agent without playbooks needs no special case."""
    assert Matcher(()).match("anything") == ()


words = st.text(alphabet="ab+_é ", min_size=1, max_size=4)


@given(st.text(alphabet="ab+_é ", max_size=20), st.lists(words, max_size=6))
def test_one_pass_finds_what_one_search_per_keyword_finds(text: str, keywords: list[str]) -> None:
    """The automaton is only faster."""

    def found(keyword: str) -> bool:
        if re.match(r"\w", keyword) and re.search(r"\w\Z", keyword):
            return re.search(rf"\b{re.escape(keyword)}\b", text) is not None
        return keyword in text

    books = [Playbook(str(n), "", "i", (keyword,)) for n, keyword in enumerate(keywords)]
    names = [playbook.name for playbook in Matcher(books).match(text)]
    assert names == [str(n) for n, keyword in enumerate(keywords) if found(keyword)]


def test_skill_with_keywords_becomes_a_playbook() -> None:
    """With all fields that matching and the prompt need."""
    skill = parse_skill(
        "---\nname: a\ndescription: d\nmetadata:\n  keywords: [X]\n  priority: 3\n"
        "  required_tools: [t]\n---\nDo it.",
        "a",
    )
    assert build_playbook(skill) == Playbook("a", "d", "Do it.", ("x",), 3, ("t",), "file")


def test_required_tools_name_the_first_playbook_that_needs_them() -> None:
    """A warning about a missing tool can name it."""
    first = Playbook("a", "", "i", (), required_tools=("x", "y"))
    second = Playbook("b", "", "i", (), required_tools=("y", "z"))
    assert list_required_tools((first, second)) == {"x": "a", "y": "a", "z": "b"}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"id": 1, "name": "a", "instructions": "", "trigger_config": {"keywords": ["k"]}},
        {"id": 1, "name": "a", "instructions": "i", "trigger_config": {"keywords": "k"}},
        {"id": 1, "name": "a", "instructions": "i", "trigger_config": {"keywords": [1]}},
        {"id": 0, "name": "a", "instructions": "i", "trigger_config": {"keywords": ["k"]}},
    ],
)
def test_incomplete_record_is_no_playbook(record: dict[str, object]) -> None:
    """A row of another shape is skipped without an exception."""
    assert parse_record(record) is None  # type: ignore[arg-type]  # rows of any shape on purpose


def test_record_is_read_as_leniently_as_a_file() -> None:
    """Non-text keywords are dropped, a priority that is not a number counts as 0."""
    playbook = parse_record(
        {
            "id": 1,
            "name": "tea",
            "instructions": "Boil.",
            "trigger_config": {"keywords": ["Tea", 5], "priority": "7"},
            "required_tools": None,
        }
    )
    assert playbook is not None
    assert (playbook.keywords, playbook.priority, playbook.required_tools) == (("tea",), 0, ())


def test_record_has_as_few_keywords_as_a_file_may_have() -> None:
    """What a model stored must not slow down every message."""
    keywords: list[JsonValue] = ["k" * 1000] * 1000
    playbook = parse_record(
        {"id": 1, "name": "a", "instructions": "i", "trigger_config": {"keywords": keywords}}
    )
    assert playbook is not None
    assert playbook.keywords == ("k" * MAX_KEYWORD,) * MAX_KEYWORDS


def test_only_the_beginning_of_a_long_message_is_searched() -> None:
    """Keywords that begin alike find each place as often as there are of them."""
    assert matched("x" * (MAX_MATCHED_CHARACTERS - 2) + " k", "k")
    assert not matched("x" * (MAX_MATCHED_CHARACTERS - 1) + " k", "k")
