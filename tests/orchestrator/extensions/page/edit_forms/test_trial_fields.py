"""The fields of the form that asks for a trial."""

from orchestrator.control.trials import MAX_TIMES
from orchestrator.extensions.page.edit_forms.trial_fields import (
    MAX_TEXTS,
    compute_request_digest,
    read_trial_fields,
)
from thinker.protocol.messages import LayerRecord
from thinker.protocol.prompt_record import PromptRecord

RECORDED = PromptRecord(
    layers=(LayerRecord(name="base", text="one\r\ntwo"),), tools=("send_mail", "wiki")
)


def test_an_empty_form_changes_nothing() -> None:
    """It means the turn itself, once, and stops where no result is recorded."""
    found = read_trial_fields({}, RECORDED)
    assert found.build_trial_request(["t1"]).change.model_dump(exclude_defaults=True) == {}
    assert (found.on, found.times, found.unrecorded) == ("turn", 1, "stop")
    assert found.problems == {}


def test_only_an_edited_part_of_the_prompt_counts() -> None:
    """Browsers send line ends in their own way."""
    same = read_trial_fields({"layer:base": "one\ntwo"}, RECORDED)
    assert same.change.layers == {}
    other = read_trial_fields({"layer:base": "one\r\nthree"}, RECORDED)
    assert other.change.layers == {"base": "one\nthree"}


def test_only_an_offered_tool_is_taken_away() -> None:
    """Whatever the form names beside."""
    found = read_trial_fields({"without:wiki": "1", "without:other": "1"}, RECORDED)
    assert found.change.remove_tools == ("wiki",)


def test_too_much_is_cut_or_told() -> None:
    """More texts than a trial may have, more runs, and what is no number."""
    posted = {f"file:skills/{number}/SKILL.md": "x" for number in range(MAX_TEXTS + 5)}
    assert len(read_trial_fields(posted, RECORDED).change.files) == MAX_TEXTS
    wrong = {"times": str(MAX_TIMES + 1), "limit_usd": "-1", "limit_tokens": "1e9", "count": "٣x"}
    assert set(read_trial_fields(wrong, RECORDED).problems) == set(wrong)


def test_estimate_is_the_same_whatever_the_limit() -> None:
    """But not after a change of what is tried."""
    plain, limited, other = (
        compute_request_digest(read_trial_fields(posted, RECORDED).build_trial_request(["t1"]))
        for posted in ({}, {"limit_usd": "0.05", "confirmed": "groq"}, {"effort": "low"})
    )
    assert plain == limited != other


def test_test_of_a_set_is_named_after_it() -> None:
    """So that it is judged by the checks of that set."""
    found = read_trial_fields({"on": "set:daily"}, RECORDED).build_trial_request(["t1"])
    assert (found.kind, found.note) == ("test", "set daily")
