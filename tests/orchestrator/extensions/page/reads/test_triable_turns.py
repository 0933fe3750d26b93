"""Turns that can be tried again."""

from pathlib import Path

import orjson
from fakes.journal import booted, job, open_turn
from fakes.trials import RUN, ended_with_prompt

from orchestrator.extensions.page.reads import triable_turns
from orchestrator.extensions.page.reads.triable_turns import NO_PROMPT


def test_turn_is_found_with_its_prompt_and_models(tmp_path: Path) -> None:
    """One that never asked a model has neither."""
    with booted(tmp_path) as db:
        ended_with_prompt(db)
        found = triable_turns.find_triable_turn(db, "t1")
        assert found is not None
        assert found.prompt.tools == ("send_mail", "web_search")
        assert found.models == ["demo/demo"]
        assert triable_turns.find_triable_turn(db, "t9") is None


def test_turn_without_prompt_is_found_as_such(tmp_path: Path) -> None:
    """So the page can say that it cannot be tried."""
    with booted(tmp_path) as db:
        open_turn(db)
        found = triable_turns.find_triable_turn(db, "t1")
        assert found is not None
        assert found.prompt == NO_PROMPT


def test_last_turns_are_those_with_a_prompt_that_have_ended(tmp_path: Path) -> None:
    """Newest first, of one agent, and of one skill if that is asked for."""
    with booted(tmp_path) as db:
        ended_with_prompt(db, "t1")
        ended_with_prompt(db, "t2")
        assert triable_turns.list_last_turns(db, "work", 10) == ["t2", "t1"]
        assert triable_turns.list_last_turns(db, "work", 1) == ["t2"]
        assert triable_turns.list_last_turns(db, "home", 10) == []
        assert triable_turns.list_last_turns(db, "work", 10, "plan") == ["t2", "t1"]
        assert triable_turns.list_last_turns(db, "work", 10, "pla") == []
        assert triable_turns.find_last_agent(db, "plan") == "work"
        assert triable_turns.find_last_agent(db, "other") == ""


def test_newest_test_of_a_turn_says_how_it_did(tmp_path: Path) -> None:
    """Trials that were no tests do not count."""
    with booted(tmp_path) as db:
        open_turn(db)
        with job(db):
            for number, kind in enumerate(("test", "test", "replay"), start=1):
                db.execute(
                    "INSERT INTO trial(id, kind, agent_id, change, by_user, state, made_at)"
                    " VALUES(?,?,'work','{}','ann','done',1)",
                    (number, kind),
                )
                body = orjson.dumps({"tried": RUN.model_dump(mode="json", by_alias=True)}).decode()
                db.execute(
                    "INSERT INTO trial_turn(trial_id, turn_id, nth, state, result)"
                    " VALUES(?,'t1',1,'done',?)",
                    (number, body),
                )
        found = triable_turns.load_test_results(db, ["t1", "t2"])
        assert {turn: one.trial for turn, one in found.items()} == {"t1": 2}
        assert found["t1"].turn == RUN
