"""What an agent's model would be sent for a message now, without a turn or a call of the model.

The message is stored, its turn opened and its inputs read as for any other one, in a savepoint that
is rolled back. So nothing can differ from a real turn but the time and what a turn does before its
first call: subagents that start at once.
"""

from dataclasses import dataclass

from orchestrator import __version__
from orchestrator.agentsfile import AgentDefinition
from orchestrator.channel_api import InboundMessage
from orchestrator.errors import WorkerError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.savepoints import undone
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import inbox, sessions, turns
from orchestrator.journal.turns.inbox import INBOX, Arrival
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.turns.turn_host import TurnServices
from orchestrator.turns.turn_inputs import LoopFacts, TurnInputs, gather
from thinker.protocol import methods
from thinker.protocol.prompt_record import PromptPreview

ATTEMPTS = 3  # a worker may end, or have to be replaced, meanwhile
REHEARSED = "rehearsed"  # stands for the platform's id of the message


@dataclass(frozen=True)
class ImaginedMessage:
    """A message of a chat, or of a thread in it, to an agent."""

    agent: str
    text: str
    channel: str
    chat_id: str
    thread_id: str = ""


@dataclass(frozen=True)
class TurnRehearsal:
    """Rehearses turns of the daemon's agents."""

    services: TurnServices

    async def preview(self, asked: ImaginedMessage) -> PromptPreview:
        """Let the agent's own worker build the first request for a message.

        An agent with embeddings asks its embeddings model.

        Raises:
            UnknownAgentError: there is no such agent.
            WorkerError: its worker cannot be started, or failed.
        """
        services, inputs = self.services, self.services.inputs
        await inputs.tools.servers.wait_ready()
        for attempt in range(1, ATTEMPTS + 1):
            definition = inputs.definition(asked.agent)
            async with services.supervisor.using(asked.agent) as worker:
                vector = await inputs.embed(definition, asked.agent, asked.text, worker)
                facts = LoopFacts(inputs.guard.rules(), fresh=inputs.tools.servers.pins.fresh())
                found = await services.store.transact(rehearse, definition, facts, asked, vector)
                run = inputs.turn_run(found, inputs.environments(definition, found.address))
                try:
                    return await worker.ask(methods.PROMPT_PREVIEW, run, PromptPreview)
                except WorkerError:
                    if attempt == ATTEMPTS or worker.usable:
                        raise
        raise AssertionError(ATTEMPTS)


def rehearse(
    db: Database,
    definition: AgentDefinition,
    facts: LoopFacts,
    asked: ImaginedMessage,
    embedding: Embedding | None = None,
) -> TurnInputs:
    """Return the inputs of the turn that a message would open; the journal stays as it is."""
    now = facts.rules.clock()
    with undone(db):
        message = _message(db, asked)
        key = inbox.address_of(message).chat_key
        turns.set_aside(db, key)
        (row_id,) = inbox.ingest(db, [Arrival(message)], None, now)
        row = INBOX.select(db, "id = ?", row_id)[0]
        minutes = definition.limits.turn_minutes
        admission = TurnAdmission(turns.new_id(now), asked.agent, 0, minutes, __version__)
        turn = turns.admit(db, row, admission, now)
        if turn is None:
            raise AssertionError(key)
        return gather(db, turn, definition, facts, embedding)


def _message(db: Database, asked: ImaginedMessage) -> InboundMessage:
    """Return the message as it would come: from who wrote last in a chat that is known."""
    known = sessions.address(db, asked.agent, asked.channel, asked.chat_id)
    address = known or Address.of_unmet(asked.channel, "", asked.chat_id)
    last = inbox.newest_of(db, address.channel, address.chat_id)
    return InboundMessage(
        channel=address.channel,
        bot_id=address.bot_id,
        chat_id=address.chat_id,
        message_id=REHEARSED,
        sender_id=asked.chat_id if last is None else last.sender_id,
        sender_name="" if last is None else last.sender_name,
        text=asked.text,
        thread_id=asked.thread_id or address.thread_id or None,
        private=address.private,
        target=asked.agent,
    )
