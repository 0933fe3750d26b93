"""Turns are read from the journal as they were sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.journal import job, open_turn, opened, step
from fakes.replayed import LOOK, PROMPT

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.workbench import recorded_turns
from orchestrator.extensions.workbench.recorded_turns import find_turn_id, load_recorded_turn
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions, steps, turns, usage
from orchestrator.journal.turns.prompt_records import PromptSources
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.protocol.messages import (
    AssistantMessage,
    JsonObject,
    SideEffect,
    ToolResult,
    Usage,
    UserMessage,
)
from thinker.protocol.prompt_record import PromptRecord

SETTINGS: JsonObject = {"llm_provider": "openai", "turn": {"stream": True}, "playbooks": {}}
CLASSES = {"look": SideEffect.PURE}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with an open turn."""
    with opened(tmp_path) as db, job(db):
        turns.boot(db, 0)
        open_turn(db)
        yield db


def committed(
    db: Database,
    *tools: str,
    at: int,
    prompt: PromptRecord | None = None,
    content: str = "",
    **sources: Any,
) -> None:
    """T3 of a response, with the prompt of its process if it is the first one."""
    attempts = (
        CallAttempt(model="m", began=0, ended=1, status=500, digest="first"),
        CallAttempt(model="m", began=1, ended=3, digest=f"digest {at}", left_out=("seed",)),
    )
    commit = step("t1", *tools, content=content).model_copy(
        update={
            "prompt": prompt,
            "usage": Usage(prompt=at, completion=1),
            "timing": CallTiming(began=at, ended=at + 5, attempts=attempts, sent=9),
        }
    )
    found = PromptSources(tools=(LOOK,), agent_id="work", **sources)
    done = steps.plan(db, commit, CLASSES, 1, at, found)
    used = Usage(prompt=at, completion=1)
    usage.settle_call(db, "work", "t1", "m", used, 0.5, at, done.seq)
    for seq in done.call_seqs:
        call = steps.find_call(db, "t1", seq)
        assert call is not None
        steps.mark_intent(db, "t1", seq, 1, at)
        result = ToolResult(call_id=call.call_id, name=call.name, content="sunny")
        steps.finish(db, call, result, at)


def ended(db: Database) -> None:
    """End the turn without an answer to send."""
    turns.end_with_reply(db, turns.load_turn(db, "t1"), [], "direct", ("done", None), 100)


def test_turn_is_read_with_its_requests_and_their_prompts(db: Database) -> None:
    """A second process has its own; a request belongs to the newest before it."""
    committed(db, "look", at=10, prompt=PROMPT, settings=SETTINGS)
    committed(db, "look", "mail", at=20)
    later: JsonObject = {**SETTINGS, "model": "other"}
    committed(db, at=30, prompt=PROMPT, settings=later, content="Hi.")
    ended(db)
    found = load_recorded_turn(db, "t1")
    assert found.impossible == ""
    assert [request.part for request in found.requests] == [0, 0, 1]
    assert [request.place for request in found.requests] == [0, 1, 2]
    assert [part.settings for part in found.parts] == [SETTINGS, later]
    assert found.parts[0].tools == (LOOK,)
    assert found.parts[0].record.layers == PROMPT.layers
    first = found.requests[0]
    assert (first.digest, first.left_out, first.ms, first.usd) == ("digest 10", ("seed",), 5, 0.5)
    assert first.usage == Usage(prompt=10, completion=1)
    effects = [(call.name, call.effect) for call in found.calls]
    assert effects == [("look", False), ("look", False), ("mail", True)]
    assert all(call.result is not None for call in found.calls)
    assert (found.question, found.answer, found.usd) == ("hello", "Hi.", 1.5)


def test_history_is_that_of_the_window_and_not_what_came_later(db: Database) -> None:
    """If one of its ends is gone, the turn cannot be replayed."""
    session = turns.load_turn(db, "t1").session_id
    for text in ("one", "two", "three"):
        sessions.append_messages(db, session, "t0", [UserMessage(content=text)], 1)
    ids = [int(one) for (one,) in db.execute("SELECT id FROM message ORDER BY id")]
    window = ids[0], ids[1]
    committed(db, at=10, prompt=PROMPT, settings=SETTINGS, window=window, content="Hi.")
    ended(db)
    (part,) = load_recorded_turn(db, "t1").parts
    assert [one.content for one in part.history] == ["one", "two"]
    db.execute("DELETE FROM message WHERE id = ?", (ids[0],))
    assert load_recorded_turn(db, "t1").impossible == recorded_turns.NO_MESSAGES


def test_history_goes_on_from_another_session(db: Database) -> None:
    """With that one's messages up to the point where this one began."""
    session = turns.load_turn(db, "t1").session_id
    parent = int(
        db.execute(
            "INSERT INTO session(agent_id, chat_key, started_at) VALUES('work','other',0)"
            " RETURNING id"
        ).get
    )
    for owner, text in ((parent, "one"), (parent, "not this"), (session, "two")):
        sessions.append_messages(db, owner, "t0", [AssistantMessage(content=text)], 1)
    ids = [int(one) for (one,) in db.execute("SELECT id FROM message ORDER BY id")]
    db.execute(
        "UPDATE session SET parent_id = ?, parent_upto = ? WHERE id = ?", (parent, ids[0], session)
    )
    window = ids[0], ids[2]
    committed(db, at=10, prompt=PROMPT, settings=SETTINGS, window=window, content="Hi.")
    ended(db)
    (part,) = load_recorded_turn(db, "t1").parts
    assert [one.content for one in part.history] == ["one", "two"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (None, recorded_turns.UNCOMPARED),
        ({**SETTINGS, "allow_hooks": True, "hooks": ["mine"]}, recorded_turns.HOOKED),
        ({**SETTINGS, "allow_hooks": True}, ""),
        ({**SETTINGS, "hooks": ["mine"]}, ""),
    ],
)
def test_turn_that_cannot_be_replayed_says_why(
    db: Database, settings: JsonObject | None, reason: str
) -> None:
    """Hooks matter where they may run."""
    committed(db, at=10, prompt=PROMPT, settings=settings, content="Hi.")
    assert load_recorded_turn(db, "t1").impossible == recorded_turns.OPEN_TURN
    ended(db)
    assert load_recorded_turn(db, "t1").impossible == reason


def test_hooks_of_a_prompt_definition_count_as_well(db: Database) -> None:
    """They replace those of the agent."""
    definition: JsonObject = {"name": "a", "definitions": {"a": {"hooks": ["mine"]}}}
    settings: JsonObject = {**SETTINGS, "allow_hooks": True}
    more = {"settings": settings, "definition": definition}
    committed(db, at=10, prompt=PROMPT, content="Hi.", **more)
    ended(db)
    assert load_recorded_turn(db, "t1").impossible == recorded_turns.HOOKED


def test_turn_without_a_model_has_nothing_to_replay(db: Database) -> None:
    """Such as one that was stopped at once."""
    ended(db)
    assert load_recorded_turn(db, "t1").impossible == recorded_turns.NO_CALL


def test_turn_is_found_by_the_end_of_its_id(db: Database) -> None:
    """One that there is not is refused."""
    assert find_turn_id(db, "1") == "t1"
    with pytest.raises(UnknownNameError, match="ends with '9'"):
        find_turn_id(db, "9")
