"""spawn_subagent: have a process of its own do a piece of work, and wait for it or not."""

import apsw
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import Spec
from orchestrator.tools.builtin.host_tool import (
    DelegatingTool,
    ToolContext,
    ToolFailure,
    spec,
    text,
)
from thinker.protocol.messages import JsonObject, SideEffect

GLOBS: JsonObject = {"type": "array", "items": {"type": "string"}}


def begun(db: apsw.Connection, call: Call) -> bool:
    """Whether a call has put work into a subagent's line already."""
    return subagents.of_call(db, call.turn_id, call.seq) is not None


def _outcome(db: apsw.Connection, context: ToolContext, call: Call) -> str | None:
    return subagent_outcome(db, call) if begun(db, call) else _spawn(db, context, call)


def subagent_outcome(db: apsw.Connection, call: Call) -> str | None:
    """What the work of a call came to; None while it goes on.

    Raises:
        ToolFailure: it failed.
    """
    run = subagents.of_call(db, call.turn_id, call.seq)
    if run is None or not run.ended:
        return None
    if run.state == "done" and not run.failed:
        return run.result
    raise ToolFailure(f"Subagent failed: {run.result or run.error}")


def _spawn(db: apsw.Connection, context: ToolContext, call: Call) -> str | None:
    task = text(call.arguments, "task")
    if not task:
        raise ToolFailure("task is empty; write what is to be done")
    wanted = _spec(call.arguments, context.denied_tools)
    require_capacity(db, context.agent_id)
    wait = call.arguments.get("wait") is not False
    subagent_id = subagents.create(db, call, context.agent_id, wanted, context.now)
    subagents.begin(db, call, subagent_id, context.address, task, context.now, wait=wait)
    if wait:
        return None
    return f"Started subagent {subagent_id}. Its result will come as a message."


def require_capacity(db: apsw.Connection, agent_id: str) -> None:
    """Let an agent have one more subagent at work.

    Raises:
        ToolFailure: it has as many as it may.
    """
    running = subagents.open_count(db, agent_id)
    if running >= subagents.MOST:
        raise ToolFailure(
            f"Max {subagents.MOST} concurrent subagents per parent (current: {running});"
            " try again when one has ended"
        )


def _spec(arguments: JsonObject, denied: tuple[str, ...]) -> Spec:
    """What the call wants, without what the turn that makes it may not use itself."""
    given = {
        "allowed_tools": arguments.get("allowedTools") or (),
        "denied_tools": arguments.get("deniedTools") or (),
        "timeout_minutes": arguments.get("timeoutMinutes", 5),
        "model": arguments.get("model") or None,
    }
    try:
        wanted = Spec.model_validate(given)
    except ValidationError as error:
        (first, *_) = error.errors()
        raise ToolFailure(f"{to_camel(str(first['loc'][0]))}: {first['msg']}") from error
    every = dict.fromkeys((*denied, *wanted.denied_tools))
    return wanted.model_copy(update={"denied_tools": tuple(every)})


SPAWN_SUBAGENT = DelegatingTool(
    spec(
        "spawn_subagent",
        "Have a subagent with a fresh mind do one piece of work, in a process of its own. It sees"
        " nothing of this conversation, so say everything in the task. It has your tools or fewer"
        " and cannot have subagents itself.",
        {
            "task": "What to do and what to answer, complete.",
            "allowedTools": GLOBS
            | {"description": 'The only tools it needs, such as ["search_*"]; all when left out.'},
            "deniedTools": GLOBS | {"description": "Tools that it must not use."},
            "timeoutMinutes": {
                "type": "number",
                "minimum": 1,
                "maximum": 30,
                "description": "When it is stopped at the latest; 5 when left out.",
            },
            "model": "Another model of the same provider; yours when left out.",
            "wait": {
                "type": "boolean",
                "description": "false returns at once, and the result comes later as a message.",
            },
        },
        ["task"],
        side_effect=SideEffect.LOCAL_TX,
    ),
    begun,
    _outcome,
)
