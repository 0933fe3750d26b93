"""Telegram is known by its secret, and what it pushes is answered so that it goes on."""

from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
from fakes.pushed_telegram import ENDPOINT, pushed_telegram
from fakes.pushing_bot import SECRET
from structlog.testing import capture_logs

from orchestrator.extensions.telegram.telegram_endpoint import MAX_BODY
from orchestrator.web.request_limits import FAILURES

UPDATE = b'{"update_id": 1, "message": null}'


@pytest.mark.parametrize("secret", ["", "wrong", "0" * 64, "ö"])
async def test_wrong_secret_is_refused_before_the_body_is_read(secret: str) -> None:
    """Also none at all; the status counts it, and the log has it once a minute."""

    async def never() -> AsyncIterator[bytes]:
        raise AssertionError
        yield UPDATE

    async with pushed_telegram() as world:
        await world.clock.asleep()
        headers = {SECRET.encode(): secret.encode()} if secret else {}
        with capture_logs() as lines:
            for _ in range(FAILURES):
                answer = await world.client.post(ENDPOINT, content=never(), headers=headers)
                assert answer.status_code == 401
                assert answer.headers["connection"] == "close"
                assert "is missing or wrong" in answer.json()["error"]["message"]
            answer = await world.client.post(ENDPOINT, content=never(), headers=headers)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
        assert [line["event"] for line in lines] == ["telegram_push_refused"]
        assert world.telegram.status.refused == FAILURES + 1
        assert (await world.push(UPDATE)).status_code == 200  # the right one is never locked out
        assert [message.update_id for message in world.inbox.stored] == [1]


async def test_what_is_not_stored_is_answered_so_that_telegram_repeats_it() -> None:
    """With the seconds to wait, and the reason."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        world.inbox.full = True
        answer = await world.push(UPDATE)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "storage full" in answer.json()["error"]["message"]


async def test_body_that_is_too_large_is_acknowledged_and_left() -> None:
    """Or else it would come for ever."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        with capture_logs() as lines:
            assert (await world.push(b"x" * (MAX_BODY + 1))).status_code == 200
        assert [line["event"] for line in lines] == ["telegram_update_unreadable"]
        assert world.inbox.stored == []


async def test_body_that_does_not_arrive_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telegram's connection may have broken."""

    async def stuck() -> AsyncIterator[bytes]:
        yield UPDATE[:5]
        await anyio.sleep_forever()

    monkeypatch.setattr("orchestrator.extensions.telegram.telegram_endpoint.BODY_TIMEOUT", 0)
    async with pushed_telegram() as world:
        await world.clock.asleep()
        headers = {SECRET: str(world.telegram.push_secret)}
        answer = await world.client.post(ENDPOINT, content=stuck(), headers=headers)
        assert answer.status_code == 408


async def test_nothing_is_taken_that_agents_json_does_not_ask_for() -> None:
    """The daemon polls then."""
    async with pushed_telegram(url=None) as world:
        answer = await world.push(UPDATE, "any")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "channels.telegram.webhook is not in use"


async def test_only_posts_are_taken() -> None:
    """A person who opens the address in a browser learns nothing."""
    async with pushed_telegram() as world:
        answer: httpx.Response = await world.client.get(ENDPOINT)
        assert answer.status_code == 405
