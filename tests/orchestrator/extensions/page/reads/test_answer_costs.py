"""What answers cost, and the tools that waiting calls are of."""

from pathlib import Path

from fakes.ended_turn import began, called
from fakes.journal import booted, job, open_turn, planned

from orchestrator.extensions.page.reads.answer_costs import (
    AnswerCost,
    find_called_tools,
    load_answer_costs,
)
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.turns import approvals, prompt_records
from orchestrator.journal.turns.prompt_records import PromptSources, SentPrompt
from thinker.protocol.messages import ToolSpec
from thinker.protocol.prompt_record import PromptRecord

PAY = ToolSpec(name="pay", description="Pay a bill", parameters={})
READ = ToolSpec(name="read", description="Read a page", parameters={})


def test_cost_of_an_answer_is_that_of_its_calls(tmp_path: Path) -> None:
    """Turns that asked no model have none."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        assert load_answer_costs(db, [turn.id]) == {}
        called(db, turn)
        found = AnswerCost("groq/qwen/qwen3-32b", 920, 0.25)
        assert load_answer_costs(db, [turn.id, "other"]) == {turn.id: found}


def test_tool_of_a_waiting_call_is_as_its_turn_was_offered_it(tmp_path: Path) -> None:
    """Only that one; of a turn without a recorded prompt nothing is known."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        (pay,) = planned(db, turn.id, "pay")
        with job(db):
            approvals.request_approval(db, pay, "because", "c0de", 0)
        asked = chat_history.list_open_questions(db, "code = ?", "c0de", 1)
        assert find_called_tools(db, asked) == {}
        with job(db):
            sent = SentPrompt(turn.id, 1, turn.session_id, 0)
            sources = PromptSources(tools=(PAY, READ))
            prompt_records.record_prompt(db, sent, PromptRecord(layers=(), stable=""), sources)
        assert find_called_tools(db, asked) == {(turn.id, "pay"): PAY}
        assert find_called_tools(db, ()) == {}
