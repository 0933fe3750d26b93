"""Chat completions: OpenAI's own client against the real daemon."""

from pathlib import Path
from typing import Any

import openai
import pytest
from fakes.api_client import CHAT_TOOL, ScriptedModel, ask_for_weather, endpoints
from fakes.held_model import HeldModel, system
from fakes.journal import reading_in
from fakes.model_api import Reply

from orchestrator.extensions.http_api import stored_requests

pytestmark = pytest.mark.process
SCHEMA: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "person",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
            "additionalProperties": False,
        },
    },
}


async def test_question_is_answered_with_the_history_that_it_brings(tmp_path: Path) -> None:
    """The agent's prompt first, the client's instructions last; nothing else is remembered."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        said: Any = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"},
            {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
        ]
        done = await api.client.chat.completions.create(
            model="work", messages=said, temperature=0.1, max_completion_tokens=9
        )
        assert done.choices[0].message.content == "work-model: two"
        assert (done.choices[0].finish_reason, done.model) == ("stop", "work")
        assert done.usage is not None
        assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens
        asked = await model.asked("two")
        assert system(asked).startswith("You are work.\n\n")
        assert system(asked).endswith("\n\nBe brief.\n\nBe kind.")
        assert asked.body["temperature"] == 0.1
        assert 9 in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))
        await api.client.chat.completions.create(model="work", messages=api.say("three"))
        told = [m["content"] for m in (await model.asked("three")).body["messages"][1:]]
        assert told == ["three"]
        assert [item.id async for item in api.client.models.list()] == ["work"]


async def test_stream_is_the_same_text_piece_by_piece(tmp_path: Path) -> None:
    """Also what is said between calls of the agent's own tools, which the client does not see."""

    def script(body: dict[str, Any]) -> Reply | None:
        if body["messages"][-1]["role"] == "tool":
            return Reply("It is late.", chunk=3)
        return Reply("Let me look.", tool_calls=(("get_time", {}),))

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        stream = await api.client.chat.completions.create(
            model="work",
            messages=api.say("time?"),
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text.endswith("It is late.")
    assert text in {"It is late.", "Let me look.\n\nIt is late."}
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert not any(c.choices[0].delta.tool_calls for c in chunks if c.choices)


@pytest.mark.parametrize("stream", [False, True])
async def test_calls_are_handed_back_and_their_results_go_on(
    tmp_path: Path, *, stream: bool
) -> None:
    """The agent's own tool runs inside; what it found is known when the results come."""
    async with ScriptedModel(ask_for_weather) as model, endpoints(tmp_path, model) as api:
        said = api.say("weather?")
        if stream:
            async with api.client.chat.completions.stream(
                model="work", messages=said, tools=[CHAT_TOOL]
            ) as events:
                first: Any = await events.get_final_completion()
        else:
            first = await api.client.chat.completions.create(
                model="work", messages=said, tools=[CHAT_TOOL]
            )
        assert first.choices[0].finish_reason == "tool_calls"
        (call,) = first.choices[0].message.tool_calls
        assert (call.function.name, call.function.arguments) == ("get_weather", '{"city":"Oslo"}')
        answer = first.choices[0].message.model_dump(exclude_none=True, exclude={"parsed"})
        for made in answer["tool_calls"]:
            made["function"].pop("parsed_arguments", None)
        result: Any = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
        done = await api.client.chat.completions.create(
            model="work", messages=[*said, answer, result], tools=[CHAT_TOOL]
        )
        assert done.choices[0].message.content == "tool: rain"
        roles = [m["role"] for m in model.requests[-1].body["messages"][1:]]
        assert roles == ["user", "assistant", "tool", "assistant", "tool"]
        report = await api.daemon.status()
        assert report.recent_turns[1].stop_reason == "handed_back"


async def test_one_call_at_a_time_is_all_that_a_program_may_ask_for(tmp_path: Path) -> None:
    """Of several calls in a response the first is handed back; the model learns of no other."""

    def script(_body: dict[str, Any]) -> Reply:
        cities = ({"city": "Oslo"}, {"city": "Rome"})
        return Reply(tool_calls=tuple(("get_weather", city) for city in cities))

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        said = api.say("weather?")
        for parallel, count in ((True, 2), (False, 1)):
            done = await api.client.chat.completions.create(
                model="work", messages=said, tools=[CHAT_TOOL], parallel_tool_calls=parallel
            )
            assert len(done.choices[0].message.tool_calls or ()) == count


async def test_tool_of_the_program_hides_ours_of_its_name(tmp_path: Path) -> None:
    """Ours is not run in its place."""
    model = ScriptedModel(lambda _: Reply(tool_calls=(("get_profile", {}),)))
    tool: Any = {"type": "function", "function": {"name": "get_profile", "parameters": {}}}
    async with model, endpoints(tmp_path, model) as api:
        done = await api.client.chat.completions.create(
            model="work", messages=api.say("who am I?"), tools=[tool]
        )
        assert done.choices[0].finish_reason == "tool_calls"
        calls: Any = done.choices[0].message.tool_calls
        assert [made.function.name for made in calls] == ["get_profile"]
    with reading_in(tmp_path) as db:
        stored = str(db.execute("SELECT result FROM step WHERE kind = 'tool'").get)
    assert stored_requests.HANDED_BACK in stored


async def test_model_without_tool_calls_hands_back_what_it_wrote(tmp_path: Path) -> None:
    """ToolCalls text: the block stands before the prompt, the forced call is demanded."""
    text = '<tool_call>{"name":"get_weather","arguments":"{\\"city\\":\\"Oslo\\"}"}</tool_call>'

    def script(body: dict[str, Any]) -> Reply | None:
        results = "<tool_result" in body["messages"][-1]["content"]
        return Reply("It rains." if results else text, chunk=1)

    async with ScriptedModel(script) as model, endpoints(tmp_path, model, toolCalls="text") as api:
        said = [{"role": "system", "content": "Be brief."}, *api.say("weather?")]
        forced: Any = {"type": "function", "function": {"name": "get_weather"}}
        first = await api.client.chat.completions.create(
            model="work", messages=said, tools=[CHAT_TOOL], tool_choice=forced
        )
        calls: Any = first.choices[0].message.tool_calls
        (call,) = calls
        told = system(model.requests[0])
        assert told.startswith("## Tools\n")
        assert 'Tool choice is forced: you MUST call "get_weather".' in told
        assert told.endswith("Be brief.")
        assert "tools" not in model.requests[0].body
        answer: Any = first.choices[0].message.model_dump(exclude_none=True)
        result: Any = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
        done = await api.client.chat.completions.create(
            model="work", messages=[*said, answer, result], tools=[CHAT_TOOL]
        )
        assert done.choices[0].message.content == "It rains."


async def test_answer_has_the_form_that_is_asked_for(tmp_path: Path) -> None:
    """What does not fit is asked for again; what never fits is an error, not an answer."""

    def script(body: dict[str, Any]) -> Reply | None:
        if "never" in str(body["messages"][1]["content"]):
            return Reply("I would rather not.")
        if len(body["messages"]) == 2:
            return Reply('```json\n{"name": "Ada"}\n```')
        return Reply('Here: {"name": "Ada", "age": 36}')

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        done = await api.client.chat.completions.create(
            model="work", messages=api.say("who?"), response_format=SCHEMA
        )
        assert done.choices[0].message.content == '{"name":"Ada","age":36}'
        assert "age" in str(model.requests[1].body["messages"][-1]["content"])
        with pytest.raises(openai.InternalServerError) as failed:
            await api.client.chat.completions.create(
                model="work", messages=api.say("never"), response_format=SCHEMA
            )
        assert failed.value.code == "output"
        with pytest.raises(openai.BadRequestError) as refused:
            await api.client.chat.completions.create(
                model="work",
                messages=api.say("who?"),
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": {"type": "array"}},
                },
            )
        assert refused.value.param == "response_format"
