"""What a failed call means for its message, and where the token goes."""

from collections.abc import AsyncIterator

import pytest
from fakes.own_task import in_own_task
from fakes.slack_server import APP_TOKEN, BOT_TOKEN, Fault, SlackServer
from fakes.slack_world import SlackWorld

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.slack.slack_answers import SlackSentMessage
from orchestrator.extensions.slack.slack_api import SlackApi


@pytest.fixture
async def api(world: SlackWorld) -> AsyncIterator[SlackApi]:
    """The calls of the bot."""
    made = SlackApi(f"{world.server.url}/api/", BOT_TOKEN, APP_TOKEN)
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("fault", "outcome", "retry_after"),
    [
        (Fault(code="is_archived"), SendOutcome.PERMANENT, None),
        (Fault(code="msg_too_long"), SendOutcome.PERMANENT, None),
        (Fault(code="message_not_found"), SendOutcome.GONE, None),
        (Fault(code="fatal_error"), SendOutcome.UNKNOWN, None),
        (Fault(code="service_unavailable", status=503), SendOutcome.UNKNOWN, None),
        (Fault(code="", status=502), SendOutcome.UNKNOWN, None),
        (Fault(code="ratelimited", status=429), SendOutcome.NOT_SENT, 7),
        (Fault(code="ratelimited", status=429, wait="soon"), SendOutcome.NOT_SENT, 30),
        (Fault(code="token_revoked"), SendOutcome.NOT_SENT, 60),
        (Fault(code="missing_scope"), SendOutcome.NOT_SENT, 60),
        (Fault(lost=True), SendOutcome.UNKNOWN, None),
    ],
)
async def test_an_error_says_what_is_known_of_the_message(
    world: SlackWorld,
    api: SlackApi,
    fault: Fault,
    outcome: SendOutcome,
    retry_after: float | None,
) -> None:
    """Slack's codes, its status, and an answer that is lost: no call is made twice."""
    world.server.refuse("chat.postMessage", fault)
    call = api.web.chat_postMessage(channel=world.private, text="x")
    with pytest.raises(SendError) as caught:
        await api.fetch_answer(call, SlackSentMessage)
    assert (caught.value.outcome, caught.value.retry_after) == (outcome, retry_after)
    assert len(world.server.calls) == 1


async def test_what_did_not_reach_slack_was_not_sent() -> None:
    """No connection, no message."""
    api = SlackApi("http://127.0.0.1:1/api/", BOT_TOKEN, APP_TOKEN)
    with pytest.raises(SendError) as caught:
        await api.fetch_answer(api.web.chat_postMessage(channel="C1", text="x"), SlackSentMessage)
    await api.close()
    assert caught.value.outcome is SendOutcome.NOT_SENT
    assert str(caught.value).startswith("Slack cannot be reached: [Errno")


async def test_the_token_goes_to_slack_alone(world: SlackWorld, api: SlackApi) -> None:
    """A file that is kept elsewhere is not fetched at all."""
    async with in_own_task(SlackServer().running()) as other:
        file = world.server.keep("a.txt", b"text", "text/plain")["id"]
        world.server.files[file]["url_private"] = f"{other.url}/api/files"
        with pytest.raises(SendError) as caught:
            await api.download_file(file, 100)
        assert other.calls == []
    assert (str(caught.value), caught.value.outcome) == (
        "the file is not stored at Slack",
        SendOutcome.PERMANENT,
    )


@pytest.mark.parametrize(
    ("address", "owned"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.txt", True),
        ("https://slack.com/files/a", True),
        ("http://files.slack.com/a", False),
        ("https://files.slack.com:8443/a", False),
        ("https://slack.com.evil.example/a", False),
        ("https://evilslack.com/a", False),
        ("https://files.slack.com@evil.example/a", False),
        ("https://evil.example\\.slack.com/a", False),
        ("https://evil.example#.slack.com/a", False),
        ("", False),
    ],
)
async def test_an_address_is_slacks_own_by_its_host(address: str, *, owned: bool) -> None:
    """Its scheme and port are those of the API, too."""
    api = SlackApi("https://www.slack.com/api/", BOT_TOKEN, APP_TOKEN)
    assert api.is_own_address(address) is owned
    await api.close()


async def test_a_file_that_slack_withholds_is_not_taken_for_its_page(
    world: SlackWorld, api: SlackApi
) -> None:
    """Slack leads a token without rights to its login page."""
    file = world.server.keep("a.txt", b"text", "text/plain")["id"]
    assert await api.download_file(file, 4) == b"text"
    world.server.withheld = True
    with pytest.raises(SendError) as caught:
        await api.download_file(file, 1000)
    assert caught.value.outcome is SendOutcome.PERMANENT
