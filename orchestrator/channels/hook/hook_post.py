"""Send what an agent says to a server: as JSON, signed, and named so that it can count once."""

from collections.abc import Callable

import anyio
import orjson

from orchestrator.agentsfile.hook_settings import OutgoingHook
from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.channels.hook.signatures import signature
from thinker.http.exchange import SUCCESS, ConnectError, HttpError, Network
from thinker.http.retry_after import retry_after
from thinker.http.web_client import WebClient

TIMEOUT = 30.0  # seconds for the whole of a request
LATER = (408, 425, 429)  # statuses after which a request is welcome again
SERVER_ERROR = 500


class HookSender:
    """Makes the requests of all webhooks. ``clock`` returns seconds since the epoch."""

    def __init__(self, clock: Callable[[], float], network: Network | None = None) -> None:
        self._clock = clock
        self._network = network or WebClient(read=TIMEOUT)

    async def post(self, hook: OutgoingHook, part: OutboundPart) -> None:
        """Send one message.

        Raises:
            SendError: with what is known about it; the address, which may hold a key, is not told.
        """
        what = f"webhook {part.chat_id!r}"
        name = part.key
        body = orjson.dumps({hook.text_field: part.text, "id": name, "hook": part.chat_id})
        headers = {"content-type": "application/json", **hook.headers, hook.id_header: name}
        if hook.secret is not None:
            signed = signature(hook.signature, hook.secret, body, self._clock())
            headers[hook.signature.header] = signed
        try:
            with anyio.fail_after(TIMEOUT):
                answer = await self._network.send("POST", hook.url, headers, body)
                answer.close()
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
            retry_after(answer.headers, self._clock()) if later else None,
        )

    def close(self) -> None:
        self._network.close()
