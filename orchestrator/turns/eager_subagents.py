"""Subagents that start before a turn's first model call (``immediate`` in a prompt definition).

They are recorded as calls of a step without a model. So each starts exactly once despite crashes,
and the model sees the calls and their results.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, steps, subagents
from orchestrator.journal.turns.turns import Turn
from orchestrator.prompts.prompt_tools import apply_fixed_options
from orchestrator.tools import policy
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.tooluse import SUBAGENT_CREATE, Immediate, Resumable, SubagentUse
from thinker.protocol.messages import AssistantMessage, JsonObject, ToolCall, ToolSpec
from thinker.protocol.methods import PlannedCall, StepCommit

ID = 8  # characters of a digest that tell calls of one turn apart
WORDLESS = "A message without words has come."


class EagerCalls(NamedTuple):
    """The subagents that start before the first step, and the data that their calls need."""

    uses: tuple[SubagentUse, ...]
    values: Mapping[str, str]
    offered: tuple[ToolSpec, ...]
    bundle: PromptBundle | None


def plan_eager_calls(db: Database, turn: Turn, eager: EagerCalls, now: int) -> None:
    """Commit T3 of the prompt's own calls that the turn still lacks."""
    commit = _build_eager_step(db, turn, eager)
    if commit is not None:
        commit = apply_fixed_options(eager.bundle, commit)
        steps.plan(db, commit, policy.map_side_effects(eager.offered), turn.epoch, now)


def _build_eager_step(db: Database, turn: Turn, eager: EagerCalls) -> StepCommit | None:
    """Return the step with these calls.

    A resumable subagent that lives in the chat is not started again. A subagent's result starts
    none: its answer would start the next.
    """
    opening = inbox.list_opening_messages(db, turn.id)
    if opening[0].kind == inbox.RESULT:
        return None
    living = {
        spec.agent
        for spec in subagents.list_living_subagents(db, turn.agent_id, turn.chat_key).values()
    }
    made, names = steps.list_call_ids(db, turn.id), {tool.name for tool in eager.offered}
    message = "\n".join(row.text for row in opening) or WORDLESS
    calls = [
        call
        for use in eager.uses
        if use.name not in living
        and (call := _build_call(use, turn.agent_id, message, eager.values)).id not in made
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


def _build_call(
    use: SubagentUse, agent_id: str, message: str, values: Mapping[str, str]
) -> ToolCall:
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
