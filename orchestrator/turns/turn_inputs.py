"""Read a turn's inputs from the journal, in the transaction that opens or resumes it.

Some of it are the words of others: what counts as private, or as text of others, is noted here.

Where: are the authors of a turn's inputs determined?
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from orchestrator import turn_access
from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_cards, fact_vectors
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.prompt_memory import PromptMemory, ask_overview, load_prompt_memory
from orchestrator.journal.turns import attachments, inbox, prompt_records, subagents, taint, turns
from orchestrator.journal.turns.attachments import UnreadFile
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.taint import UNREAD, Taint
from orchestrator.journal.turns.turns import StoredTurn, Turn
from orchestrator.turns import eager_subagents
from orchestrator.turns.turn_context import LoopFacts, TurnContext
from thinker.protocol.fencing import compute_mark
from thinker.protocol.messages import (
    UNTRUSTED,
    AssistantMessage,
    LayerRecord,
    Message,
    Origin,
    ToolResult,
    UserMessage,
    find_least_trusted,
)
from thinker.protocol.methods import RecordedStep, TurnRun

WINDOW = 50  # messages of history
JUMP = 50  # messages by which it moves in the cached layout, whose prefix each move changes


@dataclass(frozen=True)
class TurnInputs:
    """A turn's inputs, as the journal held them; ``read`` is what it reads with its prompt."""

    context: TurnContext
    stored: StoredTurn
    known: PromptMemory
    vector: bytes = b""
    sent: tuple[LayerRecord, ...] | None = None  # for the cached layout, as `TurnRun.context`
    offered: tuple[str, ...] = ()
    read: Taint = UNREAD


Gathered = TurnInputs | Pause | list[UnreadFile]


def reserve_and_gather(
    db: Database,
    turn: Turn,
    definition: AgentDefinition,
    facts: LoopFacts,
    embedding: Embedding | None,
) -> Gathered:
    """Reserve the first model call, and read what the worker needs.

    Returns the pause to wait for, or the files to fetch first, if any.
    """
    first = facts.first
    held = None if first is not None else facts.rules.enforce_turn_limits(db, turn)
    wanted = attachments.list_unread_files(db, turn.id) if first is None or first.pictured else []
    if held or wanted:
        return held or wanted
    if first is None:
        facts.rules.reserve_next_call(db, turn)
    if facts.eager is not None:
        eager_subagents.plan_eager_calls(db, turn, facts.eager, facts.rules.clock())
    return gather_inputs(db, turn, definition, facts, embedding)


def gather_inputs(
    db: Database,
    turn: Turn,
    definition: AgentDefinition,
    facts: LoopFacts,
    embedding: Embedding | None = None,
) -> TurnInputs:
    """Settle what a dead process left of the turn, and read what its worker needs."""
    cached = definition.prompt_layout == "cached"
    jump = JUMP if cached else 1
    memory = turn_access.build_memory_scope(facts.rules.agents, db, turn.agent_id, turn.scope)
    ask_overview(db, memory)
    if facts.first is None:
        stored = turns.load_stored_turn(
            db, turn.id, facts.running, WINDOW, facts.rules.clock(), jump
        )
    else:
        stored = turns.load_new_turn(db, turn, facts.first, WINDOW, jump)
    text = "\n".join([row.text for row in stored.messages])
    if embedding is not None:
        fact_vectors.delete_stale_vectors(db, turn.agent_id, embedding)
    size = fact_cards.SMALL_CARD_TOKENS if definition.profile else fact_cards.CARD_TOKENS
    known = load_prompt_memory(
        db, memory, text, definition.skills, turn.started_at, embedding, turn.session_id, size
    )
    address = stored.messages[0].build_address()
    # A subagent remembers by itself, and works in the folder of the agent that it copies.
    copied, owner = definition.configured_id, memory
    if copied != turn.agent_id:
        owner = turn_access.build_memory_scope(facts.rules.agents, db, copied, turn.scope)
    folder = turn_access.find_folder_scope(owner)
    context = TurnContext(turn, definition, facts.rules, memory, address, folder)
    marked = mark_other_senders(stored)
    tainted = _record_what_is_read(db, context, marked, known, facts)
    vector = b"" if embedding is None else embedding.vector
    pictures = definition.limits.recent_image_threshold
    if not cached:
        pictured = add_pictures(db, marked, pictures)
        return TurnInputs(context, pictured, known, vector, read=tainted)
    # There, pictures are dropped several at a time.
    stored = add_pictures(db, stored, 2 * pictures)
    offered = prompt_records.list_offered_tools(db, turn.session_id, turn.started_at, turn.id)
    sent = prompt_records.find_context_layers(db, turn.id)
    return TurnInputs(context, stored, known, vector, sent, offered, read=tainted)


def _record_what_is_read(
    db: Database, context: TurnContext, stored: StoredTurn, known: PromptMemory, facts: LoopFacts
) -> Taint:
    """Record what the turn reads with its prompt, and return it."""
    turn = context.turn
    read = find_context_taint(stored, known)
    if facts.fresh:
        read = taint.join_taints([read, facts.find_new_tool_taint(context.definition)])
    if turn.recipe == "subagent":
        parent = subagents.load_run_of_turn(db, turn.id).turn_id
        read = taint.join_taints([read, taint.load_taint(db, parent)])
    if read is not UNREAD:
        taint.add_taint(db, turn.id, read)
    return read


def add_pictures(db: Database, stored: StoredTurn, recent: int) -> StoredTurn:
    """Add the pictures that the model may see, within the room of one request."""
    if not stored.has_pictures:
        return stored
    data = attachments.load_visible_pictures(db, stored.list_messages(), recent)
    if not data:
        return stored
    steps = tuple(
        step.model_copy(
            update={
                "entered": tuple(attachments.fill_pictures(said, data) for said in step.entered),
                "calls": tuple(
                    call.model_copy(
                        update={
                            "result": call.result and attachments.fill_pictures(call.result, data)
                        }
                    )
                    for call in step.calls
                ),
            }
        )
        for step in stored.steps
    )
    return replace(
        stored,
        history=tuple(attachments.fill_pictures(message, data) for message in stored.history),
        said=tuple(attachments.fill_pictures(message, data) for message in stored.said),
        steps=steps,
    )


Read = TypeVar("Read", ToolResult, UserMessage, Message)
TASK_LAYERS = "proactive"  # the recipe whose prompt has neither history nor summary


def find_context_taint(context: StoredTurn, known: PromptMemory) -> Taint:
    """Return the taint of a turn's messages, prompt and history.

    ``context`` is as `mark_other_senders` returns it.
    """
    rows, recipe = context.messages, context.turn.recipe
    parts = [taint.make_origin_taint(row.origin) for row in rows if row.origin in UNTRUSTED]
    parts += [taint.make_attached_taint(message) for message in context.said]
    if inbox.RESULT in [row.kind for row in rows]:
        parts.append(Taint(private={"subagent": True}))
    if recipe != TASK_LAYERS and context.history:
        parts.append(taint.make_history_taint(context.history))
    if recipe != "subagent":
        parts += _list_memory_taints(known)
    if recipe == "interactive" and context.summary:
        parts.append(_build_taint("summary", [context.summary_origin]))
    found = [part for part in parts if part is not UNREAD]
    return taint.join_taints(found) if len(found) > 1 else (*found, UNREAD)[0]


def _list_memory_taints(known: PromptMemory) -> list[Taint]:
    found = []
    if known.memories:
        found.append(_build_taint("facts", [memory.origin for memory in known.memories]))
    if known.profile_prompt:
        found.append(_build_taint("profile", [known.profile_origin]))
    origins = [skill.origin for skill in known.skills]
    if not UNTRUSTED.isdisjoint(origins):
        found.append(Taint(untrusted=_build_taint("skills", origins).untrusted))
    if not UNTRUSTED.isdisjoint([book.get("origin") for book in known.playbooks]):
        found.append(Taint(untrusted={"playbooks": "tool"}))
    return found


def _build_taint(source: str, origins: Iterable[Origin]) -> Taint:
    worst = find_least_trusted("user", *origins)
    return Taint(untrusted={source: worst} if worst in UNTRUSTED else {}, private={source: True})


def mark_other_senders(context: StoredTurn) -> StoredTurn:
    """Return the context with the words of other people in the chat marked."""
    first = context.messages[0] if context.messages else None
    if first is None or first.private or not context.history:
        return context
    sender = first.author.sender
    if not sender:
        return context

    def mark_message(message: Message) -> Message:
        if not isinstance(message, UserMessage) or message.sender in ("", sender):
            return message
        if message.origin in UNTRUSTED:
            return message
        fence = compute_mark(f"{context.turn.id}\0{message.sender}")
        return message.model_copy(update={"origin": "other_user", "fence": fence})

    return replace(context, history=tuple(map(mark_message, context.history)))


def strip_run_origins(run: TurnRun) -> TurnRun:
    """Remove the origins from a turn of an agent without provenance."""
    return run.model_copy(
        update={
            "messages": tuple(map(strip_message_origin, run.messages)),
            "history": tuple(map(strip_message_origin, run.history)),
            "steps": tuple(map(_strip_step_origins, run.steps)),
            "summary_origin": "user",
            "profile_origin": "user",
            "memories": tuple(m.model_copy(update={"origin": "user"}) for m in run.memories),
            "skills": tuple(s.model_copy(update={"origin": "user"}) for s in run.skills),
            "playbooks": tuple({**book, "origin": "user"} for book in run.playbooks),
        }
    )


def strip_message_origin(message: Read) -> Read:
    """Remove the origin from a message for an agent without provenance."""
    if isinstance(message, AssistantMessage):
        return message
    trusted: dict[str, object] = {"fence": "", "origin": "user"}
    if not isinstance(message, ToolResult):
        whole = (document.model_copy(update={"fence": ""}) for document in message.documents)
        trusted["documents"] = tuple(whole)
        trusted["quote"] = message.quote and message.quote.model_copy(update={"fence": ""})
    return message.model_copy(update=trusted)


def _strip_step_origins(step: RecordedStep) -> RecordedStep:
    entered = tuple(map(strip_message_origin, step.entered))
    return step.replace_results(strip_message_origin).model_copy(update={"entered": entered})
