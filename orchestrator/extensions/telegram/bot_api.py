"""Call Telegram's Bot API over HTTP.

Every URL contains the token, so no URL may appear in an error, a log or a repr.
"""

import hmac
import json
import re
import secrets
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import quote

import anyio
import orjson
from pydantic import JsonValue, TypeAdapter, ValidationError

from orchestrator.agentsfile.channel_kinds import name_secret
from orchestrator.channel_api import OutboundFile, SendOutcome
from orchestrator.errors import ConfigError
from orchestrator.extensions.telegram.bot_errors import (
    BotApiError,
    BotResult,
    Parameters,
    classify_error,
)
from orchestrator.settings import TOKEN
from thinker.http.exchange import SUCCESS, BodyTooLargeError, ConnectError, HttpError, Network
from thinker.http.origin import parse_address
from thinker.http.web_client import WebClient
from thinker.protocol.messages import JsonObject

CHANNEL = "telegram"  # of the bot without an account
API_URL = "https://api.telegram.org"
POLL_WAIT = 30  # seconds that the server holds a poll open
POLL_TIMEOUT = 50.0  # seconds after which a poll is considered hung
SEND_TIMEOUT = 40.0  # seconds for the whole of any other call
JSON = "application/json"
MAX_ANSWER = 32 * 1024 * 1024  # bytes; a poll returns up to 100 updates

Result = TypeVar("Result")

_TOKEN = re.compile(r"(\d{1,19}):[\w-]+", re.ASCII)


class User(BotResult):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    can_read_all_group_messages: bool = (
        True  # only getMe returns it, and only on Telegram's own server
    )


class WebhookInfo(BotResult):
    """The address that updates are pushed to; empty if they can be polled."""

    url: str = ""


class File(BotResult):
    """The path of a file, valid for an hour; empty if the file is too large for bots."""

    file_path: str = ""


class PostedMessage(BotResult):
    """A message that was sent."""

    message_id: int


class _Answer(BotResult):
    ok: bool
    result: object = None
    error_code: int | None = None
    description: str = ""
    parameters: Parameters = Parameters()


class BotApi:
    """The calls of one bot.

    Use as an async context manager. ``bot_id`` is the number that the token
    begins with; ``channel`` is that of its account. Timeouts are in seconds and limit whole calls.

    Raises:
        ConfigError: the token or the address is malformed.
    """

    def __init__(
        self,
        token: str,
        base_url: str = API_URL,
        *,
        network: Network | None = None,
        channel: str = CHANNEL,
        poll_timeout: float = POLL_TIMEOUT,
        send_timeout: float = SEND_TIMEOUT,
    ) -> None:
        match = _TOKEN.fullmatch(token.strip())
        if not match:
            raise ConfigError(
                f"{name_secret(TOKEN, channel)} is not a bot token; copy the token from @BotFather,"
                " which looks like 123456:ABC-DEF"
            )
        self.bot_id, self.channel = match[1], channel
        self._token = match[0]
        self._poll_timeout = poll_timeout
        self._send_timeout = send_timeout
        base = base_url.rstrip("/")
        self._methods, self._files = f"{base}/bot{self._token}", f"{base}/file/bot{self._token}"
        self._network = network or WebClient(read=poll_timeout)
        try:
            parse_address(base)
        except ConnectError:
            raise ConfigError(
                "TELEGRAM_API_URL is not a URL; unset it, or set it to https://HOST"
            ) from None

    @property
    def push_secret(self) -> str:
        """The secret that Telegram sends with pushes, the same on all machines with the token."""
        return hmac.digest(self._token.encode(), b"orchestrator webhook", "sha256").hex()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._network.close()

    async def fetch_updates(
        self, offset: int, kinds: tuple[str, ...], wait: int = POLL_WAIT
    ) -> list[JsonValue]:
        """Return the updates from ``offset`` on; wait at most ``wait`` seconds for one.

        They are not validated, so a malformed one cannot hide the others.

        Raises:
            BotApiError: the call failed; it confirmed no update.
        """
        params: JsonObject = {
            "offset": offset,
            "timeout": wait,
            "limit": 100,
            # Sent every time, since the server remembers the last list.
            "allowed_updates": list(kinds),
        }
        return await self.call_method("getUpdates", params, list[Any], self._poll_timeout)

    async def call_method(
        self, method: str, params: JsonObject, expected: type[Result], within: float | None = None
    ) -> Result:
        """Call any method.

        Raises:
            BotApiError: with what is known about the message.
        """
        sent = orjson.dumps(params)
        result = await self._post_request(method, sent, JSON, within or self._send_timeout)
        return _validate_result(method, result, expected)

    async def upload_file(
        self,
        method: str,
        params: JsonObject,
        field: str,
        file: OutboundFile,
        expected: type[Result],
    ) -> Result:
        """Call a method that sends a file in a form field.

        Raises:
            BotApiError: with what is known about the message.
        """
        kind, body = _build_form(params, field, file)
        result = await self._post_request(method, body, kind, self._send_timeout + file.seconds)
        return _validate_result(method, result, expected)

    async def download_file(self, file_id: str, limit: int) -> bytes:
        """Download a file of at most ``limit`` bytes that was sent to the bot.

        Raises:
            BotApiError: the file was deleted or is too large, or the download failed for now.
        """
        file = await self.call_method("getFile", {"file_id": file_id}, File)
        if not file.file_path:
            raise BotApiError("telegram getFile: the file is not available", SendOutcome.PERMANENT)
        try:
            with anyio.fail_after(self._send_timeout):
                url = f"{self._files}/{quote(file.file_path)}"
                answer = await self._network.send("GET", url)
                data = await answer.read(limit)
        except BodyTooLargeError:
            raise BotApiError(
                f"telegram file: larger than {limit} bytes", SendOutcome.PERMANENT
            ) from None
        except (HttpError, TimeoutError) as error:
            raise BotApiError(
                f"telegram file: not received ({type(error).__name__})", SendOutcome.NOT_SENT
            ) from None
        if not answer.is_success:
            code = answer.status
            outcome = classify_error("file", code, None)
            raise BotApiError(f"telegram file: HTTP status {code}", outcome, code)
        return data

    async def _post_request(self, method: str, body: bytes, kind: str, deadline: float) -> object:
        url, headers = f"{self._methods}/{method}", {"content-type": kind}
        try:
            with anyio.fail_after(deadline):
                response = await self._network.send("POST", url, headers, body)
                content = await response.read(MAX_ANSWER)
        except ConnectError as error:  # not chained: a cause may name the URL
            raise BotApiError(
                f"telegram {method}: cannot connect ({type(error).__name__});"
                " check the network and TELEGRAM_API_URL",
                SendOutcome.NOT_SENT,
            ) from None
        except (HttpError, TimeoutError) as error:
            raise BotApiError(
                f"telegram {method}: no answer ({type(error).__name__})", SendOutcome.UNKNOWN
            ) from None
        return self._parse_result(method, response.status, content)

    def _parse_result(self, method: str, status: int, content: bytes) -> object:
        try:
            answer = _Answer.model_validate(decode_json(content))
        except (ValueError, RecursionError):
            answer = None
        if answer and answer.ok and status in SUCCESS:
            return answer.result
        found = answer or _Answer(ok=False, description="not an answer of the Bot API")
        code = found.error_code or status
        raise BotApiError(
            f"telegram {method}: {found.description.replace(self._token, '[hidden]')} ({code})",
            classify_error(method, code, None if answer is None else answer.description),
            code,
            found.parameters,
        )


def _validate_result(method: str, result: object, expected: type[Result]) -> Result:
    try:
        adapter: TypeAdapter[Result] = _build_type_adapter(expected)  # type: ignore[arg-type] # hashable
        return adapter.validate_python(result)
    except ValidationError:
        raise BotApiError(
            f"telegram {method}: the answer does not follow the Bot API", SendOutcome.UNKNOWN
        ) from None


def _build_form(params: JsonObject, field: str, file: OutboundFile) -> tuple[str, bytes]:
    """Build a form with a file (RFC 7578): its media type and body."""
    mark = secrets.token_hex(24)  # which no file contains
    name = " ".join(file.name.replace('"', "%22").split())
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n'.encode()
        + (value.encode() if isinstance(value, str) else orjson.dumps(value))
        + b"\r\n"
        for key, value in params.items()
    ]
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
        f"Content-Type: {file.media_type}\r\n\r\n"
    )
    return f"multipart/form-data; boundary={mark}", b"".join(
        (*parts, head.encode("utf-8", "replace"), file.data, f"\r\n--{mark}--\r\n".encode())
    )


@cache  # making one takes a quarter of a millisecond
def _build_type_adapter(expected: type[Result]) -> TypeAdapter[Result]:
    return TypeAdapter(expected)


def decode_json(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Decode a JSON body; text that UTF-8 cannot hold becomes ``?``, as it cannot be stored.

    JSON can express half of a surrogate pair, and other servers may send invalid bytes.

    Raises:
        ValueError: the body is not JSON.
        RecursionError: the body is nested too deeply.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        text = json.dumps(json.loads(body.decode("utf-8", "replace")), ensure_ascii=False)
        return orjson.loads(text.encode("utf-8", "replace"))
