"""Conversations that clients make: OpenAI's own client against the real daemon."""

from pathlib import Path
from typing import Any

import openai
import pytest
from fakes.api_client import RESPONSE_TOOL, Endpoints, ScriptedModel, endpoints, endpoints_of
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]


def user(text: str) -> Any:
    """A message of the user."""
    return {"type": "message", "role": "user", "content": text}


def shown(item: Any) -> tuple[str, str]:
    """Who said what in an item."""
    if item.type == "message":
        return item.role, item.content[0].text
    return item.type, str(item.model_dump().get("output") or item.model_dump().get("name"))


async def all_items(api: Endpoints, name: str) -> list[Any]:
    """Every item of a conversation, the oldest first."""
    return [found async for found in api.client.conversations.items.list(name, order="asc")]


async def test_conversation_is_made_filled_read_and_deleted(tmp_path: Path) -> None:
    """What was put in reaches the model with the next request; ids stay the same."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        conversations = api.client.conversations
        made = await conversations.create(
            items=[user("My name is Ada."), {"role": "assistant", "content": "Hello Ada."}],
            metadata={"topic": "names"},
        )
        assert (made.object, made.metadata) == ("conversation", {"topic": "names"})
        assert await conversations.retrieve(made.id) == made
        changed = await conversations.update(made.id, metadata={"topic": "people"})
        assert (changed.id, changed.metadata) == (made.id, {"topic": "people"})
        early = await all_items(api, made.id)
        added = await conversations.items.create(made.id, items=[user("I am 36."), user("Oops.")])
        assert [shown(item) for item in added.data] == [("user", "I am 36."), ("user", "Oops.")]
        oops = str(added.data[1].id)
        kept = await conversations.items.delete(oops, conversation_id=made.id)
        assert kept.id == made.id
        await api.client.responses.create(model="work", conversation=made.id, input="Who am I?")
        asked = (await model.asked("Who am I?")).body["messages"][1:]
        assert [(m["role"], m["content"]) for m in asked] == [
            ("user", "My name is Ada."),
            ("assistant", "Hello Ada."),
            ("user", "I am 36."),
            ("user", "Who am I?"),
        ]
        await conversations.items.create(made.id, items=[user("And now?")])
        done = await api.client.responses.create(
            model="work", conversation={"id": made.id}, input="Well?"
        )
        later = (await model.asked("Well?")).body["messages"][1:]
        assert [m["content"] for m in later][3:] == [
            *("Who am I?", "work-model: Who am I?"),
            *("And now?", "Well?"),
        ]
        found = await all_items(api, made.id)
        assert [shown(item) for item in found] == [
            *(("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "I am 36.")),
            *(("user", "Who am I?"), ("assistant", "work-model: Who am I?")),
            *(("user", "And now?"), ("user", "Well?"), ("assistant", done.output_text)),
        ]
        assert [item.id for item in found[:2]] == [item.id for item in early]
        assert found[-1].id == done.output[0].id
        one = await conversations.items.retrieve(found[3].id, conversation_id=made.id)
        assert shown(one) == ("user", "Who am I?")
        part = await conversations.items.list(made.id, limit=2)
        assert ([item.id for item in part.data], part.has_more) == (
            [found[7].id, found[6].id],
            True,
        )
        with pytest.raises(openai.BadRequestError, match="delete the conversation"):
            await conversations.items.delete(found[0].id, conversation_id=made.id)
        gone = await conversations.delete(made.id)
        assert (gone.deleted, gone.object) == (True, "conversation.deleted")
        for ask in (
            conversations.retrieve(made.id),
            conversations.items.create(made.id, items=[user("a")]),
            api.client.responses.create(model="work", conversation=made.id, input="still?"),
        ):
            with pytest.raises(openai.NotFoundError) as caught:
                await ask
            assert caught.value.code == "conversation_not_found"
        assert (await api.client.responses.retrieve(done.id)).output_text == done.output_text


async def test_result_of_a_tool_may_be_put_in(tmp_path: Path) -> None:
    """The next request finds it with the call that it answers."""

    def script(body: dict[str, Any]) -> Reply | None:
        roles = [message["role"] for message in body["messages"][1:]]
        if roles == ["user"]:
            return Reply(tool_calls=(("get_weather", {"city": "Oslo"}),))
        return Reply(f"{','.join(roles)}: {body['messages'][3]['content']}")

    async with ScriptedModel(script) as model, endpoints(tmp_path, model) as api:
        made = await api.client.conversations.create()
        ask: Any = {"model": "work", "conversation": made.id, "tools": [RESPONSE_TOOL]}
        first: Any = await api.client.responses.create(input="weather?", **ask)
        output: Any = {
            "type": "function_call_output",
            "call_id": first.output[0].call_id,
            "output": "rain",
        }
        await api.client.conversations.items.create(made.id, items=[output])
        done = await api.client.responses.create(input="So?", **ask)
        assert done.output_text == "user,assistant,tool,user: rain"
        kinds = [shown(item) for item in await all_items(api, made.id)]
        assert kinds == [
            *(("user", "weather?"), ("function_call", "get_weather")),
            *(("function_call_output", "rain"), ("user", "So?"), ("assistant", done.output_text)),
        ]


async def test_what_conversations_cannot_have_is_refused_by_name(tmp_path: Path) -> None:
    """In OpenAI's form; a conversation stays with its agent and user."""
    async with HeldModel() as model, endpoints_of(tmp_path, two_agents(model)) as api:
        create: Any = api.client.conversations.create
        for sent, param, said in (
            ({"items": [{"role": "system", "content": "Be kind."}]}, "items", "send instructions"),
            ({"items": [{"type": "web_search_call"}]}, "items[0]", "unsupported input item"),
            ({"items": [user("a")] * 21}, "items", "at most 20 items"),
            ({"metadata": {"a": "b" * 513}}, "metadata", "at most 16 pairs"),
            ({"metadata": {"a": 1}}, "metadata.a", "string"),
        ):
            with pytest.raises(openai.BadRequestError, match=said) as caught:
                await create(**sent)
            assert caught.value.param == param
        made = await create(items=[user("hello")])
        with pytest.raises(openai.NotFoundError, match="unknown item 'item_1'"):
            await api.client.conversations.items.retrieve("item_1", conversation_id=made.id)
        with pytest.raises(openai.NotFoundError, match="makes one"):
            await api.client.conversations.retrieve("office")
        respond = api.client.responses.create
        await respond(model="work", conversation=made.id, input="a")
        with pytest.raises(openai.BadRequestError, match="with the agent 'work'") as other:
            await respond(model="home", conversation=made.id, input="b")
        assert other.value.param == "conversation"
        with pytest.raises(openai.BadRequestError, match="of another user"):
            await respond(model="work", conversation=made.id, input="b", user="eve")
