"""Fetch the pictures to which an answer only links, since a worker cannot.

The links come from the provider, which the operator has chosen. Even so they lead only to its own
server, or to one that proves its name: no plain address of this machine or network is asked.
"""

import asyncio
from base64 import b64encode
from contextlib import suppress

import orjson
from pydantic import JsonValue

from thinker.http.exchange import (
    BrokenAnswerError,
    ConnectError,
    HttpAnswer,
    HttpError,
    Network,
    WholeAnswer,
)
from thinker.http.origin import address

MAX_ANSWER = 16 * 1024 * 1024  # bytes
MAX_PICTURE = 11_000_000  # bytes
MOST = 4  # pictures of one answer
SECONDS = 60.0  # for one picture


async def with_linked_pictures(network: Network, url: str, answer: HttpAnswer) -> HttpAnswer:
    """Return the answer of ``url`` with its pictures in base64, as far as they can be fetched.

    Raises:
        HttpError: the answer itself does not come.
    """
    body = await answer.read(MAX_ANSWER)
    found: JsonValue = None
    with suppress(orjson.JSONDecodeError):
        found = orjson.loads(body)
    data = found.get("data") if isinstance(found, dict) else None
    for item in data[:MOST] if isinstance(data, list) else ():
        link = item.get("url") if isinstance(item, dict) else None
        if isinstance(item, dict) and isinstance(link, str) and not item.get("b64_json"):
            with suppress(HttpError, TimeoutError):
                item["b64_json"] = b64encode(await _fetched(network, link, url)).decode()
            del item["url"]
    return WholeAnswer(answer.status, orjson.dumps(found) if data else body, answer.headers)


async def _fetched(network: Network, link: str, url: str) -> bytes:
    """Return the content of a link, raise `HttpError` or `TimeoutError`."""
    origin = address(link).origin
    if origin.scheme != "https" and origin != address(url).origin:
        raise ConnectError("the link leads to a plain address elsewhere")
    async with asyncio.timeout(SECONDS):
        answer = await network.send("GET", link)
        content = await answer.read(MAX_PICTURE)
    if not answer.success:
        raise BrokenAnswerError(f"the picture's address answered {answer.status}")
    return content
