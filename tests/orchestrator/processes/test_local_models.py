"""Local model servers are found by a request to each known port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.abc import SocketAttribute, SocketStream
from fakes.time_limit import LIMIT, time_limit

from orchestrator.processes.launch import Endpoint
from orchestrator.processes.local_models import find_local_servers
from orchestrator.testing.loopback import find_free_port
from thinker.protocol.providers import Provider


async def _answer(body: bytes, stream: SocketStream) -> None:
    async with stream:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            try:
                request += await stream.receive()
            except anyio.EndOfStream:
                return  # a probe that only connects
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


@asynccontextmanager
async def _server(name: str, body: bytes) -> AsyncIterator[Provider]:
    """A model server on loopback with this list of models."""
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(partial(listener.serve, partial(_answer, body)))
        port = listener.extra_attributes[SocketAttribute.local_port]()
        yield _provider(name, port)
        tasks.cancel_scope.cancel()


def _provider(name: str, port: int) -> Provider:
    return Provider(name, "openai", f"http://127.0.0.1:{port}/v1", None, "MODEL", local=True)


async def test_server_with_a_model_is_found_in_the_order_of_the_table() -> None:
    """The first model that it names is taken."""
    with time_limit():
        async with (
            _server("one", b'{"data":[{"id":"small"},{"id":"large"}]}') as one,
            _server("two", b'{"data":[{"id":"other"}]}') as two,
        ):
            found = await find_local_servers([two, one], LIMIT)
    assert found == (Endpoint("two", "other"), Endpoint("one", "small"))


async def test_server_without_a_usable_model_is_passed_over() -> None:
    """A server without a model, one with a broken answer, and a closed port."""
    absent = _provider("absent", find_free_port())
    with time_limit():
        async with (
            _server("empty", b'{"data":[]}') as empty,
            _server("odd", b"<html>") as odd,
        ):
            assert await find_local_servers([absent, empty, odd]) == ()
