"""Loops of tools that the client runs, over several requests; connections that break in them."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from fakes.api_client import CHAT_TOOL, RESPONSE_TOOL, Endpoints, ScriptedModel, endpoints
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.time_limit import time_limit

from orchestrator.journal.inspect.invariants import check_invariants

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]
CITIES = ("Oslo", "Rome", "Lima", "Bern")


def travelling(body: dict[str, Any]) -> Reply:
    """One city after the other, then all that the tools found."""
    found = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    if len(found) < len(CITIES):
        return Reply(tool_calls=(("get_weather", {"city": CITIES[len(found)]}),))
    return Reply(", ".join(found))


async def chat(api: Endpoints, said: list[Any], *, stream: bool) -> Any:
    """The message of one chat completion."""
    ask: Any = {"model": "work", "messages": said, "tools": [CHAT_TOOL]}
    if not stream:
        return (await api.client.chat.completions.create(**ask)).choices[0].message
    async with api.client.chat.completions.stream(**ask) as events:
        return (await events.get_final_completion()).choices[0].message


@pytest.mark.parametrize("stream", [False, True])
async def test_chat_goes_back_and_forth_until_every_tool_has_answered(
    tmp_path: Path, *, stream: bool
) -> None:
    """Each request brings the whole history, as OpenAI's examples do; none of it is shortened."""
    async with ScriptedModel(travelling) as model, endpoints(tmp_path, model) as api:
        said: list[Any] = api.say("weather?")
        while (message := await chat(api, said, stream=stream)).tool_calls:
            answer = message.model_dump(exclude_none=True, exclude={"parsed"})
            said.append(answer)
            for call in message.tool_calls:
                city = json.loads(call.function.arguments)["city"]
                said.append({"role": "tool", "tool_call_id": call.id, "content": f"{city} fine"})
        assert message.content == ", ".join(f"{city} fine" for city in CITIES)
        assert len(model.requests) == len(CITIES) + 1
        ids = [call["id"] for turn in said if "tool_calls" in turn for call in turn["tool_calls"]]
        assert len(set(ids)) == len(CITIES)


@pytest.mark.parametrize("stream", [False, True])
async def test_responses_go_on_with_outputs_alone(tmp_path: Path, *, stream: bool) -> None:
    """The daemon remembers the calls and what came before them."""
    async with ScriptedModel(travelling) as model, endpoints(tmp_path, model) as api:
        ask: Any = {"model": "work", "input": "weather?", "tools": [RESPONSE_TOOL]}
        while True:
            if stream:
                async with api.client.responses.stream(**ask) as events:
                    done: Any = await events.get_final_response()
            else:
                done = await api.client.responses.create(**ask)
            calls = [item for item in done.output if item.type == "function_call"]
            if not calls:
                break
            outputs = [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": f"{json.loads(call.arguments)['city']} fine",
                }
                for call in calls
            ]
            ask |= {"input": outputs, "previous_response_id": done.id}
        assert done.output_text == ", ".join(f"{city} fine" for city in CITIES)
        assert len(model.requests) == len(CITIES) + 1


class HesitatingModel(ScriptedModel):
    """Looks at the clock, and says what it saw when it is let go on."""

    def __init__(self) -> None:
        super().__init__(self._hesitating)
        self.go_on = anyio.Event()

    def _hesitating(self, body: dict[str, Any]) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply("It is late.")
        fact = {"fact": "Asks for the time", "category": "preference"}
        return Reply("Let me look.", tool_calls=(("store_fact", fact),))

    async def _answer(self, stream: SocketStream, body: dict[str, Any], reply: Reply) -> bool:
        if body["messages"][-1]["role"] == "tool":
            await self.go_on.wait()
        return await super()._answer(stream, body, reply)


async def test_stream_that_is_cut_is_had_whole_by_asking_again(tmp_path: Path) -> None:
    """With the same key: the model is not asked again, the tool has run once."""
    async with HesitatingModel() as model, endpoints(tmp_path, model) as api:
        ask: Any = {
            "model": "work",
            "messages": api.say("time?"),
            "stream": True,
            "extra_headers": {"Idempotency-Key": "k1"},
        }
        with time_limit():
            async with await api.client.chat.completions.create(**ask) as cut:
                async for chunk in cut:
                    if chunk.choices[0].delta.content:
                        break
        model.go_on.set()
        again = [chunk async for chunk in await api.client.chat.completions.create(**ask)]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in again)
        assert text.endswith("It is late.")
        assert chunk.id == again[0].id
        assert again[-1].choices[0].finish_reason == "stop"
        assert len(model.requests) == 2
        report = await api.daemon.until(lambda report: report.open_turns == 0)
        assert report.inbox["done"] == 1
    with reading_in(tmp_path) as db:
        assert check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM fact").get == 1
