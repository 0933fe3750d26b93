"""What a worker is given with a turn: read from the journal, sent as one `TurnRun`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from orchestrator import memory_access
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.errors import UnknownAgentError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory import fact_vectors
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.prompt_memory import PromptMemory, load_prompt_memory
from orchestrator.journal.turns import (
    attachments,
    inbox,
    prompt_records,
    steps,
    subagents,
    taint,
    transcript,
    turns,
)
from orchestrator.journal.turns.api_requests import Request
from orchestrator.journal.turns.attachments import Wanted
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.taint import UNREAD, Taint
from orchestrator.journal.turns.turns import Context, Turn
from orchestrator.maintenance.embedding_index import EmbeddingIndex, EmbedToolsRequest
from orchestrator.media.media_calls import MediaCalls
from orchestrator.outbound.attachments import AttachmentFetcher
from orchestrator.processes.worker import Worker
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_tools import with_fixed_options
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.toolcalls.executor import ToolExecutor
from orchestrator.tools import policy
from orchestrator.turns import eager_subagents, input_origins
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.tooluse import SubagentUse
from thinker.protocol.environments import Environments
from thinker.protocol.messages import LayerRecord, Message, ToolSpec, capped
from thinker.protocol.methods import ChatRef, TurnRun

WINDOW = 50  # messages of history
JUMP = 50  # messages by which it moves in the cached layout, whose prefix each move changes


@dataclass(frozen=True)
class TurnInputs:
    """What the journal holds for a turn of an agent, as ``definition`` was then.

    A program's turn has a ``request``, and the conversation that it goes on with. ``read`` is what
    the turn reads with its prompt.
    """

    definition: AgentDefinition
    context: Context
    memory: MemoryScope
    known: PromptMemory
    vector: bytes = b""
    sent: tuple[LayerRecord, ...] | None = None  # for the cached layout, as `TurnRun.context`
    offered: tuple[str, ...] = ()
    request: Request | None = None
    conversation: tuple[Message, ...] = ()
    read: Taint = UNREAD

    @property
    def address(self) -> Address:
        return self.context.messages[0].address()


Gathered = TurnInputs | Pause | list[Wanted]


class EagerCalls(NamedTuple):
    """The subagents that start before the first step, and what their calls need."""

    uses: tuple[SubagentUse, ...]
    values: Mapping[str, str]
    offered: tuple[ToolSpec, ...]
    bundle: PromptBundle | None


@dataclass(frozen=True)
class LoopFacts:
    """What the event loop knows of a turn that a transaction is about to read.

    ``running`` are its calls that run now: none of a new turn. No other can begin before the
    transaction, as the turn has no worker then; one that has ended meanwhile is recorded as ended,
    which counts. ``fresh`` are tools that a server has added since it was first seen. ``first`` is
    the message of a turn that the same transaction has opened, with its call reserved.
    """

    rules: SpendingRules
    running: frozenset[int] = frozenset()
    eager: EagerCalls | None = None
    fresh: frozenset[str] = frozenset()
    first: InboxRow | None = None

    def offered_lately(self, definition: AgentDefinition) -> Taint:
        """Return what the descriptions of such tools bring into a turn."""
        lists = definition.allowed_tools, definition.denied_tools
        names = sorted(name for name in self.fresh if policy.allowed(name, *lists))
        return Taint(untrusted={f"the description of {name}": "tool" for name in names})


@dataclass(frozen=True)
class InputLoader:
    """Loads the inputs of turns. ``clock`` returns milliseconds since the epoch."""

    store: Store
    agents: Callable[[], AgentsFile]
    prompts: PromptLibrary
    tools: ToolExecutor
    guard: SpendingGuard
    pictures: AttachmentFetcher
    embeddings: EmbeddingIndex
    media: MediaCalls
    clock: Callable[[], int]

    def definition(self, agent_id: str) -> AgentDefinition:
        """Return the agent as it is configured now.

        Raises:
            UnknownAgentError: agents.json has no such agent any more.
        """
        definition = self.agents().agent(agent_id)
        if definition is None:
            raise UnknownAgentError(agent_id)
        return definition

    def environments(self, definition: AgentDefinition, address: Address) -> Environments:
        return self.prompts.environments(definition, self.agents(), address)

    async def load(
        self,
        turn: Turn,
        definition: AgentDefinition,
        worker: Worker,
        gather: Callable[..., Gathered],
    ) -> TurnInputs | Pause:
        """Embed the turn's messages, fetch its pictures, and gather its inputs.

        ``gather`` is that of the turn's recipe.
        """
        embedding = await self._embed_messages(turn, definition, worker)
        while True:
            facts = await self._facts(turn, definition)
            found = await self.store.transact(gather, turn, definition, facts, embedding)
            if not isinstance(found, list):
                return found
            await self.pictures.fetch(found, self.media.reader(definition, turn.agent_id))
            if embedding is None:  # the message may have been spoken
                embedding = await self._embed_messages(turn, definition, worker)

    def facts(self, turn: Turn) -> LoopFacts:
        """Return what a transaction needs to read the turn, but for its eager subagents."""
        return LoopFacts(
            self.guard.rules(), self.tools.running(turn.id), fresh=self.tools.servers.pins.fresh()
        )

    async def _facts(self, turn: Turn, definition: AgentDefinition) -> LoopFacts:
        if turn.recipe == "subagent" or not self.prompts.now.immediate(definition):
            return self.facts(turn)
        address = (await self.store.read(turns.origin, turn.id)).address()
        uses = self.prompts.now.immediate(definition)  # the prompts may have changed meanwhile
        values = self.prompts.values(definition, self.environments(definition, address))
        bundle, offered = self.prompts.bundle_of(definition), self.tools.offered(definition)
        return replace(self.facts(turn), eager=EagerCalls(uses, values, offered, bundle))

    def turn_run(self, inputs: TurnInputs, environments: Environments) -> TurnRun:
        """Return the request that starts or resumes a turn in a worker."""
        return turn_run(inputs, self.prompts, environments, self.tools.offered(inputs.definition))

    async def _embed_messages(
        self, turn: Turn, definition: AgentDefinition, worker: Worker
    ) -> Embedding | None:
        if definition.embeddings is None:
            return None
        text = await self.store.transact(_unanswered, turn.id)
        return await self.embed(definition, turn.agent_id, text, worker)

    async def embed(
        self, definition: AgentDefinition, owner: str, text: str, worker: Worker
    ) -> Embedding | None:
        """Embed a text, and the tools if they are new; None if the agent has no embeddings.

        ``owner`` is the agent whose memory a turn has.
        """
        if definition.embeddings is None:
            return None
        request = EmbedToolsRequest(worker, partial(self.tools.offered, definition))
        return await self.embeddings.embed(definition, owner, text, request)


def turn_run(
    inputs: TurnInputs,
    prompts: PromptLibrary,
    environments: Environments,
    tools: tuple[ToolSpec, ...],
) -> TurnRun:
    """Return the request that starts or resumes a turn; the agent is offered these ``tools``."""
    definition, context, recalled = inputs.definition, inputs.context, inputs.known
    first = context.messages[0]
    run = TurnRun(
        turn_id=context.turn.id,
        chat=ChatRef(
            channel=first.channel,
            chat_id=first.chat_id,
            thread_id=first.thread_id or None,
            private=first.private,
        ),
        messages=context.said,
        history=tuple(map(capped, context.history)),
        summary=context.summary,
        summary_origin=context.summary_origin,
        profile_prompt=recalled.profile_prompt,
        profile_origin=recalled.profile_origin,
        prompt=prompts.bundle_json(definition),
        environments=prompts.text_environments(definition, environments),
        memories=recalled.memories,
        playbooks=recalled.playbooks,
        skills=recalled.skills,
        steps=tuple(step.with_results(capped) for step in context.steps),
        tools=tools,
        recent_tools=context.recent_tools,
        context=inputs.sent,
        offered=inputs.offered,
        vector=inputs.vector,
        stream=first.private,
        steer=context.turn.recipe == "interactive",
        started_at=context.turn.started_at / 1000,
        deadline=context.turn.deadline / 1000,
    )
    return input_origins.unmarked(run) if definition.provenance == "off" else run


def reserve_and_gather(
    db: Database,
    turn: Turn,
    definition: AgentDefinition,
    facts: LoopFacts,
    embedding: Embedding | None,
) -> Gathered:
    """Reserve what the first model call may cost, and read what the worker needs.

    Returns the pause in which the turn must wait, or the files to fetch first, if there are any.
    """
    first = facts.first
    held = None if first is not None else facts.rules.holds(db, turn)
    wanted = attachments.wanted(db, turn.id) if first is None or first.pictured else []
    if held or wanted:
        return held or wanted
    if first is None:
        facts.rules.reserve(db, turn)
    if (eager := facts.eager) is not None:
        commit = eager_subagents.eager_step(db, turn, eager.uses, eager.values, eager.offered)
        if commit is not None:
            commit = with_fixed_options(eager.bundle, commit)
            classes = policy.side_effects(eager.offered)
            steps.plan(db, commit, classes, turn.epoch, facts.rules.clock())
    return gather(db, turn, definition, facts, embedding)


def gather(
    db: Database,
    turn: Turn,
    definition: AgentDefinition,
    facts: LoopFacts,
    embedding: Embedding | None = None,
) -> TurnInputs:
    """Settle what a dead process left of a turn, and read what its worker needs."""
    cached = definition.prompt_layout == "cached"
    jump = JUMP if cached else 1
    if facts.first is None:
        context = turns.context(db, turn.id, facts.running, WINDOW, facts.rules.clock(), jump)
    else:
        context = turns.first_context(db, turn, facts.first, WINDOW, jump)
    text = "\n".join(row.text for row in context.messages)
    if embedding is not None:
        fact_vectors.discard(db, turn.agent_id, embedding)
    memory = memory_access.memory_of(facts.rules.agents, db, turn.agent_id, turn.scope)
    known = load_prompt_memory(db, memory, text, definition.skills, turn.started_at, embedding)
    vector = b"" if embedding is None else embedding.vector
    pictures = definition.limits.recent_image_threshold
    marked = input_origins.with_others(context)
    read = [input_origins.of_context(marked, known), facts.offered_lately(definition)]
    if turn.recipe == "subagent":
        read.append(taint.load(db, subagents.of_turn(db, turn.id).turn_id))
    tainted = taint.joined(read)
    taint.add(db, turn.id, tainted)
    if not cached:
        pictured = _pictured(db, marked, pictures)
        return TurnInputs(definition, pictured, memory, known, vector, read=tainted)
    # There, pictures go out of sight several at once.
    context = _pictured(db, context, 2 * pictures)
    offered = prompt_records.offered(db, turn.session_id, turn.started_at, turn.id)
    sent = prompt_records.sent(db, turn.id)
    return TurnInputs(definition, context, memory, known, vector, sent, offered, read=tainted)


def _unanswered(db: Database, turn_id: str) -> str:
    """Return the text of a turn that no model call has answered yet."""
    answered = transcript.answered(db, turn_id)
    return "" if answered else "\n".join(row.text for row in inbox.of_turn(db, turn_id))


def _pictured(db: Database, context: Context, recent: int) -> Context:
    """Add the bytes of the pictures that the model may see; they share one request's room."""
    every: list[Message] = [*context.history, *context.said]
    for step in context.steps:
        every += [call.result for call in step.calls if call.result is not None]
        every += step.entered
    data = attachments.visible(db, every, recent)
    if not data:
        return context
    show = partial(attachments.shown, data=data)
    steps = tuple(
        step.model_copy(
            update={
                "entered": tuple(map(show, step.entered)),
                "calls": tuple(
                    call.model_copy(update={"result": call.result and show(call.result)})
                    for call in step.calls
                ),
            }
        )
        for step in context.steps
    )
    history, said = tuple(map(show, context.history)), tuple(map(show, context.said))
    return replace(context, history=history, said=said, steps=steps)
