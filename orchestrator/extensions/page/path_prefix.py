"""Serve the page below a proxy's path, which the application does not know.

The page's HTML escapes every quotation mark of foreign text, so that whatever looks like an
attribute is one.
"""

import re

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

_ADDRESS = re.compile(rb'( (?:href|src|action|data-root)=")/')


def strip_prefix(scope: Scope, prefix: str) -> Scope:
    """Return a request below the prefix as if the page were at the root."""
    path = scope["path"].removeprefix(prefix) or "/"
    return {**scope, "path": path, "raw_path": path.encode()}


def add_prefix(send: Send, prefix: str) -> Send:
    """Return a ``send`` that adds the prefix to the page's addresses in a response."""
    if not prefix:
        return send
    begun: list[Message] = []  # the start of an HTML response, until its body is whole
    parts: list[bytes] = []

    async def send_with_prefix(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("location", "").startswith("/"):
                headers["location"] = prefix + headers["location"]
            if headers.get("content-type", "").startswith("text/html"):
                begun.append(message)
                return
        elif begun:
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            whole = _ADDRESS.sub(rb"\1" + prefix.encode() + b"/", b"".join(parts))
            start = begun.pop()
            MutableHeaders(scope=start)["content-length"] = str(len(whole))
            await send(start)
            message = {**message, "body": whole}
        await send(message)

    return send_with_prefix
