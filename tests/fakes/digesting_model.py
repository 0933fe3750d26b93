"""A model on loopback that is also asked for summaries and facts."""

from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import SocketStream
from fakes.held_model import HeldModel, said
from fakes.model_api import Received, Reply
from fakes.time_limit import time_limit

FACT = '{"facts": [{"fact": "The user likes tea.", "category": "preference", "confidence": 1}]}'


class DigestingModel(HeldModel):
    """Numbers its summaries, knows one fact; ``let_go`` can hold such answers back.

    ``find_facts`` returns its answer to a request for facts.
    """

    def __init__(self, find_facts: Callable[[str], str] = lambda _: FACT) -> None:
        super().__init__()
        self.find_facts = find_facts
        self.summaries = 0
        self.let_go = anyio.Event()
        self.let_go.set()

    def echo(self, body: dict[str, Any]) -> Reply:
        """A summary, a fact, or what a conversation calls for."""
        if not digests(body):
            return self.converse(body)
        if "DO NOT extract" in said(body):
            return Reply(self.find_facts(said(body)))
        self.summaries += 1
        return Reply(f"Summary {self.summaries}.")

    def converse(self, body: dict[str, Any]) -> Reply:
        """What was said."""
        return super().echo(body)

    async def _answer(self, stream: SocketStream, body: dict[str, Any], reply: Reply) -> bool:
        if digests(body):
            await self.let_go.wait()
        return await super()._answer(stream, body, reply)

    def digested(self) -> list[Received]:
        """The requests for summaries and facts."""
        return [request for request in self.requests if digests(request.body)]

    async def digest(self, times: int = 1) -> Received:
        """The ``times``-th of them, waited for."""
        with time_limit():
            while len(found := self.digested()) < times:
                await self.received.wait()
        return found[times - 1]


def digests(body: dict[str, Any]) -> bool:
    """Whether a request is for a summary or facts."""
    return "--- summary so far" in said(body) or "DO NOT extract" in said(body)
