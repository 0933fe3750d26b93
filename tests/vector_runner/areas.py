"""All areas of vectors; add new ones here."""

from collections.abc import Mapping
from types import ModuleType

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
from vector_runner.cases import Area

MODULES: tuple[ModuleType, ...] = (answers, configuration, conversation, costs, layered_prompt)
MODULES += (memory, playbooks, prompt_definitions, schedules, slots, tool_call_text, tools)
AREAS: Mapping[str, Area] = {k: area for module in MODULES for k, area in module.AREAS.items()}
