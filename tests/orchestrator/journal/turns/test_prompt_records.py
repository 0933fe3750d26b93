"""What models were sent: kept with the first step, put back at the head of the message."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import CLASSES, open_turn, opened, step

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import prompt_records, sessions, steps, turns
from orchestrator.journal.turns.prompt_records import PromptSources
from thinker.protocol.messages import LayerRecord, ToolSpec, UserMessage
from thinker.protocol.prompt_record import PromptRecord

DATE = LayerRecord(name="date_time", text="noon", volatile=True)
BASE = LayerRecord(name="base", text="long" * 100)
PROMPT = PromptRecord(
    layers=(BASE, DATE, LayerRecord(name="chat", text="7")),
    tools=("look",),
    reasons={"look": "always"},
    layout="cached",
    stable="1",
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with an open turn."""
    with opened(tmp_path) as connection:
        open_turn(connection, "t1")
        yield connection


def test_first_prompt_of_a_turn_is_what_its_message_was_sent_with(db: Database) -> None:
    """Whatever a later process would have sent; the session keeps it."""
    assert prompt_records.find_context_layers(db, "t1") is None
    steps.plan(db, step("t1").model_copy(update={"prompt": PROMPT}), CLASSES, 1, 1)
    other = PROMPT.model_copy(update={"layers": ()})
    steps.plan(db, step("t1").model_copy(update={"prompt": other}), CLASSES, 1, 2)
    assert prompt_records.find_context_layers(db, "t1") == (DATE,)
    said = sessions.build_session_messages(db, "t1", sessions.load_transcript(db, "t1"), "")[0]
    assert isinstance(said, UserMessage)
    assert said.context == (DATE,)
    turn = turns.load_turn(db, "t1")
    assert prompt_records.list_offered_tools(db, turn.session_id, turn.started_at, "later") == (
        "look",
    )
    assert prompt_records.list_offered_tools(db, turn.session_id, turn.started_at, "t1") == ()


def test_what_a_prompt_was_made_of_is_kept_once(db: Database) -> None:
    """However many turns share it; a turn of an older version has none."""
    tools = (ToolSpec(name="look", description="Looks", parameters={}),)
    made_of = PromptSources({"name": "planner", "definitions": {}}, tools)
    commit = step("t1").model_copy(update={"prompt": PROMPT})
    for now in (1, 2):
        steps.plan(db, commit, CLASSES, 1, now)
    assert prompt_records.load_prompt_sources(db, "t1", 1) == PromptSources()
    for now in (3, 4):
        steps.plan(db, commit, CLASSES, 1, now, made_of)
        assert prompt_records.load_prompt_sources(db, "t1", now) == made_of
    assert db.execute("SELECT count(*) FROM prompt_part").get == 3


def test_prompt_has_the_messages_of_the_history_that_went_with_it(db: Database) -> None:
    """As later turns and summaries change what a chat's history is."""
    commit = step("t1").model_copy(update={"prompt": PROMPT})
    steps.plan(db, commit, CLASSES, 1, 1, PromptSources(window=(3, 9)))
    steps.plan(db, commit, CLASSES, 1, 2)
    assert prompt_records.find_history_window(db, "t1", 1) == (3, 9)
    assert prompt_records.find_history_window(db, "t1", 2) is None


def test_what_prompts_have_in_common_is_stored_once_and_read_with_each(db: Database) -> None:
    """The short layers and the volatile ones are the record's own."""
    noon, one = (PROMPT.model_copy(update={"best_score": score}) for score in (None, 0.5))
    for at, sent in ((1, noon), (2, one)):
        steps.plan(db, step("t1").model_copy(update={"prompt": sent}), CLASSES, 1, at)
    assert prompt_records.list_prompts_of_turn(db, "t1") == [(1, noon), (2, one)]
    assert db.execute("SELECT count(*) FROM prompt_part").get == 1
    assert db.execute("SELECT max(octet_length(body)) FROM turn_prompt").get < len(BASE.text)


def test_whole_record_of_an_older_version_is_read(db: Database) -> None:
    """Its row has nothing in common with others."""
    steps.plan(db, step("t1").model_copy(update={"prompt": PROMPT}), CLASSES, 1, 1)
    db.execute("UPDATE turn_prompt SET body = ?, common = NULL", (PROMPT.model_dump_json(),))
    assert prompt_records.list_prompts_of_turn(db, "t1") == [(1, PROMPT)]
    assert prompt_records.find_context_layers(db, "t1") == (DATE,)
