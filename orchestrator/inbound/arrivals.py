"""Decide about messages that arrived together: refused, a command, or for an agent. Part of T1.

Where: is a command left to the node of its agent?
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import PRESS, REMOVAL, ChatRole, InboundMessage
from orchestrator.inbound.admission import (
    AdmissionDecision,
    format_pairing_message,
    judge_message,
    make_pairing_code,
)
from orchestrator.inbound.button_press import NOT_APPROVER
from orchestrator.inbound.commands import ChatCommand, find_concerned_agent
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import deferred_commands, inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.owners import is_owned
from orchestrator.placement import Share

PASSED_ON = "I have passed it on; the answer comes into this chat."  # to a press


class ArrivalBatch(NamedTuple):
    """Messages that arrived together, with their commands and what storing them needs.

    Other nodes answer the commands that concern agents outside ``share``, unless it is None.
    """

    messages: Sequence[tuple[InboundMessage, ChatCommand | None]]
    offset: int | str | None
    agents: AgentsFile
    now: int
    random: Callable[[int], bytes]
    share: Share | None


@dataclass
class ArrivalOutcomes:
    """The results of T1: cancelled turns, errors of commands, answers to presses.

    ``refused`` has one reason for each chat that gets no answer.
    """

    stopped: list[str] = field(default_factory=list)
    failed: list[tuple[str, Exception]] = field(default_factory=list)
    pressed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)


def build_arrivals(db: Database, batch: ArrivalBatch) -> tuple[list[Arrival], ArrivalOutcomes]:
    """Return the messages with what becomes of them; commands run when they are stored."""
    outcomes = ArrivalOutcomes()
    paired: dict[tuple[str, str], ChatRole] = {}
    settings = batch.agents.channels.list_chat_channels().get(batch.messages[0][0].channel)
    if settings is not None and settings.access == "pairing":  # pairings count only then
        paired = pairing.load_roles(db)
    arrivals = [
        _build_arrival(db, batch, message, command, paired, outcomes)
        for message, command in batch.messages
    ]
    for arrival in arrivals:
        if arrival.refusal is not None:
            why = f"{arrival.refusal}, held until it is" if arrival.held else arrival.refusal
            outcomes.refused[f"{inbox.make_address(arrival.message).name}: {why}"] = None
    return arrivals, outcomes


def _build_arrival(
    db: Database,
    batch: ArrivalBatch,
    message: InboundMessage,
    command: ChatCommand | None,
    paired: Mapping[tuple[str, str], ChatRole],
    outcomes: ArrivalOutcomes,
) -> Arrival:
    if message.kind == REMOVAL:
        return Arrival(message)
    admission = judge_message(batch.agents, message, paired)
    if admission.verdict is AdmissionDecision.ADMIT:
        if message.skip is not None:
            return Arrival(message, message.skip, message.notice)
        if command is None or (admission.role is None and message.kind != PRESS):
            return Arrival(message)
        own = replace(
            command, role=admission.role or "talk", stopped=outcomes.stopped, failed=outcomes.failed
        )
        return _build_command_arrival(db, batch, own, outcomes.pressed)
    notice, held = None, False
    if message.kind == PRESS and message.skip is None:
        outcomes.pressed[message.message_id] = NOT_APPROVER
    elif admission.verdict is AdmissionDecision.PAIR and message.private:
        code = pairing.request_pairing(
            db,
            inbox.make_address(message),
            message.sender_name,
            make_pairing_code(batch.random(8)),
            batch.now,
            message.sender_id,
        )
        notice = None if code is None else format_pairing_message(code)
        said = command is None and message.skip is None  # what an agent would answer
        held = said and pairing.has_pending_code(db, message.channel, message.chat_id)
    return Arrival(message, admission.reason, notice, held=held)


def _build_command_arrival(
    db: Database, batch: ArrivalBatch, command: ChatCommand, pressed: dict[str, str]
) -> Arrival:
    """Let T1 run a command, or let it wait for the node of the agent that it concerns."""
    message = command.message
    agent_id = None if batch.share is None else find_concerned_agent(db, command)
    if agent_id is not None and not is_owned(agent_id, batch.share):
        if message.kind == PRESS:
            pressed[message.message_id] = PASSED_ON
        queue = deferred_commands.build_queue(agent_id, command.chat_key)
        facts = deferred_commands.format_facts(message, command.role)
        return Arrival(message, deferred=(queue, facts))
    if message.kind == PRESS:
        return Arrival(message, command=partial(_answer_press, command, pressed))
    return Arrival(message, command=command.answer_command)


def _answer_press(command: ChatCommand, pressed: dict[str, str], db: Database) -> None:
    pressed[command.message.message_id] = command.answer_command(db)
