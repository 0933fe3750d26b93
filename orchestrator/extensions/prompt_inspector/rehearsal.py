"""Show the request that an agent's model would get for a message, without sending it.

The message is stored, its turn opened and its inputs read as for any other one, in a savepoint that
is rolled back. So only the time and eagerly started subagents can differ from a real turn.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as validated

from orchestrator import __version__
from orchestrator.agentsfile import AgentDefinition
from orchestrator.channel_api import InboundMessage
from orchestrator.errors import WorkerError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import inbox, sessions, turns
from orchestrator.journal.turns.inbox import INBOX, Arrival
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_context import LoopFacts
from orchestrator.turns.turn_inputs import TurnInputs, gather_inputs
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol import methods
from thinker.protocol.prompt_record import PromptPreview

ATTEMPTS = 3  # a worker may end or be replaced meanwhile
REHEARSED = "rehearsed"  # stands for the platform's id of the message


@validated(
    frozen=True,
    config=ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore"),
)
class ImaginedMessage:
    """A message to an agent, in a chat or a thread of it; JSON keys are camelCase."""

    agent: str
    text: str
    channel: str
    chat_id: str
    thread_id: str = ""


async def request_preview(services: TurnServices, asked: ImaginedMessage) -> PromptPreview:
    """Let an agent's own worker build the first request for a message.

    An agent with embeddings calls its embeddings model.

    Raises:
        UnknownAgentError: there is no such agent.
        WorkerError: the agent's worker cannot be started, or failed.
    """
    inputs = services.inputs
    await inputs.tools.servers.wait_until_ready(inputs.require_definition(asked.agent))
    for attempt in range(1, ATTEMPTS + 1):
        definition = inputs.require_definition(asked.agent)
        async with services.supervisor.use_worker(asked.agent) as worker:
            vector = await inputs.embed_text(definition, asked.agent, asked.text, worker)
            new_tools = inputs.tools.servers.new_tools
            facts = LoopFacts(inputs.guard.build_rules(), fresh=new_tools)
            found = await services.store.transact(rehearse_turn, definition, facts, asked, vector)
            recipe = await Recipe.load_for_turn(services, found.context.turn)
            run = recipe.build_request(found)
            try:
                return await worker.send_request(methods.PROMPT_PREVIEW, run, PromptPreview)
            except WorkerError:
                if attempt == ATTEMPTS or worker.is_usable:
                    raise
    raise AssertionError(ATTEMPTS)


def rehearse_turn(
    db: Database,
    definition: AgentDefinition,
    facts: LoopFacts,
    asked: ImaginedMessage,
    embedding: Embedding | None = None,
) -> TurnInputs:
    """Return the inputs of the turn that a message would open; the journal does not change."""
    now = facts.rules.clock()
    with _roll_back_always(db):
        message = _build_message(db, asked)
        key = inbox.make_address(message).chat_key
        db.execute(
            "UPDATE turn SET state = 'closed'"
            " WHERE chat_key = ? AND state IN ('running', 'waiting')",
            (key,),
        )
        (row_id,) = inbox.ingest(db, [Arrival(message)], None, now)
        row = INBOX.select(db, "id = ?", row_id)[0]
        minutes = definition.turn_minutes
        admission = TurnAdmission(turns.make_turn_id(now), asked.agent, 0, minutes, __version__)
        turn = turns.admit_message(db, row, admission, now)
        if turn is None:
            raise AssertionError(key)
        return gather_inputs(db, turn, definition, facts, embedding)


def _build_message(db: Database, asked: ImaginedMessage) -> InboundMessage:
    """Build the message, from the chat's last sender if the chat is known."""
    known = sessions.find_known_address(db, asked.agent, asked.channel, asked.chat_id)
    address = known or Address.for_unmet_chat(asked.channel, "", asked.chat_id)
    last = inbox.find_newest_message(db, address.channel, address.chat_id)
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


@contextmanager
def _roll_back_always(db: Database) -> Iterator[None]:
    """Roll back all that the block writes, in any case."""
    db.execute("SAVEPOINT undone")
    try:
        yield
    finally:
        db.execute("ROLLBACK TO undone")
        db.execute("RELEASE undone")
