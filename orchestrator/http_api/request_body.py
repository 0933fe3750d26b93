"""Read the body of a request, bounded in size and time."""

from http import HTTPStatus

import anyio
from starlette.requests import Request

from orchestrator.http_api.error_response import ApiProblem


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """Read a body of at most ``limit`` bytes within ``seconds``.

    Raises:
        ApiProblem: the body is larger (413), or did not arrive in time (408).
    """
    body = bytearray()
    try:
        with anyio.fail_after(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    message = f"the body is larger than {limit} bytes"
                    raise ApiProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    except TimeoutError:
        message = f"the body did not arrive within {seconds:.0f} seconds"
        raise ApiProblem(HTTPStatus.REQUEST_TIMEOUT, message) from None
    return bytes(body)
