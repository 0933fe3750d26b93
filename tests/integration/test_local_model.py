"""A real small model: what its users do in the first hour, with the faults of small machines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fakes.daemon import RunningDaemon, running_daemon
from fakes.llama import LlamaServer, llama_server, needs_model
from fakes.model_proxy import ModelProxy
from fakes.time_limit import time_limit

from orchestrator.control.protocol import (
    CHAT_SEND,
    CHAT_WAIT,
    Ack,
    ChatOutcome,
    ChatSend,
    ChatWait,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.notices import STOP_TEXTS

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="local_model"), needs_model]

SECONDS = 30.0  # of one wait for an outcome
CLOUD = 95.0  # seconds; more than a server in the cloud may take to its first word
STORY = "Write a very long story about a ship, with many chapters. Do not stop."
CALL = '{\\"name\\":\\"get_time\\",\\"arguments\\":{\\"timezone\\":\\"Europe/Berlin\\"}}'
GRAMMAR = f'root ::= "<tool_call>{CALL}</tool_call>"'
BOOK = "\n".join(
    f"Chapter {number}. The ship sailed on, and the crew looked for land on day {number * 7}."
    for number in range(400)
)


@asynccontextmanager
async def world() -> AsyncIterator[tuple[LlamaServer, ModelProxy]]:
    """The server, and the proxy that agents use."""
    async with llama_server() as server, ModelProxy(server.port) as proxy:
        yield server, proxy


def config(proxy: ModelProxy, **fields: Any) -> JsonObject:
    """One agent with the profile for small models."""
    agent = {
        "agentId": "small",
        "llmProvider": "llamacpp",
        "model": "smollm2-135m",
        "baseUrl": f"{proxy.url}/v1",
        "profile": "small",
        "toolCalls": "text",
        "temperature": 0,
        "maxOutputTokens": 60,
        **fields,
    }
    return {
        "agents": [agent],
        "bindings": [{"channel": "console", "chatId": "*", "agentId": "small"}],
    }


async def send(daemon: RunningDaemon, text: str) -> str:
    """Send a message in the one chat, and return its id."""
    message = ChatSend(chat="c", message=uuid4().hex, text=text)
    await daemon.ask(CHAT_SEND, message, Ack)
    return message.message


async def outcome(daemon: RunningDaemon, message: str) -> ChatOutcome:
    """What became of a message, which may take minutes."""
    with time_limit(4):
        while True:
            wait = ChatWait(message=message, seconds=SECONDS)
            found = await daemon.ask(CHAT_WAIT, wait, ChatOutcome)
            if found.state != "pending":
                return found


async def reply(daemon: RunningDaemon, text: str) -> str:
    """The model's own answer to a message; anything else fails the test."""
    found = await outcome(daemon, await send(daemon, text))
    said = "\n".join(found.texts)
    assert found.state == "done", found
    assert said.strip()
    assert said not in STOP_TEXTS.values()
    return said


async def test_small_model_answers_word_by_word_and_calls_a_tool(tmp_path: Path) -> None:
    """It is led to the call by a grammar, and reads the result."""
    async with world() as (_, proxy), running_daemon(tmp_path, config(proxy)) as daemon:
        assert "Paris" in await reply(daemon, "What is the capital of France?")
        assert proxy.begun.is_set()
        assert proxy.bodies[-1]["max_tokens"] == 60
        before = len(proxy.bodies)

        def lead(body: JsonObject) -> JsonObject:
            return body | ({"grammar": GRAMMAR} if len(proxy.bodies) == before + 1 else {})

        proxy.change = lead
        await reply(daemon, "What time is it in Berlin?")
        called, answered = proxy.bodies[before : before + 2]
        assert "tools" not in called
        (*_, written, result) = answered["messages"]
        assert '<tool_call>{"name":"get_time","arguments":' in written["content"]
        assert '<tool_result name="get_time"' in result["content"]


async def test_pasted_book_does_not_end_the_chat(tmp_path: Path) -> None:
    """It is answered or refused; the next message is answered in any case."""
    async with world() as (_, proxy), running_daemon(tmp_path, config(proxy)) as daemon:
        found = await outcome(daemon, await send(daemon, BOOK))
        assert found.texts or found.error
        await reply(daemon, "Say yes.")


async def test_server_that_dies_in_mid_answer_is_asked_again(tmp_path: Path) -> None:
    """The message is answered or told why not, and the next one is answered."""
    longer = {"maxOutputTokens": 200}
    async with world() as (server, proxy), running_daemon(tmp_path, config(proxy, **longer)) as run:
        message = await send(run, STORY)
        with time_limit():
            await proxy.begun.wait()
        await server.kill()
        await server.start()
        found = await outcome(run, message)
        assert found.texts or found.error
        await reply(run, "Say yes.")


async def test_first_word_after_minutes_is_waited_for(tmp_path: Path) -> None:
    """A slow board reads a prompt for longer than any server in the cloud."""
    async with world() as (_, proxy), running_daemon(tmp_path, config(proxy)) as daemon:
        proxy.delay = CLOUD
        await reply(daemon, "Say yes.")
        assert len(proxy.bodies) == 1


async def test_stopped_answer_frees_the_server(tmp_path: Path) -> None:
    """The next message does not wait for the rest of the story."""
    longer = {"maxOutputTokens": 1500}
    async with world() as (_, proxy), running_daemon(tmp_path, config(proxy, **longer)) as daemon:
        message = await send(daemon, STORY)
        with time_limit():
            await proxy.begun.wait()
        await outcome(daemon, await send(daemon, "/stop"))
        await outcome(daemon, message)
        await reply(daemon, "Say yes.")


async def test_daemon_that_dies_in_mid_answer_answers_once_after_its_restart(
    tmp_path: Path,
) -> None:
    """And goes on with the conversation."""
    async with world() as (_, proxy):
        async with running_daemon(tmp_path, config(proxy, maxOutputTokens=80)) as daemon:
            message = await send(daemon, STORY)
            with time_limit():
                await proxy.begun.wait()
            await daemon.kill()
        async with running_daemon(tmp_path, None) as daemon:
            found = await outcome(daemon, message)
            assert found.state == "done", found
            assert found.texts
            await reply(daemon, "Say yes.")
