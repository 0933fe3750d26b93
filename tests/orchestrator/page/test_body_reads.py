"""Bodies of forms: bounded, and no one's keep others waiting."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from fakes.time_limit import time_limit
from starlette.requests import Request
from starlette.types import Message

from orchestrator.http_api.error_response import ApiProblem
from orchestrator.page.body_reads import AT_ONCE, MAX_BODY, BodyReads, Form


def request(receive: Callable[[], Awaitable[Message]]) -> Request:
    """A request with this body."""
    return Request({"type": "http", "method": "POST", "headers": []}, receive)


def whole(body: bytes) -> Request:
    """A request whose body has arrived."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return request(receive)


async def test_fields_of_a_form_are_read() -> None:
    """Empty ones too; of a repeated one the last counts."""
    found = await BodyReads().form(whole(b"a=1&b=&c=%C3%A9+x&a=2"))
    assert found == Form({"a": "2", "b": "", "c": "é x"})


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"a=" + b"x" * MAX_BODY, 413), (b"&".join([b"a=1"] * 101), 400)],
)
async def test_form_that_is_too_large_is_refused(body: bytes, status: int) -> None:
    """By its bytes, and by its fields."""
    with pytest.raises(ApiProblem) as refused:
        await BodyReads().form(whole(body))
    assert refused.value.status == status


async def test_of_too_many_slow_forms_the_oldest_is_given_up() -> None:
    """A sender has eight at once; those of others are not touched."""
    reads, given_up = BodyReads(), list[int]()

    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def slow(number: int, sender: str) -> None:
        with pytest.raises(ApiProblem) as refused:
            await reads.form(request(never), sender)
        assert refused.value.status == 503
        given_up.append(number)

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow, -1, "other")
            for number in range(AT_ONCE):
                tasks.start_soon(slow, number, "one")
            await anyio.wait_all_tasks_blocked()
            assert given_up == []
            assert await reads.form(whole(b"a=1"), "one") == Form({"a": "1"})
            await anyio.wait_all_tasks_blocked()
            assert given_up == [0]
            tasks.cancel_scope.cancel()
