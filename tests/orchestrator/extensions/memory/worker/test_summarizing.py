"""Compaction: conversation, template and answer."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fakes.scripted import NAME, USAGE, ScriptedModel, call, says
from fakes.small_environment import ROOT
from fakes.statements import said_at

from orchestrator.extensions.memory.memory_requests import (
    CompactionRequest,
    CompactionResult,
    ExtractionRequest,
)
from orchestrator.extensions.memory.worker import compaction, facts, summarizing
from thinker.models.base import ModelResponse
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage
from thinker.protocol.token_counts import estimate_tokens
from thinker.worker_errors import RetryableModelError

UTC = ZoneInfo("UTC")
WEDNESDAY = 1_770_769_800_000  # 2026-02-11 00:30 UTC
MESSAGES: tuple[Message, ...] = (
    UserMessage(content="I live in Krakow. {{SUMMARY}}"),
    AssistantMessage(tool_calls=(call("c1", "look", place="Krakow"),)),
    ToolResult(call_id="c1", name="look", content="x" * 600),
    AssistantMessage(content="Noted."),
)
SAID = said_at(WEDNESDAY, *MESSAGES)


async def compacted(
    model: ScriptedModel, path: Path | None = None, zone: str = "UTC"
) -> CompactionResult:
    """A summary of what was said, with one before it."""
    request = CompactionRequest(messages=SAID, summary="They met.")
    return await compaction.compact_session(model, path, request, ZoneInfo(zone))


def asked(model: ScriptedModel) -> str:
    """The one message that a model was sent, without a system prompt and tools."""
    (request,) = model.requests
    assert (request.system, request.tools) == ("", ())
    (message,) = request.messages
    assert isinstance(message, UserMessage)
    return message.content


async def test_summary_is_made_from_the_one_before_and_the_messages_with_their_tools() -> None:
    """A tool's result is cut; a placeholder inside a message is left alone."""
    model = ScriptedModel(says(" They live in Krakow. "))
    answer = await compacted(model)
    assert answer == CompactionResult(summary="They live in Krakow.", model=NAME, usage=USAGE)
    prompt = asked(model)
    assert "Summary of what came before:\nThey met.\n" in prompt
    assert prompt.endswith(
        "(Dates and times are those of UTC.)\n\n"
        "[Wednesday 2026-02-11 00:30] User: I live in Krakow. {{SUMMARY}}\n\n"
        '[Wednesday 2026-02-11 00:30] Assistant called look {"place":"Krakow"}\n\n'
        f"Tool look: {'x' * 500} […]\n\n"
        "[Wednesday 2026-02-11 00:30] Assistant: Noted."
    )


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("Pacific/Kiritimati", "Wednesday 2026-02-11 14:30"),
        ("Pacific/Pago_Pago", "Tuesday 2026-02-10 13:30"),
    ],
)
async def test_summary_counts_days_in_the_zone_of_the_agent(zone: str, time: str) -> None:
    """Half an hour after midnight in Greenwich is yesterday for half of the world."""
    model = ScriptedModel(says("ok"))
    await compacted(model, None, zone)
    assert f"(Dates and times are those of {zone}.)\n\n[{time}] User: I live" in asked(model)


@pytest.mark.parametrize(
    "response", [says("  "), says("They li", finish="length"), says("No.", finish="refused")]
)
async def test_answer_that_is_no_summary_is_a_problem_and_counts(response: ModelResponse) -> None:
    """Half a summary would lose the rest."""
    answer = await compacted(ScriptedModel(response))
    assert (answer.summary, answer.usage) == ("", USAGE)
    assert answer.problem


LONG = "\n\n".join(["x" * 999] * 82)  # 82 kB, as a model once answered


async def test_summary_that_is_too_long_is_asked_for_again_with_the_limit() -> None:
    """Every turn would send it; both calls count."""
    model = ScriptedModel(says(LONG), says("They live in Krakow."))
    answer = await compacted(model)
    assert (answer.summary, answer.usage) == ("They live in Krakow.", USAGE + USAGE)
    *_, first, second = model.requests[1].messages
    assert isinstance(first, AssistantMessage)
    assert first.content == LONG
    assert isinstance(second, UserMessage)
    assert "about 20520 tokens; at most 2000 are allowed" in second.content


@pytest.mark.parametrize(
    "second", [says(LONG), says(" "), says("They li", finish="length")], ids=("long", "none", "cut")
)
async def test_summary_that_stays_too_long_is_cut_at_a_paragraph_and_says_so(
    second: ModelResponse,
) -> None:
    """Most of it is better than none, and than a bill that grows with every turn."""
    answer = await compacted(ScriptedModel(says(LONG), second))
    kept, _, note = answer.summary.rpartition("\n\n")
    assert (kept, note) == (LONG[: 7 * 1001 - 2], compaction.CUT)
    assert estimate_tokens(len(answer.summary)) <= compaction.SUMMARY_TOKENS


@pytest.mark.parametrize(
    ("text", "kept"),
    [("y" * 9000, 7938), ("word " * 2000, 7934), ("a\n\n" + "word " * 2000, 7937)],
    ids=("no boundary", "words", "paragraph too early"),
)
def test_text_is_cut_where_the_least_is_lost(text: str, kept: int) -> None:
    """A boundary in the first half would lose too much."""
    cut = compaction.cut_to_tokens(text, compaction.SUMMARY_TOKENS)
    assert cut == f"{text[:kept]}\n\n{compaction.CUT}"


async def test_template_is_the_users_own_if_it_can_be_used(tmp_path: Path) -> None:
    """A missing file, or one without the placeholder, is replaced by the built-in text."""
    path = tmp_path / "compaction.md"
    for text, used in (
        (None, False),
        ("Sum up {{SUMMARY}}", False),
        ("Sum up {{SUMMARY}} and {{CONVERSATION}} {{OTHER}}\n", True),
    ):
        if text is not None:
            path.write_text(text, "utf-8")
        model = ScriptedModel(says("ok"))
        await compacted(model, path)
        assert asked(model).startswith("Sum up They met. and (Dates and times") is used
        assert asked(model).endswith("Noted. {{OTHER}}") is used


async def test_bundled_templates_are_complete() -> None:
    """Every placeholder of the files that ship is filled."""
    model = ScriptedModel(says("ok"), says("[]"))
    await compacted(model, ROOT / "prompts" / "compaction.md")
    await facts.extract_facts(
        model,
        ROOT / "prompts" / "fact-extraction.md",
        ExtractionRequest(messages=SAID[3:]),
        UTC,
    )
    for request in model.requests:
        (message,) = request.messages
        assert message.content.startswith("You ")
        assert "{{" not in message.content.replace(MESSAGES[0].content, "")
        assert "Assistant: Noted." in message.content


async def test_model_error_comes_through() -> None:
    """Without an answer nothing is counted."""
    with pytest.raises(RetryableModelError):
        await compacted(ScriptedModel(RetryableModelError("503")))


def test_long_messages_are_cut() -> None:
    """One message cannot fill the whole request."""
    said = said_at(WEDNESDAY, UserMessage(content="y" * 9000))
    text = summarizing.format_conversation(said, UTC, numbered=False)
    assert text == f"[Wednesday 2026-02-11 00:30] User: {'y' * 8000} […]"
