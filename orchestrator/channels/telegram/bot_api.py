"""The Bot API of Telegram over HTTP: calls, and what each failure means for a message.

The token stands in every address, so no address may reach an error, a log or a repr.
"""

import json
import logging
import re
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import anyio
from pydantic import JsonValue, TypeAdapter, ValidationError

from orchestrator.channel_api import SendOutcome
from orchestrator.channels.telegram.bot_errors import Answered, BotApiError, Parameters, outcome_of
from orchestrator.errors import ConfigError
from thinker.http.client import (
    NOT_SENT,
    HttpClient,
    HttpError,
    HttpResponse,
    HttpTransport,
    open_client,
)
from thinker.protocol.messages import JsonObject

API_URL = "https://api.telegram.org"
POLL_WAIT = 30  # seconds that the server holds a poll open
POLL_DEADLINE = 50.0  # seconds after which a poll is taken for hung
SEND_DEADLINE = 40.0  # seconds for any other call, whatever it does meanwhile

Result = TypeVar("Result")

_TOKEN = re.compile(r"(\d{1,19}):[\w-]+", re.ASCII)


class User(Answered):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class WebhookInfo(Answered):
    """Where updates are pushed to; empty while they can be polled."""

    url: str = ""


class File(Answered):
    """Where a file can be fetched, for an hour; empty when it is too large for bots."""

    file_path: str = ""


class Sent(Answered):
    """A message that was sent."""

    message_id: int


class _Answer(Answered):
    ok: bool
    result: JsonValue = None
    error_code: int | None = None
    description: str = ""
    parameters: Parameters = Parameters()


class BotApi:
    """One bot's calls, with one client for polling and one for everything else.

    Use as an async context manager, or call `aclose`. ``bot_id`` is the number that the token
    begins with. Deadlines are seconds for a whole call.

    Raises:
        ConfigError: the token or the address has no usable form.
    """

    def __init__(
        self,
        token: str,
        base_url: str = API_URL,
        *,
        transport: HttpTransport | None = None,
        poll_deadline: float = POLL_DEADLINE,
        send_deadline: float = SEND_DEADLINE,
    ) -> None:
        match = _TOKEN.fullmatch(token.strip())
        if not match:
            raise ConfigError(
                "TELEGRAM_BOT_TOKEN is not a bot token; copy it from @BotFather, it looks like"
                " 123456:ABC-DEF"
            )
        # The client logs the address of every request at info level.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self.bot_id = match[1]
        self._token = match[0]
        self._poll_deadline = poll_deadline
        self._send_deadline = send_deadline
        self._files = f"{base_url.rstrip('/')}/file/bot{self._token}"
        self._polling = self._open(base_url, transport)
        self._sending = self._open(base_url, transport)

    def _open(self, base_url: str, transport: HttpTransport | None) -> HttpClient:
        try:
            return open_client(
                f"{base_url.rstrip('/')}/bot{self._token}/",
                read=self._poll_deadline,
                transport=transport,
            )
        except NOT_SENT:
            raise ConfigError(
                "TELEGRAM_API_URL is not a web address; unset it or write https://host"
            ) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections."""
        await self._polling.aclose()
        await self._sending.aclose()

    async def poll(
        self, offset: int, kinds: tuple[str, ...], wait: int = POLL_WAIT
    ) -> list[JsonValue]:
        """Updates from ``offset`` on, waited for at most ``wait`` seconds.

        Each is returned unread, since one may be broken.

        Raises:
            BotApiError: nothing was confirmed by this call.
        """
        wanted: JsonObject = {
            "offset": offset,
            "timeout": wait,
            "limit": 100,
            # Sent every time: the server remembers the last list (reliability.md §5).
            "allowed_updates": list(kinds),
        }
        result = await self._post(self._polling, "getUpdates", wanted, self._poll_deadline)
        return self._read("getUpdates", result, list[JsonValue])

    async def call(self, method: str, params: JsonObject, expected: type[Result]) -> Result:
        """Call any other method; a group that became a supergroup is followed once.

        Raises:
            BotApiError: with what is known about the message.
        """
        try:
            result = await self._post(self._sending, method, params, self._send_deadline)
        except BotApiError as error:
            if error.new_chat_id is None:
                raise
            moved: JsonObject = {**params, "chat_id": error.new_chat_id}
            result = await self._post(self._sending, method, moved, self._send_deadline)
        return self._read(method, result, expected)

    async def download(self, file_id: str, limit: int) -> bytes:
        """A file that was sent to the bot.

        Raises:
            BotApiError: it is gone, or larger than ``limit`` bytes, or cannot be had now.
        """
        file = await self.call("getFile", {"file_id": file_id}, File)
        if not file.file_path:
            raise BotApiError("telegram getFile: there is no file", SendOutcome.PERMANENT)
        data = bytearray()
        address = f"{self._files}/{quote(file.file_path)}"
        try:
            with anyio.fail_after(self._send_deadline):
                async with self._sending.stream("GET", address) as response:
                    if not response.is_success:
                        code = response.status_code
                        raise BotApiError(
                            f"telegram file: {code}", outcome_of("file", code, None), code
                        )
                    async for chunk in response.aiter_bytes():
                        data += chunk
                        if len(data) > limit:
                            raise BotApiError(
                                f"telegram file: over {limit} bytes", SendOutcome.PERMANENT
                            )
        except (HttpError, TimeoutError) as error:
            raise BotApiError(
                f"telegram file: not received ({type(error).__name__})", SendOutcome.NOT_SENT
            ) from None
        return bytes(data)

    async def _post(
        self, client: HttpClient, method: str, params: JsonObject, deadline: float
    ) -> JsonValue:
        try:
            with anyio.fail_after(deadline):
                response = await client.post(method, json=params)
        except NOT_SENT as error:
            # Not chained: the cause holds the request and so its address.
            raise BotApiError(
                f"telegram {method}: cannot connect ({type(error).__name__});"
                " check the network and TELEGRAM_API_URL",
                SendOutcome.NOT_SENT,
            ) from None
        except (HttpError, TimeoutError) as error:
            raise BotApiError(
                f"telegram {method}: no answer ({type(error).__name__})", SendOutcome.UNKNOWN
            ) from None
        return self._result(method, response)

    def _result(self, method: str, response: HttpResponse) -> JsonValue:
        try:
            answer = _Answer.model_validate(_decode(response.content))
        except (ValueError, RecursionError):
            answer = None
        if answer and answer.ok and response.is_success:
            return answer.result
        if answer is None:
            code, description, parameters = response.status_code, "no Bot API answer", Parameters()
        else:
            code = answer.error_code or response.status_code
            description, parameters = answer.description, answer.parameters
        raise BotApiError(
            f"telegram {method}: {description.replace(self._token, '[hidden]')} ({code})",
            outcome_of(method, code, None if answer is None else description),
            code,
            parameters,
        )

    def _read(self, method: str, result: JsonValue, expected: type[Result]) -> Result:
        try:
            return TypeAdapter(expected).validate_python(result)
        except ValidationError:
            raise BotApiError(
                f"telegram {method}: the answer has another form than the Bot API's",
                SendOutcome.UNKNOWN,
            ) from None


def _decode(body: bytes) -> JsonValue:
    """The body's JSON; what UTF-8 cannot hold becomes ``?``, since it could never be stored.

    JSON can write half of a surrogate pair, and a foreign server may send broken bytes.
    """
    text = json.dumps(json.loads(body.decode("utf-8", "replace")), ensure_ascii=False)
    decoded: JsonValue = json.loads(text.encode("utf-8", "replace"))
    return decoded
