"""Handoff: give the chat to an agent that a prompt definition lists among its tools."""

from dataclasses import replace

from orchestrator.extensions.subagents.first_message import NO_INPUTS, format_opening_message
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import handoffs, inbox, internal_messages, steps, turns
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.steps import Call
from orchestrator.tools.builtin.host_tool import DelegatingTool, ToolContext, ToolFailure
from thinker.formats.prompts.tooluse import HandoffUse
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

MAX_HANDOFFS = 4  # handoffs in one turn, so that agents cannot pass a chat back and forth endlessly
TAKEN_OVER = (
    "This chat was handed over by the agent {before!r}. You are {after!r} and answer it from now"
    " on; the conversation so far is yours."
)


def build_handoff_tool(
    use: HandoffUse, description: str, schema: JsonObject | None
) -> DelegatingTool:
    """Build the tool that hands a chat over to an agent.

    Chat, conversation and turn are given to that agent in the transaction of the call's result.
    """
    key = use.init_user_message_property
    message: JsonObject = {"type": "string", "description": "What the agent has to do now."}
    inputs: JsonObject = {"type": "object", "properties": {key: message}} if key else NO_INPUTS

    def start_handoff(db: Database, context: ToolContext, call: Call) -> str:
        turn = turns.load_turn(db, call.turn_id)
        if turn.recipe != "interactive":
            raise ToolFailure("there is no chat to hand over here; do the work yourself")
        if turn.agent_id == use.name:
            raise ToolFailure("you answer this chat already")
        if not steps.is_only_call(db, turn.id, call.seq):
            raise ToolFailure("nothing was handed over; make this call without any other call")
        if handoffs.count_handoffs(db, turn.id) >= MAX_HANDOFFS:
            raise ToolFailure(
                f"this chat has changed hands {MAX_HANDOFFS} times by now; answer it yourself"
            )
        text = format_opening_message(use, call.arguments)
        handoffs.hand_over_turn(db, turn.id, use.name, context.now)
        if text is not None:
            message = InternalMessage(inbox.HANDOFF, call.idem_key, turn.agent_id, use.name, text)
            internal_messages.post_into_turn(
                db, replace(turn, agent_id=use.name), message, context.now
            )
        return TAKEN_OVER.format(before=turn.agent_id, after=use.name)

    spec = ToolSpec(
        name=use.name,
        description=description,
        parameters=schema or inputs,
        side_effect=SideEffect.LOCAL_TX,
    )
    return DelegatingTool(spec, start_handoff, hands_over=True)
