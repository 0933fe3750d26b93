"""Turns that are kept as tests, on the page."""

from pathlib import Path

from fakes.page import page_bench
from fakes.screens import html, request
from fakes.trials import RUN, SETS, ended_with_prompt
from pydantic import BaseModel, JsonValue

from orchestrator.control import trials
from orchestrator.control.trials import SavedSets
from orchestrator.extensions.page.reads.triable_turns import NewestResult
from orchestrator.extensions.page.screens import saved_sets
from orchestrator.journal.turns import turns
from thinker.protocol.peer import FAILED, RpcError


def test_sets_show_their_checks_and_how_they_did() -> None:
    """With the way to try them all; texts of others do nothing."""
    page = html(saved_sets.render_sets(request(), SETS, {"t1": NewestResult(4, RUN)}).content)
    assert "<script" not in page
    assert "same calls" in page
    assert "/trials/4?turn=t1&amp;nth=1" in page
    assert "not met" in page
    assert "/try?on=set%3Adaily" in page
    assert "/act/sets/remove" in page


def test_set_that_was_never_tried_says_so() -> None:
    """And who may change nothing has no button."""
    page = html(saved_sets.render_sets(request("viewer"), SETS, {}).content)
    assert "not yet" in page
    assert "/act/" not in page
    none = html(saved_sets.render_sets(request(), SavedSets(turns=()), {}).content)
    assert "No turn is kept as a test yet." in none


async def test_turn_becomes_a_test(tmp_path: Path) -> None:
    """In a set that is named, with checks as lines; what is wrong stands at its field."""
    async with page_bench(tmp_path) as bench:
        await bench.store.transact(turns.boot, 0)
        await bench.store.transact(ended_with_prompt)

        async def list_sets(params: JsonValue) -> BaseModel:
            del params
            return SETS

        async def add(params: JsonValue) -> BaseModel:
            saved = trials.SavedTurn.model_validate(params)
            if "nonsense" in saved.checks:
                raise RpcError(FAILED, "line 2 of the checks: 'nonsense' is no check")
            return saved

        bench.answers |= {trials.SETS_LIST: list_sets, trials.SETS_ADD: add}
        person = await bench.login()
        asked = (await person.get("/turns/t1/test")).text
        assert "same calls" in asked
        assert "One of daily, or a new name." in asked
        wrong = await person.post("/turns/t1/test", {"set": "My Set", "checks": "same calls"})
        assert "Use lower-case letters" in wrong.text
        fields = {"set": "weekly", "checks": "same calls\r\nnonsense"}
        refused = await person.post("/turns/t1/test", fields)
        assert "line 2 of the checks" in refused.text
        assert "nonsense</textarea>" in refused.text
        fields = {"set": "weekly", "checks": "says: /x/", "once": "form-0002"}
        done = await person.post("/turns/t1/test", fields)
        assert done.headers["location"] == "/sets#set-weekly"
        assert "Turn not found" in (await person.get("/turns/t9/test")).text
