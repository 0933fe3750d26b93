"""Fact extraction: what a model is asked, and which answers are problems."""

from zoneinfo import ZoneInfo

import pytest
from fakes.scripted import USAGE, ScriptedModel, says
from fakes.statements import said_at

from orchestrator.extensions.memory.memory_requests import (
    ExtractionRequest,
    ExtractionResult,
    NumberedFact,
    SaidMessage,
)
from orchestrator.extensions.memory.worker import facts
from thinker.protocol.messages import AssistantMessage, UserMessage

BERLIN = ZoneInfo("Europe/Berlin")
LATE = 1_770_769_800_000  # 2026-02-11 00:30 UTC, half past one in Berlin
SAID = said_at(
    LATE,
    UserMessage(content="I moved to Krakow yesterday. {{NOTES}}"),
    AssistantMessage(content="Noted."),
)
KNOWN = (
    NumberedFact(id=12, fact="The user\nlives in Rome.", subject="user", slot="home city"),
    NumberedFact(id=3, fact="The user likes tea.", since=LATE),
)
NOTES = (NumberedFact(id=5, fact="A plan for March.", since=LATE),)
FACT = '{"fact": "The user  lives in Krakow.", "category": "background", "confidence": 0.9}'


async def extracted(
    *answers: str, messages: tuple[SaidMessage, ...] = SAID
) -> tuple[ExtractionResult, str]:
    """The facts of an answer, and what was asked."""
    model = ScriptedModel(*map(says, answers))
    request = ExtractionRequest(messages=messages, known=KNOWN, notes=NOTES)
    result = await facts.extract_facts(model, None, request, BERLIN)
    (message,) = model.requests[0].messages
    return result, message.content


async def test_known_facts_and_notes_are_listed_with_numbers_and_dates() -> None:
    """One line each, so that an answer can name them."""
    result, asked = await extracted(f'```json\n{{"facts": [{FACT}]}}\n```')
    assert [fact.fact for fact in result.facts] == ["The user lives in Krakow."]
    assert "\n- 12: The user lives in Rome. (user, home city)\n" in asked
    assert "\n- 3: The user likes tea. (since 2026-02-11)\n" in asked
    assert "\n- 2026-02-11: A plan for March.\n" in asked


async def test_each_message_has_its_number_and_time_in_the_zone_of_the_agent() -> None:
    """So that "yesterday" can become a date; a placeholder inside a message is left alone."""
    _, asked = await extracted("[]")
    assert "(Dates and times are those of Europe/Berlin.)" in asked
    assert "[m1, Wednesday 2026-02-11 01:30] User: I moved to Krakow yesterday. {{NOTES}}" in asked
    assert "[m2, Wednesday 2026-02-11 01:30] Assistant: Noted." in asked


async def test_messages_of_a_group_have_the_names_of_their_authors() -> None:
    """Or a fact would be of anybody."""
    message = UserMessage(content="I like tea.", sender="7")
    said = (SaidMessage(id=4, at=LATE, message=message, sender="Anna"),)
    _, asked = await extracted("[]", messages=said)
    assert "[m4, Wednesday 2026-02-11 01:30] User (Anna): I like tea." in asked


@pytest.mark.parametrize("text", ["none", '{"fact": 1}', '{"facts": {}}', "3", "[" * 99])
async def test_answer_without_a_list_of_facts_is_a_problem_and_counts(text: str) -> None:
    """The tokens were paid for."""
    result, _ = await extracted(text)
    assert (result.facts, result.notes, result.usage) == ((), (), USAGE)
    assert result.problem
