"""OpenAI's official client, unmodified, on a daemon's endpoints."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.calling_model import CallingModel
from fakes.daemon import RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.model_api import Reply
from openai import AsyncOpenAI

from orchestrator.extensions.http_api.token import TokenFile
from thinker.protocol.messages import JsonObject

ANY_PORT = {"ORCHESTRATOR_API_PORT": "0"}
WEATHER: Any = {
    "name": "get_weather",
    "description": "The weather at a place.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
CHAT_TOOL: Any = {"type": "function", "function": WEATHER}
RESPONSE_TOOL: Any = {"type": "function", **WEATHER}


class ScriptedModel(CallingModel):
    """Answers with what a function of the request's body says; None leaves it to the caller."""

    def __init__(self, script: Callable[[dict[str, Any]], Reply | None]) -> None:
        super().__init__()
        self._script = script

    def echo(self, body: dict[str, Any]) -> Reply:
        """What the script says, else as `CallingModel`."""
        return self._script(body) or super().echo(body)


def ask_for_weather(body: dict[str, Any]) -> Reply:
    """Call the agent's own tool, then the client's; then say what the client's found."""
    roles = [message["role"] for message in body["messages"][1:]]
    if roles == ["user"]:
        return Reply("Let me see.", tool_calls=(("get_time", {}),))
    if roles == ["user", "assistant", "tool"]:
        return Reply("It rains?", tool_calls=(("get_weather", {"city": "Oslo"}),))
    return Reply(f"{roles[-1]}: {body['messages'][-1]['content']}")


@dataclass
class Endpoints:
    """A daemon and a client of its endpoints."""

    daemon: RunningDaemon
    client: AsyncOpenAI

    async def whole(self, text: str) -> None:
        """Wait for the answer to one message."""
        await self.client.chat.completions.create(model="work", messages=self.say(text))

    async def streamed(self, text: str) -> None:
        """Read the answer to one message to its end."""
        chat = await self.client.chat.completions.create(
            model="work", messages=self.say(text), stream=True
        )
        async for _ in chat:
            pass

    def say(self, text: str) -> Any:
        """One message of a user."""
        return [{"role": "user", "content": text}]


async def address(daemon: RunningDaemon, times: int = 1) -> str:
    """Where the endpoints are, once they are opened for the ``times``-th time."""
    return str((await daemon.logged("api_listening", times))["address"])


@asynccontextmanager
async def endpoints(
    home: Path, model: HeldModel, env: Mapping[str, str] | None = None, **fields: Any
) -> AsyncIterator[Endpoints]:
    """A daemon with one agent, and a client that has its token and does not repeat by itself."""
    config: JsonObject = {"agents": [agent("work", model, **fields)]}
    async with endpoints_of(home, config, env) as found:
        yield found


@asynccontextmanager
async def endpoints_of(
    home: Path, config: JsonObject, env: Mapping[str, str] | None = None
) -> AsyncIterator[Endpoints]:
    """A daemon with this configuration, and such a client."""
    token = TokenFile(home / "api-token").make_token()
    async with (
        running_daemon(home, config, env={**ANY_PORT, **(env or {})}) as daemon,
        AsyncOpenAI(api_key=token, base_url=await address(daemon), max_retries=0) as client,
    ):
        yield Endpoints(daemon, client)
