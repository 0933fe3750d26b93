"""Compaction and fact extraction: conversation, template and answer."""

import json
from pathlib import Path

import pytest
from fakes.scripted import NAME, USAGE, ScriptedModel, call, says

from orchestrator.extensions.memory.memory_requests import (
    CompactionRequest,
    CompactionResult,
    ExtractionRequest,
    ExtractionResult,
)
from orchestrator.extensions.memory.worker import compaction, facts, summarizing
from thinker.models.base import ModelResponse
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage
from thinker.protocol.token_counts import estimate_tokens
from thinker.worker_errors import RetryableModelError

SAID: tuple[Message, ...] = (
    UserMessage(content="I live in Krakow. {{SUMMARY}}"),
    AssistantMessage(tool_calls=(call("c1", "look", place="Krakow"),)),
    ToolResult(call_id="c1", name="look", content="x" * 600),
    AssistantMessage(content="Noted."),
)
FACT = '{"fact": "The user  lives in Krakow.", "category": "background", "confidence": 0.9}'


async def compacted(model: ScriptedModel, path: Path | None = None) -> CompactionResult:
    """A summary of what was said, with one before it."""
    return await compaction.compact_session(
        model, path, CompactionRequest(messages=SAID, summary="They met.")
    )


async def extracted(answer: str) -> ExtractionResult:
    """The facts of an answer."""
    request = ExtractionRequest(messages=SAID, known=("The user\nis Ann.",))
    return await facts.extract_facts(ScriptedModel(says(answer)), None, request)


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
        "User: I live in Krakow. {{SUMMARY}}\n\n"
        'Assistant called look {"place":"Krakow"}\n\n'
        f"Tool look: {'x' * 500} […]\n\n"
        "Assistant: Noted."
    )


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
        assert asked(model).startswith("Sum up They met. and User: I live") is used
        assert asked(model).endswith("Noted. {{OTHER}}") is used


async def test_bundled_templates_are_complete() -> None:
    """Every placeholder of the files that ship is filled."""
    folder = Path(__file__).parents[2] / "prompts"
    model = ScriptedModel(says("ok"), says("[]"))
    await compacted(model, folder / "compaction.md")
    await facts.extract_facts(
        model, folder / "fact-extraction.md", ExtractionRequest(messages=SAID[3:])
    )
    for request in model.requests:
        (message,) = request.messages
        assert "{{" not in message.content.replace(SAID[0].content, "")
        assert "Assistant: Noted." in message.content


async def test_facts_come_with_what_is_known_listed() -> None:
    """One line each."""
    model = ScriptedModel(says(f'```json\n{{"facts": [{FACT}]}}\n```'))
    request = ExtractionRequest(messages=SAID, known=("The user\nis Ann.",))
    answer = await facts.extract_facts(model, None, request)
    assert [fact.fact for fact in answer.facts] == ["The user lives in Krakow."]
    assert "DO NOT extract these again:\n- The user is Ann.\n" in asked(model)
    assert "User: I live in Krakow. {{SUMMARY}}\n\nAssistant: Noted." in asked(model)


async def test_only_well_formed_and_certain_facts_are_kept_each_once() -> None:
    """Other list items are skipped; five facts at most."""
    broken = [
        '{"fact": "x"}',
        '"y"',
        FACT.replace("background", "gossip"),
        FACT.replace("0.9", "7"),
    ]
    unsure = FACT.replace("0.9", "0.69")
    many = [FACT.replace("Krakow", f"city {n}") for n in range(9)]
    answer = await extracted(f"[{', '.join([*broken, unsure, FACT, FACT, *many])}]")
    assert [fact.fact[18:] for fact in answer.facts] == [
        "Krakow.",
        *(f"city {n}." for n in range(4)),
    ]


@pytest.mark.parametrize("text", ["none", '{"fact": 1}', '{"facts": {}}', "3"])
async def test_answer_without_a_list_of_facts_is_a_problem_and_counts(text: str) -> None:
    """The tokens were paid for."""
    answer = await extracted(text)
    assert (answer.facts, answer.usage) == ((), USAGE)
    assert answer.problem


async def test_model_error_comes_through() -> None:
    """Without an answer nothing is counted."""
    with pytest.raises(RetryableModelError):
        await compacted(ScriptedModel(RetryableModelError("503")))


def test_long_messages_are_cut() -> None:
    """One message cannot fill the whole request."""
    text = summarizing.format_conversation([UserMessage(content="y" * 9000)])
    assert text == f"User: {'y' * 8000} […]"


@pytest.mark.parametrize(
    ("confidence", "kept"), [(0.69, False), (0.7, True), (0.75, True), (1, True)]
)
async def test_fact_is_kept_from_a_confidence_of_seven_tenths_on(
    confidence: float, *, kept: bool
) -> None:
    """The number of the seed, which counts as confident enough itself."""
    fact = {"fact": "The user is Ann.", "category": "background", "confidence": confidence}
    found = await extracted(json.dumps({"facts": [fact]}))
    assert [one.fact for one in found.facts] == ["The user is Ann."] * kept
