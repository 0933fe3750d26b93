"""Fetch the pictures that an answer only links to; a worker has no network for that.

The links come from the provider, which the operator has chosen. Even so, only its own server
and servers that prove their names are called, no plain address of this machine or network.
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
from thinker.http.origin import parse_address

MAX_ANSWER = 16 * 1024 * 1024  # bytes
MAX_PICTURE = 11_000_000  # bytes
MAX_PICTURES = 4  # pictures of one answer
PICTURE_SECONDS = 60.0  # for one picture


async def embed_linked_pictures(network: Network, url: str, answer: HttpAnswer) -> HttpAnswer:
    """Return the answer of ``url`` with its pictures inlined as base64, where they can be fetched.

    Raises:
        HttpError: no answer arrives.
    """
    body = await answer.read(MAX_ANSWER)
    found: JsonValue = None
    with suppress(orjson.JSONDecodeError):
        found = orjson.loads(body)
    data = found.get("data") if isinstance(found, dict) else None
    for item in data[:MAX_PICTURES] if isinstance(data, list) else ():
        link = item.get("url") if isinstance(item, dict) else None
        if isinstance(item, dict) and isinstance(link, str) and not item.get("b64_json"):
            with suppress(HttpError, TimeoutError):
                item["b64_json"] = b64encode(await _fetch_picture(network, link, url)).decode()
            del item["url"]
    return WholeAnswer(answer.status, orjson.dumps(found) if data else body, answer.headers)


async def _fetch_picture(network: Network, link: str, url: str) -> bytes:
    """Return the content at a link; raise `HttpError` or `TimeoutError`."""
    origin = parse_address(link).origin
    if origin.scheme != "https" and origin != parse_address(url).origin:
        raise ConnectError("the link leads to a plain address elsewhere")
    async with asyncio.timeout(PICTURE_SECONDS):
        answer = await network.send("GET", link)
        content = await answer.read(MAX_PICTURE)
    if not answer.is_success:
        raise BrokenAnswerError(f"the picture's address answered {answer.status}")
    return content
