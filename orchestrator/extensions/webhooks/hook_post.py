"""Post an agent's message to a server: as signed JSON, with an id against repetitions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.extensions.webhooks.hook_settings import OutgoingHook
from orchestrator.extensions.webhooks.signatures import build_signature
from orchestrator.httpx_client import post
from thinker.http.exchange import SUCCESS, ConnectError, HttpError
from thinker.http.retry_after import parse_retry_after

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

TIMEOUT = 30.0  # seconds for an answer
LATER = (408, 425, 429)  # statuses after which a request may be repeated
SERVER_ERROR = 500


class HookSender:
    """Posts for all webhooks; ``clock`` returns seconds since the epoch."""

    def __init__(
        self, clock: Callable[[], float], transport: "AsyncBaseTransport | None" = None
    ) -> None:
        self._clock = clock
        self._transport = transport

    async def post_message(self, hook: OutgoingHook, part: OutboundPart) -> None:
        """Send one message.

        Raises:
            SendError: with the known outcome, without the address, which may hold a key.
        """
        what = f"webhook {part.chat_id!r}"
        name = part.key
        body = orjson.dumps({hook.text_field: part.text, "id": name, "hook": part.chat_id})
        headers = {"content-type": "application/json", **hook.headers, hook.id_header: name}
        if hook.secret is not None:
            signed = build_signature(hook.signature, hook.secret, body, self._clock())
            headers[hook.signature.header] = signed
        try:
            answer = await post(hook.url, headers, body, TIMEOUT, self._transport)
        except ConnectError:  # not chained: a cause may name the address
            problem = f"{what}: cannot connect to its server"
            raise SendError(problem, SendOutcome.NOT_SENT) from None
        except (HttpError, TimeoutError):
            raise SendError(f"{what}: no answer", SendOutcome.UNKNOWN) from None
        status = answer.status
        if status in SUCCESS:
            return
        later = status in LATER or status >= SERVER_ERROR
        raise SendError(
            f"{what}: its server answers with status {status}",
            SendOutcome.NOT_SENT if later else SendOutcome.PERMANENT,
            parse_retry_after(answer.headers, self._clock()) if later else None,
        )
