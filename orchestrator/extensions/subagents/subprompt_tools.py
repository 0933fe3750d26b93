"""Prompts as tools: each call is a turn with that prompt."""

from collections.abc import Iterator

import orjson

from orchestrator.extensions.subagents.first_message import (
    NO_INPUTS,
    SubpromptCall,
    apply_defaults,
    build_tool_spec,
    format_first_message,
    format_run_failure,
    format_run_result,
)
from orchestrator.extensions.subagents.spawn_subagent import require_capacity
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions, subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.tools.builtin.host_tool import DelegatingTool, ToolContext, ToolFailure
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.tooluse import SubpromptUse


def build_subprompt_tool(definition: PromptDefinition, use: SubpromptUse) -> DelegatingTool:
    """Return the tool whose calls are turns with the prompt of ``definition``."""

    def start_subprompt(db: Database, context: ToolContext, call: Call) -> None:
        require_capacity(db, context.agent_id)
        subagent = SubagentSpec(prompt=definition.name, denied_tools=context.denied_tools)
        arguments = apply_defaults(call.arguments, definition.required_schema or NO_INPUTS)
        subagent_id = subagents.create(db, call, context.agent_id, subagent, context.now)
        message = format_first_message(use, arguments)
        subagents.begin_run(db, call, subagent_id, context.address, message, context.now, wait=True)

    def find_result(db: Database, run: SubagentRun) -> str | None:
        if not run.has_ended:
            return None
        if run.state != "done" or run.failed:
            raise ToolFailure(format_run_failure(use, run.result or run.error or ""))
        return format_run_result(use, run.result or "", _iter_ended_calls(db, run))

    return DelegatingTool(build_tool_spec(definition), start_subprompt, find_result)


def _iter_ended_calls(db: Database, run: SubagentRun) -> Iterator[SubpromptCall]:
    """Yield the ended calls of a run, in order."""
    for step in sessions.load_transcript(db, subagents.load_working_turn(db, run)).steps:
        for call, made in zip(step.response.tool_calls, step.calls, strict=True):
            if made.result is not None:
                arguments = orjson.dumps(call.arguments).decode()
                yield SubpromptCall(call.name, arguments, made.result.content, made.result.is_error)
