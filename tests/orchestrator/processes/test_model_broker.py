"""The broker as a process of its own: started when needed, replaced, reached through channels."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fakes.brokered import KEY, Provider, grant
from fakes.time_limit import time_limit

from orchestrator.processes import child_process
from orchestrator.processes.model_broker import BrokerChannel, ModelBroker
from orchestrator.settings import Settings
from thinker.http.broker_link import BrokerLink
from thinker.http.exchange import HttpError

pytestmark = pytest.mark.process


@asynccontextmanager
async def provided() -> AsyncIterator[Provider]:
    """A provider that answers ``ok``."""
    provider = Provider()
    async with await asyncio.start_server(provider.serve, "127.0.0.1", 0) as server:
        provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat"
        yield provider


@asynccontextmanager
async def running(
    home: Path, environ: Mapping[str, str] | None = None
) -> AsyncIterator[ModelBroker]:
    """Keep a broker."""
    broker = ModelBroker(Settings(home=home), environ or {})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(broker.run)
        with time_limit():
            yield broker
        tasks.cancel_scope.cancel()


async def asked(channel: BrokerChannel, url: str) -> bytes:
    """Post through a channel as its worker does."""
    link = BrokerLink(channel.workers.dup())
    try:
        return await posted(link, url)
    finally:
        link.close()
        link.channel.close()


async def posted(link: BrokerLink, url: str) -> bytes:
    """Post, and read the answer."""
    return await (await link.send("POST", url, body=b"{}")).read(1000)


async def ask_for_ever(link: BrokerLink, url: str) -> None:
    """Post until it fails."""
    while True:
        assert await posted(link, url) == b"ok"


async def pid_of(broker: ModelBroker, *, other_than: int = 0) -> int:
    """The id of the broker that runs, waited for."""
    while broker.child is None or broker.child.pid == other_than:
        await anyio.lowlevel.checkpoint()
    return broker.child.pid


async def test_next_broker_serves_the_channels_of_the_one_that_died(tmp_path: Path) -> None:
    """Also connections that a worker opened meanwhile."""
    async with provided() as provider, running(tmp_path) as broker:
        with broker.open_channel("work", (grant(provider.url),)) as channel:
            assert channel is not None
            assert await asked(channel, provider.url) == b"ok"
            first = await pid_of(broker)
            os.kill(first, signal.SIGKILL)
            assert await asked(channel, provider.url) == b"ok"
            assert await pid_of(broker, other_than=first)
    assert [f"bearer {KEY}" in head for head in provider.heads] == [True, True]


async def test_broker_that_hangs_while_a_turn_runs_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor asks it nothing itself: a worker does."""
    async with provided() as provider, running(tmp_path) as broker:
        with broker.open_channel("work", (grant(provider.url),)) as channel:
            assert channel is not None
            assert await asked(channel, provider.url) == b"ok"
            first = await pid_of(broker)
            os.kill(first, signal.SIGSTOP)
            with monkeypatch.context() as patch:
                for name in ("PING_INTERVAL", "SILENCE", "ABORT_TIMEOUT"):
                    patch.setattr(child_process, name, 0.01)
                with channel.calls.record_work("t1"):
                    while broker.child is not None:
                        await anyio.lowlevel.checkpoint()
            assert await asked(channel, provider.url) == b"ok"
            assert await pid_of(broker, other_than=first)


async def test_broker_runs_while_an_agent_or_a_worker_needs_it(tmp_path: Path) -> None:
    """An agent with the demo model alone needs none."""
    async with running(tmp_path) as broker:
        with broker.open_channel("demo", ()) as channel:
            assert channel is None
        assert broker.child is None
        broker.set_needed("work", needed=True)
        pid = await pid_of(broker)
        pidfd = os.pidfd_open(pid)
        broker.set_needed("work", needed=False)
        await anyio.wait_readable(pidfd)
        os.close(pidfd)
        assert broker.history.restarts == 0


async def test_proxy_of_the_daemons_environment_is_used(tmp_path: Path) -> None:
    """Except for the hosts that NO_PROXY names."""
    async with provided() as provider, provided() as proxy:
        environ = {
            "http_proxy": proxy.url.removesuffix("/v1/chat"),
            "NO_PROXY": "127.0.0.1",
            "OPENAI_API_KEY": KEY,
        }
        far = "http://models.example/v1/chat"
        async with running(tmp_path, environ) as broker:
            with broker.open_channel("work", (grant(provider.url), grant(far))) as channel:
                assert channel is not None
                assert await asked(channel, provider.url) == b"ok"
                assert await asked(channel, far) == b"ok"
                pid = await pid_of(broker)
                shown = await anyio.Path(f"/proc/{pid}/cmdline").read_text("utf-8")
    assert [head.partition("\r\n")[0] for head in proxy.heads] == [f"post {far} http/1.1"]
    assert len(provider.heads) == 1
    assert KEY not in shown


async def test_other_agents_address_is_refused(tmp_path: Path) -> None:
    """Each channel has grants of its own."""
    async with provided() as provider, provided() as other, running(tmp_path) as broker:
        with (
            broker.open_channel("work", (grant(provider.url),)) as channel,
            broker.open_channel("home", (grant(other.url),)) as second,
        ):
            assert channel is not None
            assert second is not None
            assert await asked(second, other.url) == b"ok"
            assert b"may not use that address" in await asked(channel, other.url)
    assert (len(provider.heads), len(other.heads)) == (0, 1)


async def test_channel_ends_with_its_worker(tmp_path: Path) -> None:
    """What still holds the worker's end gets no answer."""
    async with provided() as provider, running(tmp_path) as broker:
        with broker.open_channel("work", (grant(provider.url),)) as channel:
            assert channel is not None
            assert await asked(channel, provider.url) == b"ok"
            kept = BrokerLink(channel.workers.dup())
        with pytest.raises(HttpError):
            await ask_for_ever(kept, provider.url)  # until the broker has heard of the end
        kept.close()
        kept.channel.close()
