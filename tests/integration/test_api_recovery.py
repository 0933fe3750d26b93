"""Requests are durable: lost connections, kills and stops lose and repeat nothing."""

import signal
from pathlib import Path
from typing import Any

import anyio
import openai
import pytest
from fakes.api_client import ANY_PORT, ScriptedModel, address, endpoints
from fakes.daemon import running_daemon
from fakes.held_model import HeldModel, held_daemon
from fakes.journal import job, opened, reading_in
from fakes.model_api import Reply
from openai import AsyncOpenAI

from orchestrator.extensions.http_api import new_requests
from orchestrator.extensions.http_api.new_requests import NewRequest
from orchestrator.extensions.http_api.stored_requests import Body
from orchestrator.journal.inspect import trace
from orchestrator.journal.inspect.invariants import check_invariants
from thinker.protocol.messages import UserMessage

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]
KEY = {"Idempotency-Key": "k1"}


async def test_request_outlives_a_kill_and_is_answered_to_who_asks_again(tmp_path: Path) -> None:
    """A tool ran before the kill and does not run again; the same key gets the same answer."""

    def script(body: dict[str, Any]) -> Reply | None:
        if body["messages"][-1]["role"] == "tool":
            return Reply("stored", fault="hang" if len(model.requests) == 2 else "none")
        return Reply(tool_calls=(("store_fact", {"fact": "Likes tea", "category": "preference"}),))

    async with ScriptedModel(script) as model:
        async with endpoints(tmp_path, model) as api, anyio.create_task_group() as tasks:
            ask: Any = {"model": "work", "messages": api.say("remember"), "extra_headers": KEY}
            key = api.client.api_key

            async def lost() -> None:
                with pytest.raises(openai.APIConnectionError):
                    await api.client.chat.completions.create(**ask)

            tasks.start_soon(lost)
            await model.asked("remember", 2)
            await api.daemon.kill()
        async with (
            running_daemon(tmp_path, None, env=ANY_PORT) as daemon,
            AsyncOpenAI(api_key=key, base_url=await address(daemon), max_retries=0) as client,
        ):
            first = await client.chat.completions.create(**ask)
            again = await client.chat.completions.create(**ask)
            assert first == again
            assert first.choices[0].message.content == "stored"
            with pytest.raises(openai.UnprocessableEntityError) as reused:
                await client.chat.completions.create(**{**ask, "temperature": 1})
            assert reused.value.code == "idempotency_key_reused"
            report = await daemon.until(lambda report: report.open_turns == 0)
            assert report.inbox["done"] == 1
    with reading_in(tmp_path) as db:
        assert check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM fact WHERE fact = 'Likes tea'").get == 1


async def test_answer_whose_client_went_away_stays_in_the_journal(tmp_path: Path) -> None:
    """It counts as not delivered, the trace says so, and the key still gets it."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        gate = model.hold("slow")
        ask: Any = {"model": "work", "input": "slow", "extra_headers": KEY}
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:

                async def leave() -> None:
                    await model.asked("slow")
                    scope.cancel()

                tasks.start_soon(leave)
                await api.client.responses.create(**ask)
        await api.daemon.logged("request_left")
        gate.set()
        line = await api.daemon.logged("send_failed")
        assert line["outcome"] == "permanent"
        done = await api.client.responses.create(**ask)
        assert done.output_text == "work-model: slow"
        assert len(model.requests_about("slow")) == 1
    with reading_in(tmp_path) as db:
        found = trace.load_trace(db, f"api:{done.id.removeprefix('resp_')}")
        assert check_invariants(db) == []
    assert [e.state for e in found.events if e.kind == "outbox"][-1] == "failed_permanent"
    assert any("client disconnected" in event.detail for event in found.events)


async def test_answer_whose_client_waits_is_delivered_as_it_is_stored(tmp_path: Path) -> None:
    """In one transaction: nothing is sent that the client does not read in the journal."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        done = await api.client.responses.create(model="work", input="quick")
    with reading_in(tmp_path) as db:
        found = trace.load_trace(db, f"api:{done.id.removeprefix('resp_')}")
        assert check_invariants(db) == []
    assert [event.state for event in found.events if event.kind == "outbox"] == ["delivered"]


@pytest.mark.parametrize("stream", [False, True])
async def test_stop_ends_open_answers_cleanly(tmp_path: Path, *, stream: bool) -> None:
    """The client is told to ask again, and the daemon's exit is orderly and quick."""
    async with (
        HeldModel() as model,
        endpoints(tmp_path, model, {"ORCHESTRATOR_DRAIN_SECONDS": "1"}) as api,
    ):
        model.hold("slow")
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(openai.APIError) as told:
                    await (api.streamed if stream else api.whole)("slow")
                assert "Idempotency-Key" in str(told.value)

            tasks.start_soon(ask)
            await model.asked("slow")
            api.daemon.signal(signal.SIGTERM)
        assert await api.daemon.ended() == 0


async def test_request_that_cannot_be_read_any_more_is_given_up(tmp_path: Path) -> None:
    """A defect that one request meets is not retried for ever, and other chats go on."""
    async with held_daemon(tmp_path):
        pass
    with opened(tmp_path) as db, job(db):
        body = Body(messages=(UserMessage(content="hello"),))
        new_requests.store_request(db, NewRequest("r1", "work", body, "digest"), 1)
        db.execute("UPDATE request SET body = '{}'")
    async with held_daemon(tmp_path) as (bot, _, daemon):
        await daemon.logged("turn_lost_its_worker", 3)
        bot.send_user_message(123, "hello")
        assert await bot.reply_in(123) == "work-model: hello"
        assert (await daemon.status()).inbox["dead"] == 1
    with reading_in(tmp_path) as found:
        assert check_invariants(found) == []
        assert "gave it up" in str(found.execute("SELECT outcome FROM request").get)
