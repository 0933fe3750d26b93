"""Slack's Web API, and the meaning of each failure for a message."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypeVar

import aiohttp
import anyio
from pydantic import ValidationError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.slack.slack_answers import (
    SlackConnectionAddress,
    SlackFileInfo,
    SlackIdentity,
    SlackPage,
    SlackTicket,
)
from orchestrator.extensions.slack.slack_events import SlackObject
from thinker.http.tls import tls_context

CALL_SECONDS = 45.0  # for one call; the channel host gives up after 50
CONNECT_SECONDS = 15.0
HEARTBEAT = 20.0  # seconds between pings; a connection without an answer is lost
CLOSE_SECONDS = 1.0  # Slack does not always answer when a connection is closed
REFUSED = 60.0  # seconds until a refused token is tried again
FLOODED = 30.0  # seconds, if Slack does not say how long to wait
MAX_WAITS = 20  # times that a call waits because of the platform's limits
PAGE = 200  # objects
CHUNK = 65_536  # bytes

BOT_REFUSED = (
    "SLACK_BOT_TOKEN is refused ({code}); copy the Bot User OAuth Token (xoxb-) from OAuth &"
    " Permissions"
)
APP_REFUSED = (
    "SLACK_APP_TOKEN is refused ({code}); switch Socket Mode on, and copy an app-level token"
    " (xapp-) with the scope connections:write from Basic Information"
)
KINDS, SENTENCES = ("xoxb-", "xapp-"), (BOT_REFUSED, APP_REFUSED)
NO_SCOPE = (
    "the Slack app lacks the scope {needed}; add it under OAuth & Permissions and install the app"
    " again"
)
BAD_TOKEN = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
    }
)
MAY_HAVE_WORKED = frozenset(
    {"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}
)
IS_GONE = frozenset({"message_not_found", "edit_window_closed", "cant_update_message"})
_ADDRESS = re.compile(r"(https?)://([a-z0-9.-]+)(:\d+)?/\S*", re.IGNORECASE)
R = TypeVar("R", bound=SlackObject)
P = TypeVar("P", bound=SlackPage)


class SlackApi:
    """The calls of one app, made by ``web``."""

    def __init__(self, address: str, bot_token: str, app_token: str) -> None:
        self._address = address
        self._tokens = bot_token, app_token
        limits = aiohttp.ClientTimeout(total=CALL_SECONDS, connect=CONNECT_SECONDS)
        self._session = aiohttp.ClientSession(timeout=limits)
        self.web = AsyncWebClient(
            bot_token,
            base_url=address,
            session=self._session,
            ssl=tls_context(),
            retry_handlers=[],  # a retried message whose answer was lost would be sent twice
        )

    async def close(self) -> None:
        await self._session.close()

    async def fetch_answer(
        self,
        call: Awaitable[AsyncSlackResponse],
        answer: type[R],
        refused: str = BOT_REFUSED,
    ) -> R:
        """Make a call and return its answer.

        Raises:
            SendError: with the known outcome; ``refused`` says what to do about a bad token.
        """
        return _parse_answer(await _await_answer(call, refused), answer)

    async def fetch_identity(self) -> SlackIdentity:
        """Return the bot's identity."""
        for token, kind, refused in zip(self._tokens, KINDS, SENTENCES, strict=True):
            if not token.startswith(kind):  # Slack would accept some as tokens of another kind
                words = refused.format(code=f"it does not begin with {kind}")
                raise SendError(words, SendOutcome.NOT_SENT, REFUSED)
        found = await _await_answer(self.web.auth_test(), BOT_REFUSED)
        now = parsedate_to_datetime(str(found.headers["Date"])).timestamp()
        return _parse_answer(found, SlackIdentity, now=f"{now:.6f}")

    async def fetch_pages(
        self,
        call: Callable[[str], Awaitable[AsyncSlackResponse]],
        answer: type[P],
        most: int,
        last: Callable[[P], bool] = lambda _: False,
    ) -> list[P]:
        """Fetch the pages of a list, up to the ``last`` one or ``most``.

        ``call`` fetches a page by its cursor. Waits when Slack asks to.
        """
        pages: list[P] = []
        cursor, waits = "", 0
        while len(pages) < most:
            try:
                page = await self.fetch_answer(call(cursor), answer)
            except SlackFloodError as error:
                waits += 1
                if waits > MAX_WAITS:
                    raise
                await anyio.sleep(error.retry_after or 0)
                continue
            pages.append(page)
            cursor = page.response_metadata.next_cursor
            if not cursor or last(page):
                break
        return pages

    @asynccontextmanager
    async def open_socket(self) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a Socket Mode connection."""
        call = self.web.apps_connections_open(app_token=self._tokens[1])
        opened = await self.fetch_answer(call, SlackConnectionAddress, APP_REFUSED)
        closing = aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS)
        with _translate_errors():
            socket = await self._session.ws_connect(
                opened.url, heartbeat=HEARTBEAT, timeout=closing, ssl=tls_context()
            )
        async with socket:
            yield socket

    # --- files -----------------------------------------------------------------------------------

    async def upload_file(self, name: str, data: bytes) -> str:
        """Upload a file without showing it yet, and return its id.

        Raises:
            SendError: nothing was sent.
        """
        call = self.web.files_getUploadURLExternal(filename=name, length=len(data))
        try:
            ticket = await self.fetch_answer(call, SlackTicket)
            with _translate_errors():
                async with self._session.post(
                    ticket.upload_url, data=data, ssl=tls_context(), allow_redirects=False
                ) as done:
                    _check_status(done)
        except SendError as error:
            if error.outcome is not SendOutcome.UNKNOWN:
                raise
            raise SendError(str(error), SendOutcome.NOT_SENT) from error
        return ticket.file_id

    async def download_file(self, file_id: str, limit: int) -> bytes:
        """Download a file of at most ``limit`` bytes; the token is sent only to Slack."""
        file = (await self.fetch_answer(self.web.files_info(file=file_id), SlackFileInfo)).file
        address = file.url_private_download or file.url_private
        if not self.is_own_address(address):
            raise SendError("the file is not stored at Slack", SendOutcome.PERMANENT)
        headers = {"Authorization": f"Bearer {self._tokens[0]}"}
        data = bytearray()
        with _translate_errors():
            async with self._session.get(
                address, headers=headers, allow_redirects=False, ssl=tls_context()
            ) as found:
                _check_status(found)
                async for chunk in found.content.iter_chunked(CHUNK):
                    data += chunk
                    if len(data) > limit:
                        raise SendError(f"the file is over {limit} bytes", SendOutcome.PERMANENT)
        return bytes(data)

    def is_own_address(self, address: str) -> bool:
        """Return whether an address is in the API's own domain."""
        own, other = _ADDRESS.fullmatch(self._address), _ADDRESS.fullmatch(address)
        if own is None or other is None:
            return False
        domain = own[2].lower().removeprefix("www.")
        host = other[2].lower()
        same_way = (own[1].lower(), own[3]) == (other[1].lower(), other[3])
        return same_way and (host == domain or host.endswith(f".{domain}"))


class SlackFloodError(SendError):
    """Slack asks to wait."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("Slack asks to wait", SendOutcome.NOT_SENT, retry_after)


async def _await_answer(call: Awaitable[AsyncSlackResponse], refused: str) -> AsyncSlackResponse:
    with _translate_errors():
        try:
            return await call
        except SlackApiError as error:
            raise _build_send_error(error, refused) from error


def _parse_answer(found: AsyncSlackResponse, answer: type[R], **more: str) -> R:
    data = found.data if isinstance(found.data, dict) else {}
    try:
        return answer.model_validate({**data, **more})
    except ValidationError as error:
        raise SendError(f"Slack sent an unexpected answer: {error}", SendOutcome.UNKNOWN) from error


def _build_send_error(error: SlackApiError, refused: str) -> SendError:
    """Return Slack's error with its outcome for the message."""
    answer = error.response
    data = getattr(answer, "data", None)
    body = data if isinstance(data, dict) else {}
    status, code = getattr(answer, "status_code", 0), str(body.get("error", ""))
    if status == HTTPStatus.TOO_MANY_REQUESTS or code in ("ratelimited", "rate_limited"):
        return SlackFloodError(_parse_wait(str(answer.headers.get("Retry-After", ""))))
    if code in BAD_TOKEN:
        return SendError(refused.format(code=code), SendOutcome.NOT_SENT, REFUSED)
    if code == "missing_scope":
        words = NO_SCOPE.format(needed=body.get("needed", ""))
        return SendError(words, SendOutcome.NOT_SENT, REFUSED)
    if not code or status != HTTPStatus.OK or code in MAY_HAVE_WORKED:
        return SendError(f"Slack failed: {code or status}", SendOutcome.UNKNOWN)
    outcome = SendOutcome.GONE if code in IS_GONE else SendOutcome.PERMANENT
    return SendError(f"Slack refuses it: {code}", outcome)


def _parse_wait(seconds: str) -> float:
    return float(seconds) if seconds.isdecimal() else FLOODED


def _check_status(answer: aiohttp.ClientResponse) -> None:
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise SlackFloodError(_parse_wait(answer.headers.get("Retry-After", "")))
    if answer.status != HTTPStatus.OK:
        failed = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        outcome = SendOutcome.UNKNOWN if failed else SendOutcome.PERMANENT
        raise SendError(f"Slack answers {answer.status} for the file", outcome)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate a failed connection into an outcome for the message."""
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as e:
        cause = getattr(e, "os_error", e)  # whose text is for people
        raise SendError(f"Slack cannot be reached: {cause}", SendOutcome.NOT_SENT) from e
    except (aiohttp.ClientError, TimeoutError) as error:
        problem = f"Slack gave no answer: {str(error) or 'it takes too long'}"
        raise SendError(problem, SendOutcome.UNKNOWN) from error
