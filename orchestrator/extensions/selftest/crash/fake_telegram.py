"""A fake of Telegram's Bot API on loopback: real HTTP and long polling."""

import json

from anyio.abc import SocketStream

from orchestrator.extensions.selftest.crash.bot_world import BotWorld, RefusedError
from orchestrator.testing.loopback import (
    ForeignJson,
    LoopbackServer,
    build_response,
)

PREVIEW_MARK = "…"  # text that ends with it counts as a preview


class BotApiServer(BotWorld, LoopbackServer):
    """``async with BotApiServer(token) as server`` serves at ``server.url``."""

    def __init__(self, token: str, username: str = "test_bot") -> None:
        super().__init__(token, username)
        self.token = token

    async def _send_response(self, stream: SocketStream, path: str, body: ForeignJson) -> None:
        await stream.send(build_response(*await self.answer_request(path, body)))

    async def answer_request(self, path: str, params: ForeignJson) -> tuple[int, bytes]:
        """Return status and body; raise `EndOfStream` to close the connection instead."""
        prefix, _, method = path.rpartition("/")
        if prefix == f"/file/bot{self.token}/files" and method in self.files:
            return 200, self.files[method]
        if prefix != f"/bot{self.token}":
            return 401, build_error_body(401, "Unauthorized")
        if method not in self._methods:
            return 404, build_error_body(404, "Not Found")
        try:
            result = await self._methods[method](params)
        except RefusedError as error:
            return error.code, build_error_body(error.code, str(error), error.parameters)
        except ValueError:
            return 400, build_error_body(400, "Bad Request: chat not found")
        return 200, json.dumps({"ok": True, "result": result}).encode()


def build_error_body(status: int, description: str, parameters: ForeignJson | None = None) -> bytes:
    answer: ForeignJson = {"ok": False, "error_code": status, "description": description}
    if parameters:
        answer["parameters"] = parameters
    return json.dumps(answer).encode()
