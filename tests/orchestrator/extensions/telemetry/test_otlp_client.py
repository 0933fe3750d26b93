"""What a collector's answers mean for a request."""

import pytest
from fakes.otlp_collector import OtlpCollector, Told
from fakes.time_limit import time_limit

from orchestrator.extensions.telemetry.otlp_client import MAX_WAIT_SECONDS, OtlpClient, PostResult

NOW = 1_700_000_000.0
EMPTY = b'{"resourceSpans":[]}'
REJECTED = b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}'
NOTED = b'{"partialSuccess":{"errorMessage":"please batch"}}'


async def posted(told: Told, *, compressed: bool = False) -> PostResult:
    """What became of a request to which the collector said this."""
    async with OtlpCollector() as collector:
        collector.script.append(told)
        headers = {"authorization": "Bearer canary"}
        client = OtlpClient(f"{collector.url}/v1/traces", headers, 60.0, compressed)
        with time_limit():
            found = await client.post_body(client.pack_body(EMPTY), NOW)
        (head,) = collector.heads
        assert head["authorization"] == "Bearer canary"
        assert head.get("content-encoding") == ("gzip" if compressed else None)
    return found


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (Told(), PostResult("taken")),
        (Told(202, b""), PostResult("taken")),
        (Told(200, b"thank you"), PostResult("taken")),
        (Told(200, b'{"partialSuccess":{"rejectedSpans":"many"}}'), PostResult("taken")),
        (Told(200, b"x" * 100_000), PostResult("taken")),
        (Told(200, REJECTED), PostResult("taken", "too old", 3)),
        (Told(200, NOTED), PostResult("taken", "please batch")),
        (
            Told(400, b'{"message":"bad\n span"}'),
            PostResult("refused", 'status 400, {"message":"bad span"}'),
        ),
        (Told(400, b"\x1b[2J\xff"), PostResult("refused", "status 400, \ufffd[2J\ufffd")),
        (Told(413, b""), PostResult("refused", "status 413")),
        (Told(422, b""), PostResult("refused", "status 422")),
        (Told(401, b""), PostResult("later", "status 401")),
        (Told(404, b""), PostResult("later", "status 404")),
        (Told(302, b""), PostResult("later", "status 302")),
        (Told(500, b""), PostResult("later", "status 500")),
        (Told(503, b"", {"retry-after": "7"}), PostResult("later", "status 503", wait=7.0)),
        (
            Told(429, b"", {"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}),
            PostResult("later", "status 429", wait=10.0),
        ),
        (
            Told(429, b"", {"retry-after": "99999"}),
            PostResult("later", "status 429", wait=MAX_WAIT_SECONDS),
        ),
    ],
)
async def test_answer_says_what_becomes_of_a_request(told: Told, expected: PostResult) -> None:
    """Only wrong data are refused for ever; all else may pass."""
    assert await posted(told) == expected


async def test_compressed_request_is_read_too() -> None:
    """The collector unpacks it."""
    assert await posted(Told(), compressed=True) == PostResult("taken")


async def test_collector_without_an_answer_is_tried_later() -> None:
    """It ends the connection, or there is none."""
    async with OtlpCollector() as collector:
        collector.dead = True
        client = OtlpClient(f"{collector.url}/v1/traces", {}, 60.0, compressed=False)
        with time_limit():
            found = await client.post_body(EMPTY, NOW)
    assert (found.outcome, found.wait) == ("later", None)
    assert found.problem
    with time_limit():
        refused = await client.post_body(EMPTY, NOW)
    assert refused.outcome == "later"
    assert "Connect call failed" in refused.problem


async def test_slow_collector_is_given_up_in_time() -> None:
    """The whole of a request is bounded."""
    async with OtlpCollector() as collector:
        collector.silent = True
        client = OtlpClient(f"{collector.url}/v1/traces", {}, 0.05, compressed=False)
        with time_limit():
            assert await client.post_body(EMPTY, NOW) == PostResult(
                "later", "no answer in 0.05 seconds"
            )


def test_password_of_an_address_is_not_shown() -> None:
    """The server's name is all that messages have."""
    url = "https://user:canary@collector.example:4318/v1/traces?key=canary"
    client = OtlpClient(url, {}, 1.0, compressed=False)
    assert client.server == "collector.example:4318"
