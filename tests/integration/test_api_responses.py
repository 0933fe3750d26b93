"""Responses: OpenAI's own client against the real daemon."""

from pathlib import Path
from typing import Any

import openai
import pytest
from fakes.api_client import RESPONSE_TOOL, ScriptedModel, endpoints
from fakes.held_model import HeldModel, said, system
from fakes.model_api import Reply
from pydantic import BaseModel

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]


class Person(BaseModel):
    """What the answer has to be."""

    name: str
    age: int


async def test_response_goes_on_from_another_one_and_in_a_conversation(tmp_path: Path) -> None:
    """The history is ours then; what is not stored cannot be gone on from."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        create = api.client.responses.create
        first = await create(model="work", input="one", instructions="Be brief.", store=True)
        assert (first.status, first.output_text) == ("completed", "work-model: one")
        assert first.usage is not None
        second = await create(model="work", input="two", previous_response_id=first.id)
        asked = await model.asked("two")
        told = [(m["role"], m["content"]) for m in asked.body["messages"][1:]]
        assert told == [("user", "one"), ("assistant", "work-model: one"), ("user", "two")]
        assert "Be brief." not in system(asked)  # instructions are those of one response
        await create(model="work", input="other", previous_response_id=first.id)
        assert len((await model.asked("other")).body["messages"]) == 4  # and not what two was
        for text in ("un", "deux"):
            await create(model="work", input=text, conversation="french")
        assert len((await model.asked("deux")).body["messages"]) == 4
        # Another person's, by Open WebUI's header or by the field, is another conversation.
        for text, person in (
            ("eins", {"extra_headers": {"x-openwebui-user-id": "ada"}}),
            ("zwei", {"user": "ada"}),
        ):
            await create(model="work", input=text, conversation="french", **person)
        heard = [m["content"] for m in (await model.asked("zwei")).body["messages"][1:]]
        assert heard == ["eins", "work-model: eins", "zwei"]
        lone = await create(model="work", input="lone", store=False)
        for unknown in (lone.id, "resp_0"):
            with pytest.raises(openai.BadRequestError) as refused:
                await create(model="work", input="x", previous_response_id=unknown)
            assert refused.value.param == "previous_response_id"
        assert second.previous_response_id == first.id


async def test_stream_is_put_together_by_the_client(tmp_path: Path) -> None:
    """Every event in its place: the client's own accumulation is the whole response."""
    reply = Reply("It is late, very late.", chunk=2)
    async with (
        ScriptedModel(lambda _: reply) as model,
        endpoints(tmp_path, model) as api,
        api.client.responses.stream(model="work", input="time?") as stream,
    ):
        kinds = [event.type async for event in stream]
        whole = await stream.get_final_response()
    assert whole.output_text == "It is late, very late."
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_function_calls_go_to_the_client_and_their_outputs_come_back(
    tmp_path: Path, *, stream: bool
) -> None:
    """The second request holds the outputs alone; what the agent did itself is remembered."""

    def script(body: dict[str, Any]) -> Reply | None:
        roles = [message["role"] for message in body["messages"][1:]]
        if roles == ["user"]:
            return Reply("I look.", tool_calls=(("get_time", {}),))
        if roles == ["user", "assistant", "tool"]:
            city = ("get_weather", {"city": "Oslo"})
            return Reply(tool_calls=(city, ("get_weather", {"city": "Rome"})))
        return Reply(",".join(m["content"] for m in body["messages"] if m["role"] == "tool")[-8:])

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        tools: Any = [RESPONSE_TOOL]
        if stream:
            async with api.client.responses.stream(
                model="work", input="weather?", tools=tools
            ) as events:
                first: Any = await events.get_final_response()
        else:
            first = await api.client.responses.create(model="work", input="weather?", tools=tools)
        calls = [item for item in first.output if item.type == "function_call"]
        assert [call.arguments for call in calls] == ['{"city":"Oslo"}', '{"city":"Rome"}']
        assert len({call.call_id for call in calls}) == 2
        outputs: Any = [
            {"type": "function_call_output", "call_id": call.call_id, "output": word}
            for call, word in zip(calls, ("rain", "sun"), strict=True)
        ]
        done = await api.client.responses.create(
            model="work", input=outputs, previous_response_id=first.id, tools=tools
        )
        assert done.output_text == "rain,sun"
        roles = [m["role"] for m in model.requests[-1].body["messages"][1:]]
        assert roles == ["user", "assistant", "tool", "assistant", "tool", "tool"]
        assert said(model.requests[-1].body) == "weather?"


async def test_answer_is_an_object_of_the_clients_model(tmp_path: Path) -> None:
    """The client's own parsing takes it, streamed or not."""

    def script(body: dict[str, Any]) -> Reply | None:
        assert '"age"' in body["messages"][0]["content"]
        broken = '{"name": "Ada", "age": "old"}'
        return Reply(broken if len(body["messages"]) == 2 else '{"name": "Ada", "age": 36}')

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        parsed = await api.client.responses.parse(model="work", input="who?", text_format=Person)
        assert parsed.output_parsed == Person(name="Ada", age=36)
        async with api.client.responses.stream(
            model="work", input="who?", text_format=Person
        ) as stream:
            whole = await stream.get_final_response()
        assert whole.output_parsed == Person(name="Ada", age=36)


async def test_model_that_fails_is_told_and_not_asked_again(tmp_path: Path) -> None:
    """The daemon has tried already, so the client's own retries would only double it."""
    reply = Reply("no such model", status=404, kind="invalid_request_error")
    async with ScriptedModel(lambda _: reply) as model, endpoints(tmp_path, model) as api:
        eager = api.client.with_options(max_retries=2)
        with pytest.raises(openai.InternalServerError) as failed:
            await eager.responses.create(model="work", input="hello")
        assert (failed.value.status_code, failed.value.code) == (502, "model_error")
        stream = await eager.responses.create(model="work", input="hello", stream=True)
        last = [event async for event in stream][-1]
        assert last.type == "response.failed"
        with pytest.raises(openai.APIError):
            await api.streamed("hello")
        assert (await api.daemon.status()).inbox["done"] == 3


async def test_response_is_read_again_until_it_is_deleted(tmp_path: Path) -> None:
    """As it was given, with what it was asked with; also after a restart of the client."""

    def script(body: dict[str, Any]) -> Reply | None:
        if "fail" in str(body["messages"][1:]):
            return Reply("no such model", status=404, kind="invalid_request_error")
        return None

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        responses = api.client.responses
        made = await responses.create(
            model="work",
            input="hello",
            instructions="Be brief.",
            tools=[RESPONSE_TOOL],
            temperature=0.5,
            metadata={"k": "v"},
        )
        again = await responses.retrieve(made.id)
        shown = {"id", "output", "status", "usage", "model", "temperature", "metadata"}
        assert again.model_dump(include=shown) == made.model_dump(include=shown)
        assert (again.instructions, again.tools[0].type) == ("Be brief.", "function")
        items: Any = [item async for item in responses.input_items.list(made.id)]
        assert [item.content[0].text for item in items] == ["hello"]
        with pytest.raises(openai.InternalServerError):
            await responses.create(model="work", input="fail")
        unkept = await responses.create(model="work", input="hi", store=False)
        await responses.delete(made.id)
        for gone in (made.id, unkept.id, "resp_x", "x"):
            with pytest.raises(openai.NotFoundError, match="unknown response"):
                await responses.retrieve(gone)
        with pytest.raises(openai.BadRequestError):
            await responses.create(model="work", input="more", previous_response_id=made.id)
