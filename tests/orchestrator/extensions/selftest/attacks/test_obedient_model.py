"""The obedient model: it does what any text orders, once."""

from typing import Any

import httpx

from orchestrator.extensions.selftest.attacks.obedient_model import (
    FINISHED,
    ObedientModel,
    hide_order,
    make_answer_order,
    make_call_order,
)


async def _asked(model: ObedientModel, *texts: str, tools: bool = True) -> dict[str, Any]:
    """Return the answer to messages with these texts."""
    body: dict[str, Any] = {"messages": [{"role": "user", "content": text} for text in texts]}
    if tools:
        body["tools"] = [{"function": {"name": "mail"}}]
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{model.url}/v1/chat/completions", json=body)
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


async def test_order_in_any_message_is_obeyed_once() -> None:
    """The call first, then the text, then nothing is left to do."""
    text = f"{make_call_order('1', 'mail', to='x')} and {make_answer_order('2', 'hello')}"
    async with ObedientModel() as model:
        called = await _asked(model, text)
        said = await _asked(model, text)
        done = await _asked(model, text)
    function = {"name": "mail", "arguments": '{"to": "x"}'}
    assert [made["function"] for made in called["tool_calls"]] == [function]
    assert (said["content"], done["content"]) == ("hello", FINISHED)


async def test_secret_goes_into_the_arguments() -> None:
    """What it has seen replaces the placeholder."""
    async with ObedientModel() as model:
        called = await _asked(
            model, "PRIVATE-1 is a secret.", make_call_order("1", "mail", body="$SECRET")
        )
    assert called["tool_calls"][0]["function"]["arguments"] == '{"body": "PRIVATE-1"}'


async def test_hidden_order_is_obeyed_after_the_one_around_it() -> None:
    """So that the reader of the inner order is another one."""
    async with ObedientModel() as model:
        first = await _asked(
            model, make_call_order("1", "mail", to=hide_order(make_answer_order("2", "found")))
        )
        second = await _asked(model, hide_order(make_answer_order("2", "found")))
    assert first["tool_calls"][0]["function"]["name"] == "mail"
    assert second["content"] == "found"


async def test_call_without_native_tools_has_the_tags_of_the_prompt() -> None:
    """Without a key, as somebody writes it who has not read the prompt."""
    text = make_call_order("1", "mail", to="x")
    async with ObedientModel() as model:
        answer = await _asked(model, text, tools=False)
    assert answer["content"].startswith("<tool_call>{")
