"""What turns rest on: the daemon's parts, and what a worker and its tools are given of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import apsw

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory import fact_vectors, playbooks
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.prompt_memory import PromptMemory, load_prompt_memory
from orchestrator.journal.turns import attachments, inbox, prompt_records, transcript, turns
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import Context, Turn
from orchestrator.maintenance.embedding_index import EmbeddingIndex, EmbedToolsRequest
from orchestrator.outbound.attachments import Pictures
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.worker import Worker
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.timezones import host_timezone
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.executor import ToolRunner
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.wakeup import Wakeup
from thinker.protocol.environments import Environments
from thinker.protocol.messages import LayerRecord, Message
from thinker.protocol.methods import ChatRef, TurnRun

WINDOW = 50  # messages of history; seed 002
JUMP = 50  # messages by which it moves in the cached layout, whose prefix each move changes


@dataclass(frozen=True)
class TurnServices:
    """The parts of the daemon that turns need. ``clock`` tells milliseconds since the epoch.

    ``tasks_changed`` is called when a scheduled task may have been added or have ended,
    ``session_grew`` when a turn has become part of its session; ``ends`` is woken when a turn ends.
    """

    store: Store
    supervisor: Supervisor
    delivery: Delivery
    tools: ToolRunner
    desk: ApprovalQueue
    gate: SpendingGuard
    pictures: Pictures
    embeddings: EmbeddingIndex
    settings: Settings
    environ: dict[str, str]
    agents: Callable[[], AgentsFile]
    prompts: PromptLibrary
    clock: Callable[[], int]
    epoch: int
    tasks_changed: Callable[[], None]
    session_grew: Callable[[], None]
    ends: Wakeup


@dataclass(frozen=True)
class TurnInputs:
    """What the journal holds for a turn."""

    context: Context
    known: PromptMemory
    vector: bytes = b""
    sent: tuple[LayerRecord, ...] | None = None  # for the cached layout, as `TurnRun.context`
    offered: tuple[str, ...] = ()


async def embed_messages(
    services: TurnServices, turn: Turn, definition: AgentDefinition, worker: Worker
) -> Embedding | None:
    """What a turn's messages mean, if the agent has somebody to say so."""
    if definition.embeddings is None:
        return None
    text = await services.store.transact(_unanswered, turn.id)
    equip = EmbedToolsRequest(worker, partial(services.tools.offered, definition))
    return await services.embeddings.meaning(definition, turn.agent_id, text, equip)


def _unanswered(db: apsw.Connection, turn_id: str) -> str:
    """What a model is still to be asked about."""
    answered = transcript.answered(db, turn_id)
    return "" if answered else "\n".join(row.text for row in inbox.of_turn(db, turn_id))


def load_inputs(
    db: apsw.Connection,
    services: TurnServices,
    turn: Turn,
    definition: AgentDefinition,
    meaning: Embedding | None = None,
) -> TurnInputs:
    """Settle what a dead process left of a turn, and read what its worker needs.

    ``meaning`` is that of its messages, if it is known.
    """
    running = services.tools.running(turn.id)
    cached = definition.prompt_layout == "cached"
    jump = JUMP if cached else 1
    context = turns.context(db, turn.id, running, WINDOW, services.clock(), jump)
    said = "\n".join(row.text for row in context.messages)
    playbooks.seed(db, turn.agent_id, turn.started_at)
    if meaning is not None:
        fact_vectors.discard(db, turn.agent_id, meaning)
    known = load_prompt_memory(db, turn.agent_id, said, definition.skills, turn.started_at, meaning)
    vector = b"" if meaning is None else meaning.vector
    pictures = definition.limits.recent_image_threshold
    if not cached:
        return TurnInputs(_pictured(db, context, pictures), known, vector)
    # There, pictures go out of sight several at once.
    context = _pictured(db, context, 2 * pictures)
    offered = prompt_records.offered(db, turn.session_id, turn.started_at, turn.id)
    return TurnInputs(context, known, vector, prompt_records.sent(db, turn.id), offered)


def _pictured(db: apsw.Connection, context: Context, recent: int) -> Context:
    """With the bytes of the pictures that the model may see; they share one request's room."""
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


def turn_run(
    services: TurnServices, gathered: TurnInputs, definition: AgentDefinition, known: Environments
) -> TurnRun:
    """The request that opens a turn in a worker, or goes on with it.

    ``known`` are what the variables of prompts and tools are set to.
    """
    context, recalled = gathered.context, gathered.known
    first = context.messages[0]
    return TurnRun(
        turn_id=context.turn.id,
        chat=ChatRef(
            channel=first.channel,
            chat_id=first.chat_id,
            thread_id=first.thread_id or None,
            private=first.private,
        ),
        messages=context.said,
        history=context.history,
        summary=context.summary,
        profile_prompt=recalled.profile_prompt,
        prompt=services.prompts.of(definition),
        environments=services.prompts.worded(definition, known),
        memories=recalled.memories,
        playbooks=recalled.playbooks,
        skills=recalled.skills,
        steps=context.steps,
        tools=services.tools.offered(definition),
        recent_tools=context.recent_tools,
        context=gathered.sent,
        offered=gathered.offered,
        vector=gathered.vector,
        stream=first.private,
        steer=definition.while_busy == "steer" and context.turn.recipe == "interactive",
        started_at=context.turn.started_at / 1000,
        deadline=context.turn.deadline / 1000,
    )


def tool_context(
    services: TurnServices,
    turn: Turn,
    definition: AgentDefinition,
    address: Address,
    known: Environments,
) -> ToolContext:
    """What a tool call of a turn may know."""
    return ToolContext(
        agent_id=turn.agent_id,
        turn_id=turn.id,
        address=address,
        now=turn.started_at,
        timezone=definition.timezone or host_timezone(services.environ),
        skill_directories=services.settings.paths.skill_directories(turn.agent_id),
        skills=definition.skills,
        split=services.delivery.split,
        mode=services.delivery.mode,
        store=services.store,
        meaning=partial(services.embeddings.meaning, definition, turn.agent_id),
        denied_tools=definition.denied_tools,
        environments=known,
    )
