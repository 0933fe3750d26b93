"""Prompts that a prompt definition lists among its tools: each call is a turn with that prompt."""

from collections.abc import Iterator

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents, transcript
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.tools.builtin.host_tool import DelegatingTool, ToolContext, ToolFailure
from orchestrator.tools.builtin.spawn_subagent import require_capacity
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.subprompt import (
    NO_INPUTS,
    SubpromptCall,
    as_tool,
    failure_text,
    first_message,
    result_text,
    with_defaults,
)
from thinker.formats.prompts.tooluse import SubpromptUse


def subprompt(definition: PromptDefinition, use: SubpromptUse) -> DelegatingTool:
    """Return the tool whose calls are turns with the prompt of ``definition``."""

    def start(db: Database, context: ToolContext, call: Call) -> None:
        require_capacity(db, context.agent_id)
        subagent = SubagentSpec(prompt=definition.name, denied_tools=context.denied_tools)
        arguments = with_defaults(call.arguments, definition.required_schema or NO_INPUTS)
        subagent_id = subagents.create(db, call, context.agent_id, subagent, context.now)
        message = first_message(use, arguments)
        subagents.begin(db, call, subagent_id, context.address, message, context.now, wait=True)

    def result(db: Database, run: SubagentRun) -> str | None:
        if not run.ended:
            return None
        if run.state != "done" or run.failed:
            raise ToolFailure(failure_text(use, run.result or run.error or ""))
        return result_text(use, run.result or "", _calls(db, run))

    return DelegatingTool(as_tool(definition), start, result)


def _calls(db: Database, run: SubagentRun) -> Iterator[SubpromptCall]:
    """Yield the ended calls of a run, in their order."""
    for step in transcript.read(db, subagents.working_turn(db, run)).steps:
        for call, made in zip(step.response.tool_calls, step.calls, strict=True):
            if made.result is not None:
                arguments = orjson.dumps(call.arguments).decode()
                yield SubpromptCall(call.name, arguments, made.result.content, made.result.is_error)
