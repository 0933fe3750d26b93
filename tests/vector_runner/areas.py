"""All areas of vectors; add new ones here."""

from collections.abc import Mapping

from vector_runner import (
    answers,
    configuration,
    conversation,
    costs,
    layered_prompt,
    memory,
    playbooks,
    prompt_definitions,
    schedules,
    slots,
    tool_call_text,
    tools,
)
from vector_runner.area import Area

AREAS: Mapping[str, Area] = {
    **answers.AREAS,
    **slots.AREAS,
    **configuration.AREAS,
    **conversation.AREAS,
    **costs.AREAS,
    **layered_prompt.AREAS,
    **memory.AREAS,
    **playbooks.AREAS,
    **prompt_definitions.AREAS,
    **schedules.AREAS,
    **tool_call_text.AREAS,
    **tools.AREAS,
}
