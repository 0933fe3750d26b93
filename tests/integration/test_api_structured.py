"""Structured answers: OpenAI's own client parses them, and is told what was repaired."""

from pathlib import Path
from typing import Any

import pytest
from fakes.api_client import ScriptedModel, endpoints
from fakes.control_server import command
from fakes.held_model import agent
from fakes.model_api import Reply
from pydantic import BaseModel, Field

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]
CUT = '{"name": "Ada", "born": {"year": 1815'


class Birth(BaseModel):
    """An object within the answer."""

    year: int = Field(ge=1000)


class Person(BaseModel):
    """What the answer has to be."""

    name: str
    born: Birth | None


ADA = Person(name="Ada", born=Birth(year=1815))


@pytest.mark.parametrize("stream", [False, True])
async def test_parsed_answer_is_the_clients_own_model(tmp_path: Path, *, stream: bool) -> None:
    """One that does not fit is asked for again; one that was left open is said to be repaired."""

    def script(body: dict[str, Any]) -> Reply | None:
        again = body["messages"][-1]["content"].startswith("Your answer cannot be used")
        return Reply(CUT if again else '{"name": "Ada", "born": {"year": 15}}')

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        ask: Any = {
            "model": "work",
            "messages": api.say("who?"),
            "response_format": Person,
        }
        if stream:
            async with api.client.chat.completions.stream(**ask) as events:
                chunks = [event.chunk async for event in events if event.type == "chunk"]
                done: Any = await events.get_final_completion()
            told: Any = chunks[-1]
        else:
            told = done = await api.client.chat.completions.parse(**ask)
        assert done.choices[0].message.parsed == ADA
        assert told.metadata == {"repaired": "true"}
        request_id = done.id.removeprefix("chatcmpl-")
        whole = await api.client.responses.parse(
            model="work", input="who?", text_format=Person, metadata={"of": "client"}
        )
        assert whole.output_parsed == ADA
        assert whole.metadata == {"of": "client", "repaired": "true"}
    shown = command(tmp_path, "trace", f"api:{request_id}", "--json").stdout
    assert shown.count("the answer was repaired: it was cut or not valid JSON") == 1


async def test_schema_is_sent_to_the_model_that_takes_it_and_not_insisted_on(
    tmp_path: Path,
) -> None:
    """Beside the agent's tools where the operator says so; what fits at once is as it was."""
    answer = '{"name": "Ada", "born": {"year": 1815}}'

    def script(body: dict[str, Any]) -> Reply | None:
        refuses = body["model"] == "home-model"
        if refuses and "response_format" in body:
            return Reply("unknown field response_format", status=400)
        return Reply(answer)

    fields: Any = {"structuredOutput": "native"}
    async with ScriptedModel(script) as model, endpoints(tmp_path, model, **fields) as api:
        ask: Any = {"messages": api.say("who?"), "response_format": Person}
        done: Any = await api.client.chat.completions.parse(model="work", **ask)
        assert done.choices[0].message.parsed == ADA
        assert done.model_extra == {}
        asked = model.requests[0].body
        sent = asked["response_format"]["json_schema"]
        assert sent["strict"] is True
        assert sent["schema"]["additionalProperties"] is False
        assert "minimum" not in str(sent["schema"])
        assert "tools" in asked
        assert '"minimum"' in asked["messages"][0]["content"]
        api.daemon.write({"agents": [agent("home", model, allowedTools=["nothing"])]})
        await api.daemon.logged("config_applied")
        for _ in range(2):
            done = await api.client.chat.completions.parse(model="home", **ask)
            assert done.choices[0].message.parsed == ADA
        bodies = [request.body for request in model.requests[1:]]
        assert ["response_format" in body for body in bodies] == [True, False, False]
