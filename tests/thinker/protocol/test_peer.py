"""Requests, responses and notifications over a real socketpair."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest
from fakes.time_limit import LIMIT, time_limit
from fakes.wire import memory_pair
from pydantic import BaseModel, JsonValue
from structlog.testing import capture_logs

from thinker.protocol.peer import (
    FAILED,
    INTERNAL,
    INVALID_PARAMS,
    MAX_FRAME,
    NO_METHOD,
    NotificationHandler,
    Peer,
    PeerClosedError,
    RequestHandler,
    RpcError,
    connect_peer,
)


class Number(BaseModel):
    """A parameter and a result."""

    value: int


class Other(BaseModel):
    """A result of another form."""

    turn_id: str


@asynccontextmanager
async def pair(
    right: Mapping[str, RequestHandler],
    notifications: Mapping[str, NotificationHandler] | None = None,
) -> AsyncIterator[tuple[Peer, Peer]]:
    """Connect two peers inside a time limit."""
    with time_limit():
        async with memory_pair({}, right, notifications) as peers:
            yield peers


async def double(params: JsonValue) -> Number:
    """Return twice the number."""
    return Number(value=2 * Number.model_validate(params).value)


def failing(error: Exception) -> RequestHandler:
    """Raise."""

    async def fail(params: JsonValue) -> JsonValue:
        raise error from LookupError(str(params))

    return fail


async def huge(params: JsonValue) -> JsonValue:
    """Return more than a frame holds."""
    return f"{params}" * MAX_FRAME


async def unwritable(params: JsonValue) -> list[JsonValue]:
    """Return something that is not JSON, as a mistake would."""
    return [object() if params is None else params]  # type: ignore[list-item] # see above


async def hang(params: JsonValue) -> JsonValue:
    """Never return."""
    del params
    await anyio.sleep_forever()
    return None


async def test_request_is_answered() -> None:
    """Models in, models out, validated at the edge."""
    async with pair({"double": double}) as (peer, _):
        answer = await peer.call("double", Number(value=21), Number, timeout=LIMIT)
        assert answer == Number(value=42)


async def test_both_sides_ask_each_other() -> None:
    """A handler may call back over the same wire before it answers."""
    async with pair({"double": double}) as (left, right):

        async def via(params: JsonValue) -> JsonValue:
            return await right.request("twice", params, timeout=LIMIT)

        left.requests["twice"] = double
        right.requests["via"] = via
        assert await left.request("via", {"value": 4}, timeout=LIMIT) == {"value": 8}


async def test_answers_find_their_requests_in_any_order() -> None:
    """The first request is answered last."""
    order: list[JsonValue] = []
    begun = anyio.Event()
    released = anyio.Event()

    async def echo(params: JsonValue) -> JsonValue:
        if params == 1:
            begun.set()
            await released.wait()
        return params

    async with pair({"echo": echo}) as (peer, _), anyio.create_task_group() as tasks:

        async def ask(number: int) -> None:
            assert await peer.request("echo", number, timeout=LIMIT) == number
            order.append(number)

        tasks.start_soon(ask, 1)
        await begun.wait()
        await ask(2)
        await ask(3)
        released.set()
    assert order == [2, 3, 1]


async def test_notifications_keep_their_order_and_stand_before_a_later_answer() -> None:
    """A view sent before the response is seen before it."""
    seen: list[JsonValue] = []
    async with pair({}) as (left, right):
        left.notifications["view"] = seen.append

        async def run(params: JsonValue) -> JsonValue:
            for number in range(100):
                right.notify("view", number)
            return params

        right.requests["run"] = run
        await left.request("run", timeout=LIMIT)
        assert seen == list(range(100))


async def test_request_begins_before_the_notification_behind_it() -> None:
    """A cancellation finds what it cancels, even when both arrive in one piece."""
    seen: list[str] = []

    async def begin(params: JsonValue) -> JsonValue:
        seen.append("request")
        return params

    async with pair({"begin": begin}, {"note": lambda _: seen.append("note")}) as (peer, _):
        async with anyio.create_task_group() as tasks:

            async def note() -> None:
                peer.notify("note")

            tasks.start_soon(note)
            await peer.request("begin", timeout=LIMIT)
        await peer.request("begin", timeout=LIMIT)
        assert seen == ["request", "note", "request"]


async def test_many_frames_in_one_batch_are_all_handled() -> None:
    """Thousands of requests at once."""
    answers: list[JsonValue] = []
    async with pair({"double": double}) as (peer, _):

        async def ask(number: int) -> None:
            answers.append(await peer.request("double", {"value": number}, timeout=LIMIT))

        async with anyio.create_task_group() as tasks:
            for number in range(2000):
                tasks.start_soon(ask, number)
    assert answers == [{"value": 2 * number} for number in range(2000)]


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("nothing", None, NO_METHOD, "no method 'nothing'"),
        ("double", {"value": "many"}, INVALID_PARAMS, "value"),
        ("double", None, INVALID_PARAMS, "double"),
        ("refuse", None, FAILED, "not today"),
        ("break", None, INTERNAL, "ZeroDivisionError"),
        ("unwritable", None, INTERNAL, "not JSON serializable: object"),
        ("long", None, INTERNAL, "ValueError: xxx"),
        ("surrogate", None, INTERNAL, "OSError: caf?"),
        ("huge", None, -32600, "is over"),
    ],
)
async def test_failed_request_is_answered_and_the_wire_goes_on(
    method: str, params: JsonValue, code: int, message: str
) -> None:
    """The caller gets the error."""
    handlers = {
        "double": double,
        "refuse": failing(RpcError(FAILED, "not today")),
        "break": failing(ZeroDivisionError()),
        "long": failing(ValueError("x" * 2 * MAX_FRAME)),
        "surrogate": failing(OSError("caf\udce9")),
        "huge": huge,
        "unwritable": unwritable,
    }
    with capture_logs():
        async with pair(handlers) as (peer, _):
            with pytest.raises(RpcError, match=message) as caught:
                await peer.request(method, params, timeout=LIMIT)
            assert caught.value.code == code
            assert await peer.request("double", {"value": 1}, timeout=LIMIT) == {"value": 2}


async def test_bad_and_unknown_notifications_are_dropped() -> None:
    """They have no response, so they are only logged."""

    def validate(params: JsonValue) -> None:
        Number.model_validate(params)

    def fail(params: JsonValue) -> None:
        raise LookupError(str(params))

    async with pair({"double": double}, {"number": validate, "fail": fail}) as (peer, _):
        for method in ("number", "fail", "unknown"):
            peer.notify(method, "x")
        assert await peer.request("double", {"value": 1}, timeout=LIMIT) == {"value": 2}


async def test_answer_of_the_wrong_form_is_an_error_of_the_caller() -> None:
    """A peer of another version does not pass for a result."""
    async with pair({"double": double}) as (peer, _):
        with pytest.raises(ValueError, match="turn_id"):
            await peer.call("double", {"value": 1}, Other, timeout=LIMIT)


async def test_unanswered_request_times_out_and_is_forgotten() -> None:
    """Every wait is bounded; a late response changes nothing."""
    async with pair({"hang": hang, "double": double}) as (peer, _):
        with pytest.raises(TimeoutError):
            await peer.request("hang", timeout=0)
        assert await peer.request("double", {"value": 1}, timeout=LIMIT) == {"value": 2}


async def test_end_of_file_fails_those_who_wait_and_those_who_come() -> None:
    """Pending and new calls fail; notifications do nothing."""
    begun = anyio.Event()

    async def begin(params: JsonValue) -> JsonValue:
        begun.set()
        return await hang(params)

    async with pair({"begin": begin}) as (left, right), anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(PeerClosedError):
                await left.request("begin", timeout=LIMIT)

        tasks.start_soon(wait)
        await begun.wait()
        right.close()
        await left.closed.wait()
        with pytest.raises(PeerClosedError, match="begin: the other side is gone"):
            await left.request("begin", timeout=LIMIT)
        left.notify("note")


async def test_request_that_waits_for_a_side_that_dies_logs_no_failure() -> None:
    """Its handler ends with the wire, as every worker's turn does when the daemon is killed."""
    begun, ended = anyio.Event(), anyio.Event()

    async def begin(params: JsonValue) -> JsonValue:
        begun.set()
        return await hang(params)

    async def ask_back(params: JsonValue) -> JsonValue:
        try:
            return await right.request("begin", params, timeout=LIMIT)
        finally:
            ended.set()

    async with pair({"ask back": ask_back}) as (left, right), anyio.create_task_group() as tasks:
        left.requests["begin"] = begin

        async def ask() -> None:
            with pytest.raises(PeerClosedError):
                await left.request("ask back", timeout=LIMIT)

        with capture_logs() as logs:
            tasks.start_soon(ask)
            await begun.wait()
            left.close()
            await ended.wait()
            await right.closed.wait()
        assert logs == []


async def test_requests_have_ended_when_the_block_has() -> None:
    """Each was canceled, and has done what it does at its end."""
    begun = anyio.Event()
    ended: list[JsonValue] = []

    async def begin(params: JsonValue) -> JsonValue:
        begun.set()
        try:
            return await hang(params)
        finally:
            await asyncio.sleep(0)
            ended.append(params)

    async with anyio.create_task_group() as tasks:
        async with pair({"begin": begin}) as (left, _):

            async def ask(number: int) -> None:
                with pytest.raises(PeerClosedError):
                    await left.request("begin", number, timeout=LIMIT)

            for number in range(3):
                tasks.start_soon(ask, number)
            await begun.wait()
        assert sorted(map(str, ended)) == ["0", "1", "2"]


async def test_request_that_is_too_long_is_refused_where_it_is_made() -> None:
    """Nothing of it is sent."""
    async with pair({"double": double}) as (peer, _):
        with pytest.raises(RpcError, match="is over"):
            await peer.request("double", "x" * MAX_FRAME, timeout=LIMIT)
        assert await peer.request("double", {"value": 1}, timeout=LIMIT) == {"value": 2}


async def test_peer_that_reads_nothing_is_dropped() -> None:
    """Memory is bounded, whatever the other side does."""
    one, two = socket.socketpair()
    with two, time_limit():
        async with connect_peer(one) as peer:
            for _ in range(4):
                peer.notify("flood", "x" * (MAX_FRAME - 100))
            await peer.closed.wait()


async def test_frames_for_a_side_that_is_gone_are_dropped_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """All turns of a stopped worker may write in the step that finds the wire broken."""
    one, two = socket.socketpair()
    async with connect_peer(one) as peer:
        two.close()
        for _ in range(20):
            peer.notify("note")
        await peer.closed.wait()
    assert caplog.messages == []


async def test_block_that_fails_is_seen_as_it_failed() -> None:
    """The peer's tasks do not wrap it in an exception group."""
    with pytest.raises(LookupError, match="mine"):
        async with pair({}):
            raise LookupError("mine")
