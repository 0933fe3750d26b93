"""What an agent says reaches a server as JSON, signed and named; failures say what is known."""

import json

import httpx
import pytest

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.extensions.webhooks.hook_post import HookSender
from orchestrator.extensions.webhooks.hook_settings import HookSignature, OutgoingHook
from orchestrator.extensions.webhooks.signatures import check_signature

URL = "https://receiver.example/key-in-the-address"
NOW = 1_700_000_000.0
PART = OutboundPart("deploys", "All **done**", key="7-99")
SIGNED = OutgoingHook(url=URL, secret="a-secret-of-a-hook", headers={"Authorization": "Bearer x"})


async def posted(
    hook: OutgoingHook, status: int = 200, headers: dict[str, str] | None = None
) -> httpx.Request:
    """The request, which is answered so."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(b""))

    await HookSender(lambda: NOW, httpx.MockTransport(answer)).post_message(hook, PART)
    (asked,) = requests
    return asked


async def test_message_is_named_and_signed() -> None:
    """Its receiver can tell who sent it, and whether it came before."""
    asked = await posted(SIGNED)
    assert (asked.method, str(asked.url)) == ("POST", URL)
    assert json.loads(asked.content) == {"text": "All **done**", "id": "7-99", "hook": "deploys"}
    assert asked.headers["Idempotency-Key"] == "7-99"
    assert asked.headers["Authorization"] == "Bearer x"
    given = asked.headers["X-Hub-Signature-256"]
    assert check_signature(HookSignature(), "a-secret-of-a-hook", asked.content, given, NOW) is None


async def test_server_of_another_kind_gets_what_it_reads() -> None:
    """The field of the text and the header of the name are settings, and so is the signature."""
    asked = await posted(OutgoingHook(url=URL, text_field="content", id_header="X-Id"))
    assert json.loads(asked.content)["content"] == "All **done**"
    assert asked.headers["X-Id"] == "7-99"
    assert "X-Hub-Signature-256" not in asked.headers


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (302, SendOutcome.PERMANENT),
        (400, SendOutcome.PERMANENT),
        (404, SendOutcome.PERMANENT),
        (410, SendOutcome.PERMANENT),
        (408, SendOutcome.NOT_SENT),
        (425, SendOutcome.NOT_SENT),
        (429, SendOutcome.NOT_SENT),
        (500, SendOutcome.NOT_SENT),
        (503, SendOutcome.NOT_SENT),
    ],
)
async def test_status_says_whether_the_message_is_sent_again(
    status: int, outcome: SendOutcome
) -> None:
    """The server's wish to wait counts only where it is."""
    with pytest.raises(SendError) as failed:
        await posted(SIGNED, status, {"retry-after": "9"})
    assert failed.value.outcome is outcome
    assert failed.value.retry_after == (9 if outcome is SendOutcome.NOT_SENT else None)
    assert str(failed.value) == f"webhook 'deploys': its server answers with status {status}"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (httpx.ConnectError(URL), SendOutcome.NOT_SENT),
        (httpx.ConnectTimeout(URL), SendOutcome.NOT_SENT),
        (httpx.ProxyError(URL), SendOutcome.NOT_SENT),
        (httpx.ReadError(URL), SendOutcome.UNKNOWN),
        (httpx.WriteError(URL), SendOutcome.UNKNOWN),
        (httpx.RemoteProtocolError(URL), SendOutcome.UNKNOWN),
        (TimeoutError(URL), SendOutcome.UNKNOWN),
    ],
)
async def test_failure_without_an_answer_tells_no_address(
    error: Exception, outcome: SendOutcome
) -> None:
    """It may hold a key. What was written may have arrived."""

    def broken(_: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(SendError) as failed:
        await HookSender(lambda: NOW, httpx.MockTransport(broken)).post_message(SIGNED, PART)
    assert failed.value.outcome is outcome
    assert "key-in-the-address" not in str(failed.value)
    assert failed.value.__cause__ is None
