"""Serve the page below a path of a proxy. The application itself knows nothing of it.

In HTML of the page every quotation mark of others' text is escaped, so that what looks like an
attribute is one.
"""

import re

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

_ADDRESS = re.compile(rb'( (?:href|src|action|data-root)=")/')


def below(scope: Scope, prefix: str) -> Scope:
    """Return a request below the prefix as if the page began at the root."""
    path = scope["path"].removeprefix(prefix) or "/"
    return {**scope, "path": path, "raw_path": path.encode()}


def with_prefix(send: Send, prefix: str) -> Send:
    """Return a ``send`` that puts the prefix before the page's own addresses in a response."""
    if not prefix:
        return send
    begun: list[Message] = []  # the start of an HTML response, until its body is whole
    parts: list[bytes] = []

    async def sending(message: Message) -> None:
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

    return sending
