"""Agents that are tools of a prompt and take the chat over: handoff (seed 000 §3.3)."""

from dataclasses import replace

import apsw

from orchestrator.journal.turns import handoffs, inbox, internal_messages, steps, turns
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.steps import Call
from orchestrator.tools.builtin.host_tool import DelegatingTool, ToolContext, ToolFailure
from thinker.formats.prompts.subprompt import NO_INPUTS, opening_message
from thinker.formats.prompts.tooluse import HandoffUse
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

MOST = 4  # in one turn: two agents must not pass a chat back and forth for ever
TAKEN_OVER = (
    "This chat was handed over by the agent {before!r}. You are {after!r} and answer it from now"
    " on; the conversation so far is yours."
)


def handoff(use: HandoffUse, description: str, schema: JsonObject | None) -> DelegatingTool:
    """The tool that an agent is for the one whose prompt may hand over to it.

    It belongs to the journal alone: chat, conversation and turn change hands with its result.
    """
    asked = use.init_user_message_property
    message: JsonObject = {"type": "string", "description": "What it has to do now."}
    own: JsonObject = {"type": "object", "properties": {asked: message}} if asked else NO_INPUTS

    def outcome(db: apsw.Connection, context: ToolContext, call: Call) -> str:
        turn = turns.load(db, call.turn_id)
        if turn.recipe != "interactive":
            raise ToolFailure("there is no chat here that could be handed over; do it yourself")
        if turn.agent_id == use.name:
            raise ToolFailure("you answer this chat already")
        if not steps.alone(db, turn.id, call.seq):
            raise ToolFailure("nothing was handed over: make this call alone, without others")
        if handoffs.times(db, turn.id) >= MOST:
            raise ToolFailure(
                f"this chat has changed hands {MOST} times by now; answer it yourself"
            )
        text = opening_message(use, call.arguments)
        handoffs.hand_over(db, turn.id, use.name, context.now)
        if text is not None:
            message = InternalMessage(inbox.HANDOFF, call.idem_key, turn.agent_id, use.name, text)
            internal_messages.put(db, replace(turn, agent_id=use.name), message, context.now)
        return TAKEN_OVER.format(before=turn.agent_id, after=use.name)

    spec = ToolSpec(
        name=use.name,
        description=description,
        parameters=schema or own,
        side_effect=SideEffect.LOCAL_TX,
    )
    return DelegatingTool(spec, lambda _db, _call: False, outcome, hands_over=True)
