"""A visit to the museum: one server that replays a case, and an agent that talks to it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import anyio
import orjson
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.museum import Case, Exhibit, Say, holds
from fakes.scripted import Committed, MemoryHost, turn_run

from orchestrator.testing.loopback import MAX_HEAD, LoopbackServer
from thinker.agent import Agent
from thinker.models.base import ModelRequest, ModelResponse, ModelWrapper
from thinker.models.choose import choose_model
from thinker.models.retry import FallbackModel, RetryingModel
from thinker.protocol.degradations import Degradation
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import JsonObject, Message, SideEffect, ToolSpec, UserMessage
from thinker.protocol.methods import StopReason, TurnResult
from thinker.protocol.providers import PROVIDERS

OBJECT: JsonObject = {"type": "object", "properties": {}}


@dataclass
class Visit:
    """What came of a conversation; ``requests`` are the bodies that the provider was sent."""

    results: list[TurnResult] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    degraded: list[Degradation] = field(default_factory=list)


class MuseumServer(LoopbackServer):
    """Replays a case's responses, in pieces of ``size`` bytes (0: whole)."""

    def __init__(self, exhibits: Iterable[Exhibit], visit: Visit, size: int) -> None:
        self._plain = [one for one in exhibits if not one.when and one.method == "POST"]
        self._chosen = [one for one in exhibits if one.when or one.method != "POST"]
        self._visit, self._size = visit, size

    async def _serve_connection(self, stream: SocketStream) -> None:
        received = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                while await self._answer(stream, received):
                    pass
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return

    async def _answer(self, stream: SocketStream, received: BufferedByteReceiveStream) -> bool:
        head = (await received.receive_until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
        line, *fields = head.split("\r\n")
        method, path = line.split()[:2]
        headers = {
            name.lower(): value.strip() for name, _, value in (one.partition(":") for one in fields)
        }
        data = await received.receive_exactly(int(headers.get("content-length", 0)))
        if method == "POST":
            self._visit.requests.append((path, headers, data))
        chosen = self._choose(method, path, headers, data)
        if chosen is None:
            await stream.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        await self._send(stream, chosen)
        return not chosen.cut

    def _choose(
        self, method: str, path: str, headers: dict[str, str], data: bytes
    ) -> Exhibit | None:
        for one in self._chosen:
            fits = one.method == method and path.endswith(one.path)
            if fits and all(holds(condition, path, headers, data) for condition in one.when):
                return one
        if method != "POST" or not self._plain:
            return None
        return self._plain.pop(0) if len(self._plain) > 1 else self._plain[0]

    async def _send(self, stream: SocketStream, exhibit: Exhibit) -> None:
        more = "".join(f"{name}: {value}\r\n" for name, value in exhibit.headers.items())
        head = f"HTTP/1.1 {exhibit.status} X\r\nContent-Type: {exhibit.kind}\r\n{more}"
        await stream.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        size = self._size or len(exhibit.body) or 1
        for start in range(0, len(exhibit.body), size):
            piece = exhibit.body[start : start + size]
            await stream.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        if not exhibit.cut:
            await stream.send(b"0\r\n\r\n")


@dataclass(eq=False)
class _Watched(ModelWrapper):
    """Keeps what the answers had to do without."""

    visit: Visit

    async def complete(self, request: ModelRequest) -> ModelResponse:
        response = await self.model.complete(request)
        self.visit.degraded += response.degraded
        return response


async def visit_case(case: Case, *, size: int = 0, crash: bool = False) -> Visit:
    """Hold a case's conversation; with ``crash`` each step is made by a new process."""
    visit = Visit()
    async with MuseumServer(case.exhibits, visit, size) as server:
        history: list[Message] = []
        agents: dict[str, Agent] = {}
        try:
            for number, say in enumerate(case.says):
                await _say(case, say, number, server.url, history, agents, visit, crash=crash)
        finally:
            for agent in agents.values():
                await agent.aclose()
    return visit


async def _say(
    case: Case,
    say: Say,
    number: int,
    url: str,
    history: list[Message],
    agents: dict[str, Agent],
    visit: Visit,
    *,
    crash: bool,
) -> None:
    turn = turn_run(say.text, *map(_read_tool, case.tools), history=tuple(history), stream=True)
    turn = turn.model_copy(update={"turn_id": f"t{number}"})
    host, key = MemoryHost(), repr(say.settings)
    while True:
        agent = agents.get(key) or _open_agent(say, url, visit)
        agents[key] = agent
        if crash:
            host.drain_after = len(host.commits) + 1
        result = await agent.run_turn(turn, host)
        if result.stop_reason is not StopReason.DRAINED:
            break
        await agents.pop(key).aclose()
        recorded = host.recorded()
        turn, host = turn.model_copy(update={"steps": recorded}), host.resumed(recorded)
    visit.results.append(result)
    visit.commits += host.commits
    visit.shown += host.shown
    history.append(UserMessage(content=say.text))
    for step in host.recorded():
        history.append(step.response)
        history += [call.result for call in step.calls if call.result is not None]


def _open_agent(say: Say, url: str, visit: Visit) -> Agent:
    settings = ThinkerSettings(base_url=f"{url}/v1", **say.settings)
    key = PROVIDERS[settings.llm_provider].key_var if settings.llm_provider in PROVIDERS else None
    model = choose_model(settings, {key: "key"} if key else {})
    assert isinstance(model, FallbackModel)

    async def note_wait(seconds: float) -> None:
        visit.waits.append(seconds)

    for one in model.models:
        assert isinstance(one, RetryingModel)
        one.retries = replace(one.retries, sleep=note_wait)
    return Agent(settings, _Watched(model, visit))


def _read_tool(given: object) -> ToolSpec:
    """Return a tool of a case: its name, or ``[name, schema]``."""
    name, schema = given if isinstance(given, list) else (given, OBJECT)
    return ToolSpec(
        name=str(name),
        description=f"Does {name}.",
        parameters=orjson.loads(orjson.dumps(schema)),
        side_effect=SideEffect.PURE,
    )
