"""A model on loopback whose answers a test can hold back and wait for, and who asks it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.model_api import Received, Reply
from fakes.openai_api import OpenAIApi
from fakes.time_limit import time_limit

from thinker.protocol.messages import JsonObject


class HeldModel(OpenAIApi):
    """Repeats what was said after the name of the model that was asked."""

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        super().__init__(reply)
        self._gates: dict[str, anyio.Event] = {}

    def echo(self, body: dict[str, Any]) -> Reply:
        """``<model>: <newest user text>``."""
        return Reply(f"{body['model']}: {said(body)}")

    def hold(self, text: str) -> anyio.Event:
        """Answer no request whose newest user text is this until the event is set."""
        return self._gates.setdefault(text, anyio.Event())

    async def asked(self, text: str, times: int = 1) -> Received:
        """The ``times``-th request whose newest user text is this, waited for.

        Raises:
            TimeoutError: it never came.
        """
        with time_limit():
            while len(found := self.requests_about(text)) < times:
                await self.received.wait()
        return found[times - 1]

    def requests_about(self, text: str) -> list[Received]:
        """The requests whose newest user text is this."""
        return [request for request in self.requests if said(request.body) == text]

    async def _answer(self, stream: SocketStream, body: dict[str, Any], reply: Reply) -> bool:
        if gate := self._gates.get(said(body)):
            await gate.wait()
        return await super()._answer(stream, body, reply)


def said(body: dict[str, Any]) -> str:
    """The newest user text of a request."""
    return str(next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user"))


def system(request: Received) -> str:
    """The system prompt of a request."""
    first = request.body["messages"][0]
    assert first["role"] == "system"
    return str(first["content"])


def agent(agent_id: str, model: HeldModel, **fields: Any) -> JsonObject:
    """An agent that talks to this model, as ``<agentId>-model``."""
    return {
        "agentId": agent_id,
        "llmProvider": "openai",
        "baseUrl": f"{model.url}/v1",
        "model": f"{agent_id}-model",
        "systemPrompt": f"You are {agent_id}.",
        **fields,
    }


def two_agents(model: HeldModel, **work: Any) -> JsonObject:
    """The example of the issue: chat 123 is answered by work, all others by home; all admitted."""
    return {
        "agents": [agent("work", model, **work), agent("home", model)],
        "bindings": [
            {"channel": "telegram", "chatId": "123", "agentId": "work"},
            {"channel": "telegram", "chatId": "*", "agentId": "home"},
        ],
        "channels": {"telegram": {"access": "open"}},
    }


@asynccontextmanager
async def held_daemon(
    home: Path,
) -> AsyncIterator[tuple[FakeBotApi, HeldModel, RunningDaemon]]:
    """A Telegram, a model, and a daemon with `two_agents` between them."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel() as model,
        running_daemon(home, two_agents(model), bot) as daemon,
    ):
        yield bot, model, daemon
