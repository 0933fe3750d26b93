"""What each failure of a Bot API call means, and that the token never shows."""

import json
import logging
import traceback
from collections.abc import Callable

import pytest
from fakes.bot_api import HANG, LOST_ANSWER, LOST_REQUEST, FakeBotApi, Fault, too_many
from fakes.network import AnsweringNetwork, Asked

from orchestrator.channel_api import SendOutcome
from orchestrator.errors import ConfigError
from orchestrator.extensions.telegram.bot_api import BotApi, PostedMessage, User
from orchestrator.extensions.telegram.bot_errors import BotApiError
from thinker.http.exchange import (
    BrokenAnswerError,
    ConnectError,
    HttpError,
    SilenceError,
    WholeAnswer,
)
from thinker.protocol.messages import JsonObject

TOKEN = "123456:CANARY-token_0"
HELLO: JsonObject = {"chat_id": 7, "text": "hello"}


def answering(
    status: int, description: str | None = None, **parameters: object
) -> AnsweringNetwork:
    """A server with one answer; without a description it is no Bot API answer."""
    body: dict[str, object] = {"ok": False, "error_code": status, "parameters": parameters}
    body["description"] = description
    return saying(b"<html>" if description is None else json.dumps(body).encode(), status)


def saying(content: bytes, status: int = 200) -> AnsweringNetwork:
    """A server with one answer."""
    return AnsweringNetwork(lambda _: WholeAnswer(status, content))


def raising(make: Callable[[Asked], Exception]) -> AnsweringNetwork:
    """A network that fails."""

    def fail(asked: Asked) -> WholeAnswer:
        raise make(asked)

    return AnsweringNetwork(fail)


async def failure(network: AnsweringNetwork, method: str = "sendMessage") -> BotApiError:
    """The error of a call."""
    async with BotApi(TOKEN, network=network) as api:
        with pytest.raises(BotApiError) as caught:
            await api.call_method(method, HELLO, PostedMessage)
    return caught.value


@pytest.mark.parametrize(
    ("status", "description", "outcome"),
    [
        (429, "Too Many Requests", SendOutcome.NOT_SENT),
        (401, "Unauthorized", SendOutcome.NOT_SENT),
        (404, "Not Found", SendOutcome.NOT_SENT),
        (403, "Forbidden: bot was blocked by the user", SendOutcome.PERMANENT),
        (400, "Bad Request: chat not found", SendOutcome.PERMANENT),
        (403, "Forbidden: user is deactivated", SendOutcome.PERMANENT),
        (400, "Bad Request: message to edit not found", SendOutcome.GONE),
        (400, "Bad Request: message can't be edited", SendOutcome.GONE),
        (500, "Internal Server Error", SendOutcome.UNKNOWN),
        (502, None, SendOutcome.UNKNOWN),
        (200, None, SendOutcome.UNKNOWN),
        (302, None, SendOutcome.NOT_SENT),
        (403, None, SendOutcome.NOT_SENT),
    ],
)
async def test_an_error_answer_has_its_outcome(
    status: int, description: str | None, outcome: SendOutcome
) -> None:
    """By code and description; a refusal by a proxy decides nothing."""
    assert (await failure(answering(status, description))).outcome is outcome


async def test_an_edit_that_the_server_does_not_know_is_gone() -> None:
    """A foreign server that cannot edit gets a new message instead."""
    assert (await failure(answering(404), "editMessageText")).outcome is SendOutcome.GONE


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ConnectError, SendOutcome.NOT_SENT),
        (SilenceError, SendOutcome.UNKNOWN),
        (BrokenAnswerError, SendOutcome.UNKNOWN),
    ],
)
async def test_a_broken_connection_has_its_outcome(
    error: type[HttpError], outcome: SendOutcome
) -> None:
    """Before the request left it is not sent; after that it is unknown."""
    assert (await failure(raising(lambda asked: error(asked.url)))).outcome is outcome


async def test_the_token_is_in_no_error_log_or_repr(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The address holds the token, and errors of HTTP hold the address."""
    caplog.set_level(logging.DEBUG)
    errors = [
        await failure(raising(lambda asked: BrokenAnswerError(asked.url))),
        await failure(raising(lambda asked: ConnectError(asked.url))),
        await failure(answering(400, f"no method at /bot{TOKEN}/x")),
    ]
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        await api.call_method("getMe", {}, User)
        shown = [repr(api), str(api), caplog.text]
    shown += ["".join(traceback.format_exception(error)) for error in errors]
    shown += [repr(error) for error in errors]
    assert [text for text in shown if "CANARY" in text] == []


@pytest.mark.parametrize("token", ["", "CANARY", "123456:", "123:CANARY/../x", "a:CANARY\n"])
def test_a_malformed_token_is_a_configuration_error(token: str) -> None:
    """It says which variable to set, and does not repeat the value."""
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN") as caught:
        BotApi(token)
    assert "CANARY" not in str(caught.value)


def test_a_malformed_address_is_a_configuration_error() -> None:
    """It says which variable to set."""
    with pytest.raises(ConfigError, match="TELEGRAM_API_URL"):
        BotApi(TOKEN, "http://host:port")


async def test_the_new_number_of_a_group_that_moved_is_passed_on() -> None:
    """The adapter sends the message there."""
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.becomes_supergroup(-1, -1001)
        with pytest.raises(BotApiError) as caught:
            await api.call_method("sendMessage", HELLO | {"chat_id": -1}, PostedMessage)
    assert caught.value.new_chat_id == -1001


async def test_retry_after_is_passed_on() -> None:
    """Telegram says how long to wait."""
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.break_next("sendMessage", too_many(30))
        with pytest.raises(BotApiError) as caught:
            await api.call_method("sendMessage", HELLO, PostedMessage)
    assert caught.value.retry_after == 30


@pytest.mark.parametrize(("fault", "arrived"), [(LOST_ANSWER, True), (LOST_REQUEST, False)])
async def test_a_lost_connection_is_unknown_either_way(fault: Fault, *, arrived: bool) -> None:
    """The message may have arrived (F45, F46)."""
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.break_next("sendMessage", fault)
        with pytest.raises(BotApiError) as caught:
            await api.call_method("sendMessage", HELLO, PostedMessage)
        assert caught.value.outcome is SendOutcome.UNKNOWN
        assert server.list_texts(7) == (["hello"] if arrived else [])


async def test_a_call_that_hangs_ends_at_its_deadline() -> None:
    """Sending and polling are both bounded, whatever the connection does."""
    async with (
        FakeBotApi(TOKEN) as server,
        BotApi(TOKEN, server.url, poll_timeout=0.05, send_timeout=0.05) as api,
    ):
        server.break_next("sendMessage", HANG)
        server.break_next("getUpdates", HANG)
        with pytest.raises(BotApiError, match="no answer") as caught:
            await api.call_method("sendMessage", HELLO, PostedMessage)
        assert caught.value.outcome is SendOutcome.UNKNOWN
        with pytest.raises(BotApiError, match="no answer"):
            await api.fetch_updates(0, ("message",))


async def test_a_refused_connection_is_not_sent() -> None:
    """The fake server has closed its port."""
    async with FakeBotApi(TOKEN) as server:
        url = server.url
    async with BotApi(TOKEN, url) as api:
        with pytest.raises(BotApiError, match="TELEGRAM_API_URL") as caught:
            await api.call_method("sendMessage", HELLO, PostedMessage)
    assert caught.value.outcome is SendOutcome.NOT_SENT


@pytest.mark.parametrize(
    "result", [b'{"ok":true,"result":{"id":1}}', b'{"ok":true}', b"[" * 100_000, b"\xff"]
)
async def test_an_answer_of_another_form_is_unknown(result: bytes) -> None:
    """The call may have worked, so it is not repeated."""
    assert (await failure(saying(result))).outcome is SendOutcome.UNKNOWN


async def test_half_a_surrogate_pair_spoils_no_batch() -> None:
    """JSON can write it, the journal cannot hold it."""
    body = b'{"ok":true,"result":[{"update_id":1,"text":"a\\ud83d \\ud83d\\udc4d"}]}'
    async with BotApi(TOKEN, network=saying(body)) as api:
        assert await api.fetch_updates(0, ()) == [{"update_id": 1, "text": "a? 👍"}]
