"""spawn_subagent: give a task to a subagent in a separate process."""

from pydantic import JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.tools.builtin.host_tool import (
    DelegatingTool,
    ToolContext,
    ToolFailure,
    build_tool_spec,
    read_text_argument,
)
from thinker.formats.word_lists import WORDS, parse_words
from thinker.protocol.messages import JsonObject


def _spawn_subagent(db: Database, context: ToolContext, call: Call) -> str | None:
    task = read_text_argument(call.arguments, "task")
    if not task:
        raise ToolFailure("task is empty; write what to do")
    subagent = _parse_subagent_spec(call.arguments, context.denied_tools)
    require_capacity(db, context.agent_id)
    wait = call.arguments.get("wait") is not False
    subagent_id = subagents.create(db, call, context.agent_id, subagent, context.now)
    subagents.begin_run(db, call, subagent_id, context.address, task, context.now, wait=wait)
    if wait:
        return None
    return f"Started subagent {subagent_id}. Its result will come as a message."


def require_capacity(db: Database, agent_id: str) -> None:
    """Raise `ToolFailure` if the agent has reached its maximum of running subagents."""
    running = subagents.count_open_runs(db, agent_id)
    if running >= subagents.MAX_RUNS:
        raise ToolFailure(
            f"Max {subagents.MAX_RUNS} concurrent subagents per parent (current: {running});"
            " try again after one has ended"
        )


def _parse_subagent_spec(arguments: JsonObject, denied: tuple[str, ...]) -> SubagentSpec:
    """Return the subagent of a call; tools denied to the calling turn are denied to it, too."""
    fields = {
        "allowed_tools": _parse_globs(arguments.get("allowedTools")),
        "denied_tools": _parse_globs(arguments.get("deniedTools")),
        "timeout_minutes": arguments.get("timeoutMinutes", 5),
        "model": arguments.get("model") or None,
    }
    try:
        subagent = SubagentSpec.model_validate(fields)
    except ValidationError as error:
        (first, *_) = error.errors()
        raise ToolFailure(f"{to_camel(str(first['loc'][0]))}: {first['msg']}") from error
    every = dict.fromkeys((*denied, *subagent.denied_tools))
    return subagent.model_copy(update={"denied_tools": tuple(every)})


def _parse_globs(value: JsonValue) -> JsonValue:
    """Parse a list of globs from text; a word for none becomes a tool that does not exist."""
    if not isinstance(value, str) or not value.strip():
        return value or []
    return [*(parse_words(value) or [value])]


SPAWN_SUBAGENT = DelegatingTool(
    build_tool_spec(
        "spawn_subagent",
        "Give one task to a subagent that runs in a separate process. It sees nothing of this"
        " conversation, has your tools or fewer, and cannot start subagents.",
        {
            "task": "What to do and what to answer, complete.",
            "allowedTools": WORDS | {"description": 'Such as ["search_*"]; default: all.'},
            "deniedTools": WORDS,
            "timeoutMinutes": {"type": "number", "minimum": 1, "maximum": 30},
            "model": "Of the same provider; default: yours.",
            "wait": {"type": "boolean", "description": "false: the result is a message."},
        },
        ["task"],
        keywords="subagent, subagents, sub-agent, sub-agents, delegate, in parallel, separately,"
        " in the background",
    ),
    _spawn_subagent,
)
