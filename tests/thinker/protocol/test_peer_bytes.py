"""A peer and raw bytes: how it reads them, however chunked, and what it writes."""

from itertools import pairwise

import anyio
import orjson
import pytest
from fakes.time_limit import LIMIT, time_limit
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.protocol.peer import (
    INVALID_REQUEST,
    MAX_FRAME,
    PARSE_ERROR,
    Peer,
    RpcError,
)


class Written:
    """A writer that keeps the bytes."""

    def __init__(self) -> None:
        self.data = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        """Keep the bytes."""
        self.data += data

    def close(self) -> None:
        """Record the call."""
        self.closed = True

    @property
    def frames(self) -> list[JsonValue]:
        """Return the written frames."""
        assert not self.data or self.data.endswith(b"\n")
        return [orjson.loads(line) for line in self.data.splitlines()]


async def echo(params: JsonValue) -> JsonValue:
    """Return the parameters."""
    return params


async def fed(*chunks: bytes) -> tuple[Written, list[JsonValue]]:
    """Return what a peer wrote, and its notifications, after these chunks."""
    out, notes = Written(), list[JsonValue]()
    with time_limit():
        async with anyio.create_task_group() as tasks:
            peer = Peer(out, tasks, {"echo": echo}, {"note": notes.append})
            for chunk in chunks:
                peer.feed(chunk)
            await anyio.wait_all_tasks_blocked()
            peer.mark_lost()
    return out, notes


def errors(out: Written) -> list[tuple[JsonValue, JsonValue]]:
    """Ids and codes of the error answers."""
    found = []
    for frame in out.frames:
        assert isinstance(frame, dict)
        error = frame["error"]
        assert isinstance(error, dict)
        found.append((frame["id"], error["code"]))
    return found


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{not json}", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"[" * 5000, PARSE_ERROR),
        (b"[1, 2]", INVALID_REQUEST),
        (b'"text"', INVALID_REQUEST),
        (orjson.dumps({"id": "x" * 10_000, "method": "echo"}), INVALID_REQUEST),
        (orjson.dumps({"id": [[1] * 500], "method": "echo"}), INVALID_REQUEST),
    ],
)
async def test_line_that_is_no_request_is_answered_with_an_error(line: bytes, code: int) -> None:
    """The next line is read normally."""
    out, notes = await fed(line + b'\n{"method":"note","params":1}\n')
    assert errors(out) == [(None, code)]
    assert notes == [1]


@pytest.mark.parametrize(
    "line",
    [b"", b"  ", b"{}", b'{"id":7,"result":1}', b'{"id":null,"error":{}}', b'{"method":5}'],
)
async def test_line_that_asks_nothing_is_passed_over(line: bytes) -> None:
    """Blank lines, and responses without a request."""
    out, _ = await fed(line + b"\n")
    assert out.frames == []


async def test_any_short_id_comes_back_as_it_was() -> None:
    """JSON-RPC leaves its form to the caller."""
    ids: list[JsonValue] = ["a", 0, 1.5, None, ""]
    lines = [orjson.dumps({"id": given, "method": "echo", "params": 1}) + b"\n" for given in ids]
    out, _ = await fed(*lines)
    assert out.frames == [{"jsonrpc": "2.0", "id": given, "result": 1} for given in ids]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'"error":{"code":-5,"message":"no"}', "no"),
        (b'"error":"gone wrong"', "gone wrong"),
        (b'"error":{"code":"x"}', "None"),
    ],
)
async def test_error_answer_of_any_form_is_an_error(answer: bytes, message: str) -> None:
    """A malformed error must not pass for a result."""
    with time_limit():
        async with anyio.create_task_group() as tasks:
            peer = Peer(Written(), tasks)

            async def ask() -> None:
                with pytest.raises(RpcError, match=message):
                    await peer.request("x", timeout=LIMIT)

            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            peer.feed(b'{"id":1,' + answer + b"}\n")


@pytest.mark.parametrize("ending", [b"", b"\n"])
async def test_frame_over_the_cap_ends_the_wire(ending: bytes) -> None:
    """With or without its end, and memory is freed."""
    long = b'"' + b"x" * MAX_FRAME + b'"'
    out, notes = await fed(long + ending, b'{"method":"note"}\n' * (not ending))
    assert out.closed
    assert (out.frames, notes) == ([], [] if ending else [None])


async def test_frame_at_the_cap_is_taken() -> None:
    """The limit itself is allowed, in many pieces."""
    head, tail = b'{"method":"note","params":"', b'"}'
    line = head + b"x" * (MAX_FRAME - len(head) - len(tail)) + tail + b"\n"
    size = 1 << 20
    out, notes = await fed(*(line[at : at + size] for at in range(0, len(line), size)))
    assert not out.closed
    assert len(str(notes[0])) == MAX_FRAME - len(head) - len(tail)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


@given(sent=st.lists(JSON, max_size=6), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_frames_survive_any_cutting(sent: list[JsonValue], cuts: list[int]) -> None:
    """Inside a character, an escape, or between frames: the same frames result.

    U+2028 and U+0085 are line ends for Python, but not for the wire.
    """
    noted: list[JsonValue] = [*sent, "a\u2028b\u0085c\nd"]
    data = b"".join(orjson.dumps({"method": "note", "params": p}) + b"\n" for p in noted)
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    chunks = [data[start:end] for start, end in pairwise(places)]

    async def run() -> None:
        out, notes = await fed(*chunks)
        assert (out.frames, notes) == ([], noted)

    anyio.run(run)
