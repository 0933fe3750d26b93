"""Subagents that are begun before the first step of a turn (seed 000, ``immediate``).

They are calls like a model's, in a step of the journal that no model was asked for: so they are
begun once, whatever dies, and the model is told of them and of their results.
"""

import hashlib
from collections.abc import Mapping, Sequence

import apsw

from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.turns import inbox, steps, subagents, turns
from orchestrator.journal.turns.turns import Turn
from orchestrator.turns.turn_inputs import TurnServices
from thinker.formats.prompts.tooluse import SUBAGENT_CREATE, Immediate, Resumable, SubagentUse
from thinker.protocol.messages import AssistantMessage, JsonObject, ToolCall
from thinker.protocol.methods import PlannedCall, StepCommit

ID = 8  # characters of a digest that tell calls of one turn apart
WORDLESS = "A message without words has come."


def plan(
    db: apsw.Connection,
    services: TurnServices,
    turn: Turn,
    definition: AgentDefinition,
    wanted: Sequence[SubagentUse],
    values: Mapping[str, str],
) -> None:
    """T3 of the calls that the agent's prompt makes itself and that the turn does not have yet.

    A resumable subagent that lives in the chat stays as it is. What a subagent has said begins
    none: its answer would begin the next.
    """
    origin = turns.origin(db, turn.id)
    if turn.recipe == "subagent" or origin.kind == inbox.RESULT:
        return
    living = subagents.living(db, turn.agent_id, turn.chat_key).values()
    made, offered = steps.call_ids(db, turn.id), services.tools.offered(definition)
    said = "\n".join(row.text for row in inbox.of_turn(db, turn.id)) or WORDLESS
    calls = [
        call
        for use in wanted
        if use.name not in {spec.agent for spec in living}
        and (call := _call(use, turn.agent_id, said, values)).id not in made
        and call.name in {tool.name for tool in offered}
    ]
    if not calls:
        return
    commit = StepCommit(
        turn_id=turn.id,
        response=AssistantMessage(tool_calls=tuple(calls)),
        calls=tuple(PlannedCall(id=c.id, name=c.name, arguments=c.arguments) for c in calls),
        model=steps.IMMEDIATE,
    )
    steps.plan(db, commit, services.tools.classes(), services.epoch, services.clock())


def _call(use: SubagentUse, agent_id: str, said: str, values: Mapping[str, str]) -> ToolCall:
    """The call that begins a subagent: variables say its name and work, else it hears ``said``."""
    own = use.immediate if isinstance(use.immediate, Immediate) else Immediate()
    name = values.get(own.name_env or "") or use.name
    told = values.get(own.description_env or "") or said
    digest = hashlib.sha256(f"{agent_id}\0{use.name}".encode()).hexdigest()[:ID]
    if isinstance(use.resumable, Resumable):
        given: JsonObject = {"agent": use.name, "message": told, "attachments": [], "name": name}
        return ToolCall(id=f"immediate_{digest}", name=SUBAGENT_CREATE, arguments=given)
    given = {use.init_user_message_property or "task": told}
    if use.init_agent_name_property:
        given[use.init_agent_name_property] = name
    return ToolCall(id=f"immediate_{digest}", name=use.name, arguments=given)
