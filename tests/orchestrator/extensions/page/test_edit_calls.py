"""Tests of what the page says about the answers to edits."""

from pydantic import JsonValue

from orchestrator.config_problem import Problem
from orchestrator.control.editing import EditReport
from orchestrator.extensions.page.edit_calls import CONFLICT, explain_refusal

REPORT = EditReport(name="agents.json", text="{", base="")


def _answer(**changes: object) -> JsonValue:
    return REPORT.model_copy(update=changes).model_dump(mode="json", by_alias=True)


def test_refused_edit_is_explained() -> None:
    """A form that saved nothing does not look as if it was done."""
    problems = Problem("warning", "agents.json", 1, None, "w"), Problem("error", "a", 2, None, "no")
    found = explain_refusal(_answer(problems=problems))
    assert found.startswith("Nothing was saved: ")
    assert found.endswith("no")
    assert explain_refusal(_answer(conflict=True)) == CONFLICT


def test_failed_trial_says_what_it_says() -> None:
    """The text of a trial explains what to do."""
    assert explain_refusal({"works": False, "saved": False, "text": "a wrong key"}) == "a wrong key"


def test_done_act_needs_no_words() -> None:
    """Acts that saved, or that save nothing, lead on."""
    answers: list[JsonValue] = [None, {}, [], "x", {"text": "x"}, _answer(saved=True)]
    assert not any(map(explain_refusal, answers))
