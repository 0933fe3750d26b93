"""What models were sent: kept with the first step, put back at the head of the message."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.golden import FILES, restore
from fakes.journal import CLASSES, job, open_turn, opened, step

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.turns import handoffs, prompt_records, sessions, steps, turns
from orchestrator.journal.turns.prompt_records import PromptSources
from thinker.protocol.messages import JsonObject, LayerRecord, ToolSpec, UserMessage
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


def test_prompt_of_a_turn_that_is_handed_over_keeps_its_agent_and_settings(db: Database) -> None:
    """Each prompt was sent by an agent of its own, also after a handoff."""
    commit = step("t1").model_copy(update={"prompt": PROMPT})
    brief = PromptSources(settings={"max_steps": 2, "provenance": "on"}, agent_id="work")
    long = PromptSources(settings={"max_steps": 9, "provenance": "on"}, agent_id="home")
    steps.plan(db, commit, CLASSES, 1, 1, brief)
    with job(db):
        handoffs.hand_over_turn(db, "t1", "home", 2)
    steps.plan(db, commit, CLASSES, 1, 3, long)
    for at, sources in ((1, brief), (3, long)):
        found = prompt_records.load_prompt_sources(db, "t1", at)
        assert found.agent_id == sources.agent_id
        assert {**(found.settings or {}), **(sources.settings or {})} == found.settings


def test_settings_cost_one_part_until_they_are_edited(db: Database) -> None:
    """A part that no prompt has any more is deleted, one that is in use is not."""
    commit = step("t1").model_copy(update={"prompt": PROMPT})
    edits: tuple[JsonObject, ...] = ({"max_steps": 2}, {"max_steps": 2}, {"max_steps": 9})
    for now, settings in enumerate(edits, 1):
        steps.plan(db, commit, CLASSES, 1, now, PromptSources(settings=settings))
    assert db.execute("SELECT count(*) FROM prompt_part").get == 1 + 2
    db.execute("DELETE FROM turn_prompt WHERE at = 3")
    prompt_records.delete_unused_parts(db)
    assert db.execute("SELECT count(*) FROM prompt_part").get == 1 + 1
    kept = prompt_records.load_prompt_sources(db, "t1", 2).settings
    assert kept is not None
    assert kept["max_steps"] == edits[1]["max_steps"]
    assert prompt_records.list_prompts_of_turn(db, "t1")[0] == (1, PROMPT)


def test_keywords_of_skills_are_kept_once_for_all_choices_of_tools(db: Database) -> None:
    """With the settings, as both change with an edit alone."""
    offered = PROMPT.model_copy(update={"playbooks": {"travel": ("train", "flight")}})
    sent = [offered, offered.model_copy(update={"tools": ("look", "pay")})]
    for now, prompt in enumerate(sent, 1):
        commit = step("t1").model_copy(update={"prompt": prompt})
        steps.plan(db, commit, CLASSES, 1, now, PromptSources(settings={"max_steps": 2}))
    assert prompt_records.list_prompts_of_turn(db, "t1") == [*enumerate(sent, 1)]
    assert db.execute("SELECT count(*) FROM prompt_part WHERE body LIKE '%flight%'").get == 1
    assert db.execute("SELECT count(*) FROM turn_prompt WHERE body LIKE '%flight%'").get == 0


@pytest.mark.parametrize("golden", FILES, ids=lambda path: str(path.stem))
def test_prompt_of_an_older_version_has_no_settings(golden: Path, tmp_path: Path) -> None:
    """What it was sent by is unknown, and is not made up."""
    restore(tmp_path / "journal.db", golden)
    old = open_database(tmp_path / "journal.db")
    found = list(old.execute("SELECT turn_id, at FROM turn_prompt"))
    assert found
    for turn_id, at in found:
        known = prompt_records.load_prompt_sources(old, turn_id, at)
        assert (known.settings, known.agent_id) == (None, None)
        assert at in dict(prompt_records.list_prompts_of_turn(old, turn_id))
    old.close()
