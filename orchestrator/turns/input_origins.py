"""Whose words a turn is given: what of it counts as private or as text of others. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from orchestrator.journal.memory.prompt_memory import PromptMemory
from orchestrator.journal.turns import inbox, taint
from orchestrator.journal.turns.taint import Taint
from orchestrator.journal.turns.turns import Context
from thinker.protocol.fencing import mark_of
from thinker.protocol.messages import (
    UNTRUSTED,
    AssistantMessage,
    Message,
    Origin,
    ToolResult,
    UserMessage,
    least_trusted,
)
from thinker.protocol.methods import RecordedStep, TurnRun

Read = TypeVar("Read", ToolResult, UserMessage, Message)
TASK_LAYERS = "proactive"  # the recipe whose prompt has neither history nor summary


def of_context(context: Context, known: PromptMemory) -> Taint:
    """Return what a turn reads with its messages, its prompt and its history.

    ``context`` is as `with_others` returns it.
    """
    rows, recipe = context.messages, context.turn.recipe
    parts = [*(taint.of_origin(row.origin) for row in rows), taint.of_documents(context.said)]
    if any(row.kind == inbox.RESULT for row in rows):
        parts.append(Taint(private={"subagent": True}))
    if recipe != TASK_LAYERS:
        parts.append(taint.of_history(context.history))
    if recipe != "subagent":
        parts += _of_memory(known)
    if recipe == "interactive" and context.summary:
        parts.append(_of("summary", [context.summary_origin]))
    return taint.joined(parts)


def _of_memory(known: PromptMemory) -> Iterator[Taint]:
    if known.memories:
        yield _of("facts", (memory.origin for memory in known.memories))
    if known.profile_prompt:
        yield _of("profile", [known.profile_origin])
    yield Taint(untrusted=_of("skills", (skill.origin for skill in known.skills)).untrusted)
    if any(book.get("origin") in UNTRUSTED for book in known.playbooks):
        yield Taint(untrusted={"playbooks": "tool"})


def _of(source: str, origins: Iterable[Origin]) -> Taint:
    worst = least_trusted("user", *origins)
    return Taint(untrusted={source: worst} if worst in UNTRUSTED else {}, private={source: True})


def with_others(context: Context) -> Context:
    """Return the context with the words of other people in the chat marked as theirs."""
    sender = context.messages[0].author.sender if context.messages else ""
    if not sender:
        return context

    def marked(message: Message) -> Message:
        if not isinstance(message, UserMessage) or message.sender in ("", sender):
            return message
        if message.origin in UNTRUSTED:
            return message
        fence = mark_of(f"{context.turn.id}\0{message.sender}")
        return message.model_copy(update={"origin": "other_user", "fence": fence})

    return replace(context, history=tuple(map(marked, context.history)))


def unmarked(run: TurnRun) -> TurnRun:
    """Return a turn of an agent that does not tell whose words it reads."""
    return run.model_copy(
        update={
            "messages": tuple(map(plain, run.messages)),
            "history": tuple(map(plain, run.history)),
            "steps": tuple(map(_plain_step, run.steps)),
            "summary_origin": "user",
            "profile_origin": "user",
            "memories": tuple(m.model_copy(update={"origin": "user"}) for m in run.memories),
            "skills": tuple(s.model_copy(update={"origin": "user"}) for s in run.skills),
            "playbooks": tuple({**book, "origin": "user"} for book in run.playbooks),
        }
    )


def plain(message: Read) -> Read:
    """Return a message as an agent reads it that does not tell whose words it reads."""
    if isinstance(message, AssistantMessage):
        return message
    trusted: dict[str, object] = {"fence": "", "origin": "user"}
    if not isinstance(message, ToolResult):
        whole = (document.model_copy(update={"fence": ""}) for document in message.documents)
        trusted["documents"] = tuple(whole)
    return message.model_copy(update=trusted)


def _plain_step(step: RecordedStep) -> RecordedStep:
    entered = tuple(map(plain, step.entered))
    return step.with_results(plain).model_copy(update={"entered": entered})
