"""Watch a chat: which agent answers it, its messages, and what happens in it now.

Messages come from the journal by position, so that a client that reconnects misses nothing and
sees nothing twice. Live events come from `ChatActivity`.

Where: does a terminal see its chat live?
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from orchestrator import chat_texts
from orchestrator.chat_activity import (
    ActivityEvent,
    AnswerGrew,
    CallFinished,
    CallStarted,
    ChatActivity,
)
from orchestrator.control.console import Console
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.protocol import (
    ChatCall,
    ChatEntry,
    ChatEvent,
    ChatExchange,
    ChatScene,
    ChatWatch,
    GrowingAnswer,
)
from orchestrator.errors import MAX_NAMED, JournalError
from orchestrator.inbound.commands import list_help_lines
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import retry_later
from orchestrator.journal.inspect import chat_lines
from orchestrator.journal.inspect.chat_lines import ChatLine
from orchestrator.routing import find_answering_agent

POLL = 1.0  # seconds; a message that a tool wrote to another chat wakes no one
BATCH = 100  # messages read at a time
EXCERPT = 2000  # characters of each message of an earlier exchange
Show = Callable[[ChatEvent], None]


@dataclass(frozen=True)
class ChatWatcher:
    """Shows the console's chats to clients."""

    daemon: DaemonOperations
    console: Console
    activity: ChatActivity

    async def load_scene(self, request: ChatWatch) -> ChatScene:
        """Return the current scene of a chat."""
        daemon, message = self.daemon, self.console.build_message(request.chat, agent=request.agent)
        agents, now = daemon.configuration.file, daemon.clock()
        address = self.console.build_address(request.chat)
        enabled = agents.list_enabled_ids()
        named = tuple(heapq.nsmallest(MAX_NAMED, enabled))

        def read_scene(db: Database) -> ChatScene:
            agent_id = find_answering_agent(db, agents, message, address.chat_key)
            last = request.recent if agent_id else 0
            return ChatScene(
                agent_id=agent_id,
                provider="",
                model="",
                agents=named,
                agents_left_out=len(enabled) - len(named),
                commands=list_help_lines(),
                position=chat_lines.load_newest_position(db)
                if request.after is None
                else request.after,
                recent=tuple(
                    ChatExchange(
                        text=exchange.text[:EXCERPT] if exchange.kind == "message" else "",
                        reply="\n\n".join(exchange.texts)[:EXCERPT],
                        at=exchange.received_at / 1000,
                    )
                    for exchange in chat_lines.list_recent_exchanges(
                        db, agent_id or "", address, last
                    )
                ),
                questions=tuple(
                    _build_entry(db, line, address.chat_key, now)
                    for line in chat_lines.list_question_lines(db, address.chat_key, now)
                ),
            )

        scene = await daemon.store.read(read_scene)
        slot = daemon.supervisor.slots.get(scene.agent_id or "")
        if slot is None:
            return scene
        used = slot.spec.endpoint
        return scene.model_copy(update={"provider": used.provider, "model": used.model})

    async def follow_chat(self, chat: str, position: int, show: Show) -> None:
        """Show the messages of a chat after a position, and what happens in it now."""
        chat_key = self.console.build_address(chat).chat_key

        def show_event(event: ActivityEvent) -> None:
            show(_build_event(chat, event))

        def read_entries(db: Database, position: int, now: int) -> tuple[list[ChatEntry], int]:
            end = chat_lines.load_newest_position(db)
            lines = chat_lines.list_lines_since(db, chat_key, position, BATCH)
            found = [_build_entry(db, line, chat_key, now) for line in lines]
            return found, lines[-1].id if len(lines) == BATCH else max(position, end)

        with self.activity.watch_chat(chat_key, show_event):
            replies = self.console.watch_replies(chat)
            while True:
                changed = replies.changed
                try:
                    found = self.daemon.store.read(read_entries, position, self.daemon.clock())
                    messages, position = await found
                except JournalError as error:
                    await retry_later(error)
                    continue
                for message in messages:
                    show(ChatEvent(chat=chat, message=message))
                if len(messages) < BATCH:
                    with anyio.move_on_after(POLL):
                        await changed.wait()


def _build_entry(db: Database, line: ChatLine, chat_key: str, now: int) -> ChatEntry:
    answers = () if line.turn_id is None else chat_lines.list_answered_message_ids(db, line.turn_id)
    asks, text, code = line.is_open_question(now), line.body, line.code or ""
    if asks:
        text = chat_texts.cut_answers(text)
    elif line.mode == "edit":  # it repeats the question
        text = text.rpartition("\n\n")[2]
    return ChatEntry(
        position=line.id,
        text=text,
        markdown=line.markdown,
        at=line.created_at / 1000,
        source=_classify_source(line, chat_key),
        agent_id=line.agent_id or "",
        turn_id=line.turn_id or "",
        answers=answers if line.reply_to is None else (*answers, line.reply_to),
        asks=code if asks else "",
        settles=code if line.mode == "edit" else "",
    )


def _classify_source(line: ChatLine, chat_key: str) -> str:
    if line.turn_id is None:
        return "notice"
    if line.recipe == "proactive":
        return "task"
    return "answer" if line.turn_chat == chat_key and line.is_reply else "tool"


def _build_event(chat: str, event: ActivityEvent) -> ChatEvent:
    match event:
        case AnswerGrew(turn_id, text):
            return ChatEvent(chat=chat, answer=GrowingAnswer(turn_id=turn_id, text=text))
        case CallStarted():
            return ChatEvent(chat=chat, call=_build_call(event))
        case CallFinished(call, seconds, problem):
            return ChatEvent(chat=chat, call=_build_call(call, seconds, problem))


def _build_call(
    call: CallStarted, seconds: float | None = None, problem: str | None = None
) -> ChatCall:
    return ChatCall.from_object(call, seconds=seconds, problem=problem and problem[:EXCERPT])
