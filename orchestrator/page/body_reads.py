"""Read the bodies of forms, so that no one's slow ones keep those of others waiting."""

from collections import defaultdict
from http import HTTPStatus
from urllib.parse import parse_qsl

import anyio
from starlette.requests import Request

from orchestrator.http_api.app import read_body
from orchestrator.http_api.error_response import ApiProblem

MAX_BODY = 1024 * 1024  # bytes of a form
BODY_TIMEOUT = 30.0  # seconds for it to arrive
AT_ONCE = 8  # bodies of one session that arrive; of those without a session together
MAX_FIELDS = 100


class BodyReads:
    """Reads forms. Of too many at once of one sender, the oldest is given up."""

    def __init__(self) -> None:
        self._reading: defaultdict[str, list[anyio.CancelScope]] = defaultdict(list)

    async def form(self, request: Request, sender: str = "") -> dict[str, str]:
        """Return the fields of a form; ``sender`` is the session that sends it, if there is one.

        Raises:
            ApiProblem: it is too large or too slow, or the sender has begun too many others.
        """
        own, reading, body = anyio.CancelScope(), self._reading[sender], b""
        reading.append(own)
        if len(reading) > AT_ONCE:
            reading.pop(0).cancel()
        try:
            with own:
                body = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        finally:
            if own in reading:
                reading.remove(own)
            if not reading:
                self._reading.pop(sender, None)
        if own.cancelled_caught:
            message = "too many forms are sent at a time; send this one again"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=1)
        text = body.decode(errors="replace")
        try:
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
        except ValueError:
            message = f"a form has at most {MAX_FIELDS} fields"
            raise ApiProblem(HTTPStatus.BAD_REQUEST, message) from None
