"""Bodies of forms: bounded, and no one's keep others waiting."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from fakes.time_limit import time_limit
from starlette.requests import Request
from starlette.types import Message

from orchestrator.extensions.page.body_reads import (
    MAX_BODY,
    MAX_CONCURRENT,
    MAX_FILES_BODY,
    BodyReads,
    Form,
)
from orchestrator.web.error_response import ApiProblem

WITH_FILES = "multipart/form-data; boundary=b"


def request(receive: Callable[[], Awaitable[Message]], kind: str = "") -> Request:
    """A request with this body."""
    headers = [(b"content-type", kind.encode())]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


def whole(body: bytes, kind: str = "") -> Request:
    """A request whose body has arrived."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return request(receive, kind)


def part(name: str, value: bytes, more: str = "") -> bytes:
    """A part of a form with files."""
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + value + b"\r\n"


async def test_fields_of_a_form_are_read() -> None:
    """Empty ones too; of a repeated one the last counts."""
    found = await BodyReads().read_form(whole(b"a=1&b=&c=%C3%A9+x&a=2"))
    assert found == Form({"a": "2", "b": "", "c": "é x"})


async def test_form_with_files_is_read_of_a_session() -> None:
    """With any bytes; an empty field brings no file, and a stranger's form has no fields."""
    data = bytes(range(256)) * 8000 + b"\r\n--c--\r\n"
    body = part("a", "é".encode()) + part("files", data, '; filename="a \\"b.bin"')
    body += part("files", b"", '; filename=""') + b"--b--\r\n"
    found = await BodyReads().read_form(whole(body, WITH_FILES), "one")
    assert (dict(found.fields), found.files) == ({"a": "é"}, (('a "b.bin', data),))
    without = part("a", b"x") + b"--b--\r\n"
    assert await BodyReads().read_form(whole(without, WITH_FILES), "one") == Form({})
    assert "a" not in (await BodyReads().read_form(whole(body[:500], WITH_FILES))).fields


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"x" * (MAX_FILES_BODY + 1), WITH_FILES, 413),
        (b"no boundary at all", WITH_FILES, 400),
        (part("a", b"x"), "multipart/form-data", 400),
        (part("a", b"x") * 101 + b"--b--\r\n", WITH_FILES, 400),
        (part("f", b"x", '; filename="f"') * 101 + b"--b--\r\n", WITH_FILES, 400),
        (b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n", WITH_FILES, 400),
        (b"--b\r\n" + b"x" * 100_000, WITH_FILES, 400),
        (part("a", b"x", "; filename*=utf-8''%ff") + b"--b--\r\n", WITH_FILES, None),
        (b"--b\r\nContent-Type: \xff\xfe; charset=x\r\n\r\n--b--\r\n", WITH_FILES, 400),
    ],
)
async def test_malformed_form_with_files_is_refused(
    body: bytes, kind: str, status: int | None
) -> None:
    """Whatever is wrong with it."""
    if status is None:
        await BodyReads().read_form(whole(body, kind), "one")
        return
    with pytest.raises(ApiProblem) as refused:
        await BodyReads().read_form(whole(body, kind), "one")
    assert refused.value.status == status


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"a=" + b"x" * MAX_BODY, 413), (b"&".join([b"a=1"] * 101), 400)],
)
async def test_form_that_is_too_large_is_refused(body: bytes, status: int) -> None:
    """By its bytes, and by its fields."""
    with pytest.raises(ApiProblem) as refused:
        await BodyReads().read_form(whole(body))
    assert refused.value.status == status


async def test_of_too_many_slow_forms_the_oldest_is_given_up() -> None:
    """A sender has eight at once; those of others are not touched."""
    reads, given_up = BodyReads(), list[int]()

    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def slow(number: int, sender: str) -> None:
        with pytest.raises(ApiProblem) as refused:
            await reads.read_form(request(never), sender)
        assert refused.value.status == 503
        given_up.append(number)

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow, -1, "other")
            for number in range(MAX_CONCURRENT):
                tasks.start_soon(slow, number, "one")
            await anyio.wait_all_tasks_blocked()
            assert given_up == []
            assert await reads.read_form(whole(b"a=1"), "one") == Form({"a": "1"})
            await anyio.wait_all_tasks_blocked()
            assert given_up == [0]
            tasks.cancel_scope.cancel()
