"""Subagents that start before a turn's first model call (``immediate`` in a prompt definition).

They are recorded as calls in a step that no model was asked for. So each starts once, whatever
dies, and the model sees the calls and their results.
"""

import hashlib
from collections.abc import Mapping, Sequence

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, steps, subagents, turns
from orchestrator.journal.turns.turns import Turn
from thinker.formats.prompts.tooluse import SUBAGENT_CREATE, Immediate, Resumable, SubagentUse
from thinker.protocol.messages import AssistantMessage, JsonObject, ToolCall, ToolSpec
from thinker.protocol.methods import PlannedCall, StepCommit

ID = 8  # characters of a digest that tell calls of one turn apart
WORDLESS = "A message without words has come."


def eager_step(
    db: Database,
    turn: Turn,
    uses: Sequence[SubagentUse],
    values: Mapping[str, str],
    offered: Sequence[ToolSpec],
) -> StepCommit | None:
    """Return the step with the calls that the prompt makes itself and that the turn lacks.

    A resumable subagent that lives in the chat starts no second time. A subagent's result starts
    none: its answer would start the next.
    """
    if turns.origin(db, turn.id).kind == inbox.RESULT:
        return None
    living = {spec.agent for spec in subagents.living(db, turn.agent_id, turn.chat_key).values()}
    made, names = steps.call_ids(db, turn.id), {tool.name for tool in offered}
    message = "\n".join(row.text for row in inbox.of_turn(db, turn.id)) or WORDLESS
    calls = [
        call
        for use in uses
        if use.name not in living
        and (call := _call(use, turn.agent_id, message, values)).id not in made
        and call.name in names
    ]
    if not calls:
        return None
    return StepCommit(
        turn_id=turn.id,
        response=AssistantMessage(tool_calls=tuple(calls)),
        calls=tuple(PlannedCall(id=c.id, name=c.name, arguments=c.arguments) for c in calls),
        model=steps.IMMEDIATE,
    )


def _call(use: SubagentUse, agent_id: str, message: str, values: Mapping[str, str]) -> ToolCall:
    """Return the call that starts a subagent.

    Variables can set its name and its task; the task is the turn's ``message`` by default.
    """
    options = use.immediate if isinstance(use.immediate, Immediate) else Immediate()
    name = values.get(options.name_env or "") or use.name
    task = values.get(options.description_env or "") or message
    digest = hashlib.sha256(f"{agent_id}\0{use.name}".encode()).hexdigest()[:ID]
    if isinstance(use.resumable, Resumable):
        arguments: JsonObject = {
            "agent": use.name,
            "message": task,
            "attachments": [],
            "name": name,
        }
        return ToolCall(id=f"immediate_{digest}", name=SUBAGENT_CREATE, arguments=arguments)
    arguments = {use.init_user_message_property or "task": task}
    if use.init_agent_name_property:
        arguments[use.init_agent_name_property] = name
    return ToolCall(id=f"immediate_{digest}", name=use.name, arguments=arguments)
