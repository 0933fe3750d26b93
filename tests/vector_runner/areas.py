"""Every area whose cases can be run; a new one is added here."""

from collections.abc import Mapping

from vector_runner import (
    configuration,
    conversation,
    costs,
    memory,
    playbooks,
    schedules,
    tool_call_text,
    tools,
)
from vector_runner.area import Area

AREAS: Mapping[str, Area] = {
    **configuration.AREAS,
    **conversation.AREAS,
    **costs.AREAS,
    **memory.AREAS,
    **playbooks.AREAS,
    **schedules.AREAS,
    **tool_call_text.AREAS,
    **tools.AREAS,
}
