"""An answer held against the calls that the model has read."""

from fakes.scripted import call, spec, turn_run

from orchestrator.extensions.receipts.judging.languages import load_languages
from orchestrator.extensions.receipts.worker.extension import ReceiptsWorker
from orchestrator.extensions.receipts.worker.transcript_judge import TranscriptJudge
from orchestrator.journal.turns.steps import UNKNOWN_OUTCOME
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage

SENT = "I've sent the mail."
ASKED = UserMessage(content="send it")
TOOLS = (spec("send_mail"),)


def made(*results: ToolResult, call_id: str = "c") -> tuple[Message, ...]:
    """A call with its results."""
    return (AssistantMessage(content="", tool_calls=(call(call_id, "send_mail"),)), *results)


def result(content: str = "ok", *, call_id: str = "c", is_error: bool = False) -> ToolResult:
    """How the call ended."""
    return ToolResult(call_id=call_id, name="send_mail", content=content, is_error=is_error)


def told(*messages: Message, text: str = SENT) -> str:
    """What the model is told about its answer."""
    return TranscriptJudge().find_false_claims(text, messages, TOOLS)


def test_claim_that_a_call_shows_may_stand() -> None:
    """Of this turn or of an earlier one."""
    assert told(ASKED, *made(result())) == ""
    assert told(*made(result()), AssistantMessage(content="done"), ASKED) == ""


def test_false_claim_is_told_with_its_reason() -> None:
    """As JSON, so that the sentence cannot pass for anything else."""
    text = told(ASKED)
    assert '- "I\'ve sent the mail.": no mail was sent in this conversation' in text


def test_failed_call_shows_nothing_and_an_unknown_one_is_left_alone() -> None:
    """The model is not asked to repeat what may have happened."""
    assert told(ASKED, *made(result("refused", is_error=True)))
    assert told(ASKED, *made(result(UNKNOWN_OUTCOME, is_error=True))) == ""


def test_call_without_a_result_is_not_done_yet() -> None:
    """As in a conversation that was cut."""
    assert told(ASKED, *made())


def test_ids_may_repeat_in_later_responses() -> None:
    """Each response has its own results."""
    failed = made(result("no", is_error=True))
    assert told(ASKED, *failed, *made(result())) == ""
    assert told(ASKED, *failed, AssistantMessage(content="again"), result("late"))


def test_only_agents_that_want_it_are_judged() -> None:
    """Others only have marks."""
    extension, turn = ReceiptsWorker(), turn_run()
    found = {
        mode: extension.build_answer_judge(ThinkerSettings(receipts=mode), turn)
        for mode in ("on", "mark", "off")
    }
    assert [found[mode] is not None for mode in ("on", "mark", "off")] == [True, False, False]


def test_tables_are_read_for_agents_that_want_it_alone() -> None:
    """Before the jail closes: the process that forks all workers has none."""
    extension = ReceiptsWorker()
    load_languages.cache_clear()
    extension.prepare_worker(ThinkerSettings(receipts="mark"))
    assert load_languages.cache_info().currsize == 0
    extension.prepare_worker(ThinkerSettings(receipts="on"))
    assert load_languages.cache_info().currsize == 1
