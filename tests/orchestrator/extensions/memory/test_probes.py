"""Questions for a trial of the search, made of what people said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, opened
from fakes.said import DAY, FIRST, SAID, store_conversations

from orchestrator.extensions.memory import probes
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import Message, UserMessage

LATER = FIRST + 100 * DAY


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which a person has said a dozen things."""
    with opened(tmp_path) as connection:
        store_conversations(connection, "telegram:7")
        yield connection


def test_ten_messages_become_questions_of_fewer_words(db: Database) -> None:
    """The same ones each time; each word of a question is of its message."""
    picked = probes.pick_probes(db, None, None, LATER, 10)
    assert picked == probes.pick_probes(db, None, None, LATER, 10)
    assert len(picked) == 10
    said = [probe.expected for probe in picked]
    assert [message.at for message in said if message] == sorted(m.at for m in said if m)
    for probe in picked:
        assert probe.expected is not None
        words = probe.question.split()
        assert 3 <= len(words) <= 6
        assert all(word in probe.expected.text.lower() for word in words)
        assert len(words) < len(probe.expected.text.split()) - 2


def test_rarer_words_of_a_message_are_left_out(tmp_path: Path) -> None:
    """As people forget just those."""
    texts = [f"Our garden shed needs paint and hinges, said carpenter {name}." for name in "abcdef"]
    with opened(tmp_path) as db:
        store_conversations(db, "telegram:7", [*texts, f"{texts[0]} Zanzibar quagga"])
        found = probes.pick_probes(db, None, None, LATER, 10)
    questions = {probe.question for probe in found}
    assert not any("zanzibar" in question or "quagga" in question for question in questions)


def test_what_was_said_within_a_day_is_not_asked(db: Database) -> None:
    """An agent still reads it in the conversation."""
    assert probes.pick_probes(db, None, None, FIRST + DAY, 10) == []
    assert len(probes.pick_probes(db, None, None, FIRST + DAY + 1, 10)) == 1


def test_agent_and_chat_can_be_chosen(db: Database) -> None:
    """Those that have said nothing give no question."""
    assert len(probes.pick_probes(db, "work", "telegram:7", LATER, 10)) == 10
    assert probes.pick_probes(db, "home", None, LATER, 10) == []
    assert probes.pick_probes(db, "work", "telegram:8", LATER, 10) == []


def test_short_long_foreign_and_repeated_messages_are_passed_over(tmp_path: Path) -> None:
    """Commands too; of a sitting there is one question."""
    said: list[Message] = [
        UserMessage(content="Thanks a lot"),
        UserMessage(content="/memory everything about walnut bread and rosemary"),
        UserMessage(content="word " * 200),
        UserMessage(content=SAID[1], origin="web"),
        UserMessage(content=SAID[2]),
        UserMessage(content=SAID[3]),
    ]
    with opened(tmp_path) as db:
        with job(db):
            session = sessions.open_session(db, "work", "c", FIRST)
            sessions.append_messages(db, session, "t", said, FIRST)
        found = probes.pick_probes(db, None, None, LATER, 10)
        assert [one.expected.text for one in found if one.expected] == [SAID[3]]


def test_scripts_without_spaces_give_questions(tmp_path: Path) -> None:
    """Of pairs of their characters."""
    text = "我昨天把旧自行车卖给了住在河边的木匠朋友"
    with opened(tmp_path) as db:
        store_conversations(db, "telegram:7", [text])
        (probe,) = probes.pick_probes(db, None, None, LATER, 10)
        assert all(pair in text for pair in probe.question.split())
