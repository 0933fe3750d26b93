"""A client watches a console chat of a real daemon: text, calls, questions, its own and others'."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest
from fakes.daemon import RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.model_api import Reply
from fakes.time_limit import LIMIT, time_limit

from orchestrator.cli.conversation import make_event_handlers
from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import (
    Ack,
    ApprovalDecision,
    ChatEntry,
    ChatEvent,
    ChatScene,
    ChatSend,
    ChatWatch,
)
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
FACT = {"fact": "Likes tea.", "category": "preference"}


def config(model: HeldModel, **work: Any) -> JsonObject:
    """One agent, to whom all consoles lead."""
    console: JsonObject = {"channel": "console", "chatId": "*", "agentId": "work"}
    return {"agents": [agent("work", model, **work)], "bindings": [console]}


class Watcher:
    """What a client that watches a chat has been told; ``scene`` is how it began."""

    def __init__(self) -> None:
        self.events: list[ChatEvent] = []
        self.scene: ChatScene
        self._told = anyio.Event()

    def see(self, event: ChatEvent) -> None:
        """Keep an event."""
        self.events.append(event)
        self._told.set()
        self._told = anyio.Event()

    async def until(self, found: Callable[[ChatEvent], bool]) -> ChatEvent:
        """The first event of which ``found`` holds."""
        with time_limit():
            while not (matching := [*filter(found, self.events)]):
                await self._told.wait()
        return matching[0]

    async def message(self, found: Callable[[ChatEntry], bool]) -> ChatEntry:
        """The first message of which ``found`` holds."""
        event = await self.until(lambda event: event.message is not None and found(event.message))
        assert event.message is not None
        return event.message


@asynccontextmanager
async def watching(daemon: RunningDaemon, **request: Any) -> AsyncIterator[Watcher]:
    """A client that watches the chat ``c``."""
    watcher = Watcher()
    async with open_control_connection(
        daemon.settings, make_event_handlers("c", watcher.see)
    ) as peer:
        watch = ChatWatch(chat="c", **request)
        watcher.scene = await peer.call(protocol.CHAT_WATCH, watch, ChatScene, timeout=LIMIT)
        yield watcher


async def say(daemon: RunningDaemon, text: str, chat: str = "c") -> str:
    """Send a message to a chat and return its id."""
    message = ChatSend(chat=chat, message=str(uuid4()), text=text)
    await daemon.ask(protocol.CHAT_SEND, message, Ack)
    return message.message


async def test_watcher_sees_the_text_before_a_call_the_call_and_the_reply(tmp_path: Path) -> None:
    """In this order, the text whole; nothing of other chats."""
    async with HeldModel() as model, running_daemon(tmp_path, config(model)) as daemon:
        calls = (("get_time", {"timezone": "UTC"}), ("get_time", {"nonsense": 1}))
        model.script.append(Reply("I look at the clock.", tool_calls=calls))
        async with watching(daemon) as watcher:
            asked = await say(daemon, "what time?")
            await model.asked("what time?")
            other = await say(daemon, "elsewhere", chat="other")
            reply = await watcher.message(lambda message: asked in message.answers)
    assert watcher.scene.agent_id == "work"
    assert (watcher.scene.provider, watcher.scene.model) == ("openai", "work-model")
    assert watcher.scene.agents == ("work",)
    assert "stop" in watcher.scene.commands
    assert (reply.text, reply.source) == ("work-model: what time?", "answer")
    texts = [event.answer.text for event in watcher.events if event.answer is not None]
    calls_seen = [event.call for event in watcher.events if event.call is not None]
    ended = [call for call in calls_seen if call.seconds is not None]
    assert "I look at the clock." in texts
    assert [(call.tool, call.arguments, call.problem is None) for call in ended] == [
        ("get_time", {"timezone": "UTC"}, True),
        ("get_time", {"nonsense": 1}, False),
    ]
    assert {call.turn_id for call in ended} == {reply.turn_id}
    answers = [event.message.answers for event in watcher.events if event.message]
    assert other not in [answer for found in answers for answer in found]


async def test_question_is_asked_and_settled_for_all_who_watch(tmp_path: Path) -> None:
    """Whoever decides; a client that comes meanwhile finds it open."""
    async with HeldModel() as model:
        settings = config(model, approvals=["store_*"])
        async with running_daemon(tmp_path, settings) as daemon, watching(daemon) as watcher:
            model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
            await say(daemon, "remember tea")
            question = await watcher.message(lambda message: bool(message.asks))
            async with watching(daemon) as late:
                (found,) = late.scene.questions
            decision = ApprovalDecision(code=question.asks, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            settled = await watcher.message(lambda message: message.settles == question.asks)
            await watcher.message(lambda message: message.source == "answer")
    assert found == question
    assert question.text.endswith("```")
    assert '"fact": "Likes tea."' in question.text
    assert "/approve" not in question.text
    assert settled.text == "\u2705 Approved once by `operator`."


async def test_client_that_comes_back_gets_what_it_missed_and_nothing_twice(
    tmp_path: Path,
) -> None:
    """By position, across a restart; a new client gets the last exchanges instead."""
    async with HeldModel() as model:
        async with running_daemon(tmp_path, config(model)) as daemon:
            async with watching(daemon) as watcher:
                first = await say(daemon, "one")
                seen = await watcher.message(lambda message: first in message.answers)
            second = await say(daemon, "two")
            async with watching(daemon, after=seen.position) as again:
                await again.message(lambda message: second in message.answers)
        async with running_daemon(tmp_path, config(model)) as daemon:
            async with watching(daemon, after=seen.position) as again:
                await again.message(lambda message: second in message.answers)
            async with watching(daemon, recent=1) as fresh:
                third = await say(daemon, "/help")
                await fresh.message(lambda message: third in message.answers)
    told = [event.message.text for event in again.events if event.message is not None]
    assert told == ["work-model: two"]
    (exchange,) = fresh.scene.recent
    assert (exchange.text, exchange.reply) == ("two", "work-model: two")
    (help_text,) = [event.message for event in fresh.events if event.message is not None]
    assert (help_text.source, help_text.markdown) == ("notice", False)
