"""A pigeon loft: the server of Pigeon, with Ann, Bob and the bot."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

TOKEN = "pigeon-secret"
MOST = 32 * 1024 * 1024  # bytes of a line
Letter = dict[str, Any]


@dataclass
class Loft:
    """All letters, by their numbers. ``losing``: answers to the bot get lost."""

    tasks: TaskGroup
    people: set[str] = field(default_factory=lambda: {"ann", "bob"})
    letters: list[Letter] = field(default_factory=list)
    losing: bool = False
    port: int = 0
    _grown: anyio.Event = field(default_factory=anyio.Event)
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _closed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def address(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self.port}"

    def post(self, sender: str, chat: str, text: str, *, key: str = "", **more: str) -> Letter:
        """Take a letter; one of the bot with a key that is known is not taken again."""
        for known in self.letters:
            if key and known["key"] == key:
                return known
        number = len(self.letters)
        letter: Letter = {"number": number, "id": f"p{number}", "from": sender, "chat": chat}
        letter |= {"text": text, "key": key, "file": "", "name": "", "burnt": False, **more}
        self.letters.append(letter)
        self._grown.set()
        self._grown = anyio.Event()
        return letter

    def shown(self, chat: str) -> list[str]:
        """What a chat shows of the bot."""
        own = [one for one in self.letters if (one["from"], one["chat"]) == ("bot", chat)]
        return [one["text"] or one["name"] for one in own if not one["burnt"]]

    async def until(self, chat: str, count: int) -> list[str]:
        """What a chat shows of the bot, once it is so much."""
        while len(self.shown(chat)) < count:
            await self._grown.wait()
        return self.shown(chat)

    async def serve(self, stream: SocketStream) -> None:
        """Answer one connection."""
        lines = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                question = json.loads(await lines.receive_until(b"\n", MOST))
                if "listen" in question:
                    await self._tell(stream, question)
                    return
                answer = self._answer(question)
                if not self.losing:
                    await stream.send(json.dumps(answer).encode() + b"\n")
            except (anyio.EndOfStream, anyio.IncompleteRead, OSError, anyio.BrokenResourceError):
                return

    async def _tell(self, stream: SocketStream, question: Letter) -> None:
        """Tell all letters behind a number, and those that come."""
        assert question["listen"] == TOKEN
        last = len(self.letters) - 1
        place = last if question["after"] is None else question["after"]
        await stream.send(json.dumps({"last": last}).encode() + b"\n")
        while True:
            grown = self._grown
            for letter in self.letters[place + 1 :]:
                place = letter["number"]
                told = {**letter, "file": ""}
                await stream.send(json.dumps(told).encode() + b"\n")
            await grown.wait()

    def _answer(self, question: Letter) -> Letter:
        token = next(
            question[verb] for verb in ("send", "rewrite", "burn", "fetch") if verb in question
        )
        assert token == TOKEN
        if "send" in question:
            if question["to"] not in self.people:
                return {"refused": f"nobody is called {question['to']}"}
            more = {name: question[name] for name in ("file", "name") if name in question}
            return self.post("bot", question["to"], question["text"], key=question["key"], **more)
        found = next(one for one in self.letters if one["id"] == question["id"])
        if "rewrite" in question:
            found["text"] = question["text"]
        found["burnt"] |= "burn" in question
        return found

    async def listen(self, *, task_status: TaskStatus[None]) -> None:
        """Take connections until `cut_off`."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port)
        self._closed = anyio.Event()
        with self._scope:
            async with listener:
                self.port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - anyio's, not of Django
                task_status.started()
                await listener.serve(self.serve)
        self._closed.set()

    @asynccontextmanager
    async def cut_off(self) -> AsyncIterator[None]:
        """End all connections, and take none while the block runs."""
        self._scope.cancel()
        await self._closed.wait()
        yield
        self._scope = anyio.CancelScope()
        await self.tasks.start(self.listen)


@asynccontextmanager
async def open_loft() -> AsyncIterator[Loft]:
    """Serve a loft while the block runs."""
    async with anyio.create_task_group() as tasks:
        loft = Loft(tasks)
        await tasks.start(loft.listen)
        yield loft
        tasks.cancel_scope.cancel()


def encode(data: bytes) -> str:
    """Return a file as letters have it."""
    return base64.b64encode(data).decode()
