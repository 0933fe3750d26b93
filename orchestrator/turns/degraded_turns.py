"""Record what a turn did without, inside a transaction, and tell its operator and its chat."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import degradations, outbox, turns
from orchestrator.journal.turns.turns import Turn
from orchestrator.spending.operator_chat import find_operator_chat
from thinker.protocol.degradations import Degradation
from thinker.protocol.names import format_turn_name

log = structlog.get_logger()


def report_degradations(
    db: Database,
    turn: Turn,
    definition: AgentDefinition | None,
    found: Sequence[Degradation],
    seq: int | None,
    now: int,
) -> bool:
    """Record what a turn did without; return whether the outbox has a notice about it.

    ``seq`` is the model response, None if the turn failed. The operator's chat is told once, and
    the turn's own chat of a missing tool server.
    """
    if definition is not None:  # subagents come and go, so theirs are those of their agent
        turn = replace(turn, agent_id=definition.configured_id)
    stored = degradations.record_degradations(db, turn, found, seq, now)
    fresh = [one for one, untold in stored.items() if untold]
    for one in fresh:
        log.warning("turn_degraded", kind=one.kind, what=str(one))
    operator = find_operator_chat(db, definition) if fresh and definition is not None else None
    if operator is not None:
        told = {"agent": turn.agent_id, "turn": format_turn_name(turn.id)}
        text = chat_texts.DEGRADED.format(what="; ".join(map(str, fresh)), **told)
        outbox.add_notice(db, operator, text, now)
    missing = [one for one in stored if one.kind == "server" and turn.recipe == "interactive"]
    missing = [one for one in missing if degradations.is_new_to_chat(db, turn, one, now)]
    for one in missing:
        chat = turns.load_opening_message(db, turn.id).build_address()
        outbox.add_notice(db, chat, chat_texts.NO_TOOLS.format(server=one.subject), now)
    return bool(missing) or operator is not None
