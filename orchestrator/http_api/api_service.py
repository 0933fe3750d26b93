"""Serve the endpoints for as long as there is a token, an incoming webhook or Telegram's."""

import errno
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import anyio
import structlog

from orchestrator.agentsfile.agents_file import LOOPBACK
from orchestrator.control.operations import DaemonOperations
from orchestrator.documents.document_text import ReadDocument
from orchestrator.files import OffLoop, off_loop
from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.http_api.extra_pages import ExtraPages
from orchestrator.http_api.local_port import listen
from orchestrator.http_api.token import TokenFile
from orchestrator.wakeup import Wakeup
from thinker.formats.regular_file import FileError

if TYPE_CHECKING:
    from orchestrator.mcp_server.mcp_service import McpService

OFF = "off; 'orchestrator api token' opens it"
ANY = "0.0.0.0"  # noqa: S104 - only compared
RETRY = 15.0  # seconds until a port that cannot be opened is tried again
log = structlog.get_logger()


class ApiTarget(NamedTuple):
    """Where the endpoints are served, and for whom: by the digest of the token, names, sites.

    Without a token only webhooks are let in.
    """

    digest: str | None
    host: str
    port: int
    names: tuple[str, ...]
    origins: tuple[str, ...]


class ApiService(Wakeup):
    """The server of the endpoints. Wake it when the token may have changed."""

    def __init__(
        self,
        daemon: DaemonOperations,
        channel: ApiChannel,
        pages: ExtraPages,
        document_text: ReadDocument,
        mcp: Callable[[], "McpService"],
        off_loop: OffLoop = off_loop,
    ) -> None:
        super().__init__()
        self._daemon = daemon
        self._channel = channel
        self._pages = pages
        self._document_text = document_text
        self._mcp = mcp
        self._off_loop = off_loop
        self._token = TokenFile(daemon.settings.paths.api_token)
        self._stopped = anyio.Event()
        self._opened: tuple[socket.socket, ApiTarget] | None = None  # and is not served yet

    async def open(self) -> float | None:
        """Bind the port if the endpoints are on: connections then wait until they are served.

        Return the seconds until a port that cannot be opened is to be tried again.
        """
        target = await self._target()
        if target is None:
            return None
        listener = self._listen(target)
        self._opened = None if listener is None else (listener, target)
        return RETRY

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            while not self._closed:
                changed = self.changed
                wait = None if self._opened else await self.open()
                if self._opened:
                    (listener, target), self._opened = self._opened, None
                    with listener:
                        await self._serve(listener, target)
                    continue
                with anyio.move_on_after(wait):
                    await changed.wait()
            tasks.cancel_scope.cancel()
        self._stopped.set()

    async def stop(self) -> None:
        """End all waiting requests, and return when their responses are out."""
        self.close()
        await self._stopped.wait()

    async def _watch(self) -> None:
        while True:
            await self._daemon.configuration.changed()
            self.wake()

    def _listen(self, target: ApiTarget) -> socket.socket | None:
        port = target.port
        try:
            listener = listen(port, target.host)
        except OSError as error:
            reason = "is taken" if error.errno == errno.EADDRINUSE else f"fails ({error.strerror})"
            problem = (
                f"port {port} {reason}; end the program that has it, or set channels.api.port in"
                f" agents.json or ORCHESTRATOR_API_PORT (tried again every {RETRY:.0f} seconds)"
            )
            if problem != self._channel.status.detail:
                log.error("api_port_failed", problem=problem)
            self._report("degraded", problem)
            return None
        host = LOOPBACK if target.host == ANY else target.host
        self._report("ok", f"http://{host}:{listener.getsockname()[1]}/v1")
        return listener

    async def _serve(self, listener: socket.socket, target: ApiTarget) -> None:
        # Most daemons have no token, and do without a web server.
        from orchestrator.http_api.endpoints import Endpoints  # noqa: PLC0415 - see above
        from orchestrator.http_api.guard import Doors  # noqa: PLC0415 - the same
        from orchestrator.http_api.http_server import served  # noqa: PLC0415 - the same

        channel, port = self._channel, listener.getsockname()[1]
        endpoints = Endpoints(self._daemon, channel, self._pages, self._document_text, self._mcp())
        app = endpoints.app(self._token, Doors(target.names, target.origins))
        async with served(listener, app):
            log.info("api_listening", address=channel.status.detail, port=port)
            while not self._closed:
                changed = self.changed
                if await self._target() != target:
                    break
                await changed.wait()
            channel.interrupt(closing=True)
        channel.interrupt(closing=self._closed)
        log.info("api_closed", port=port)

    async def _target(self) -> ApiTarget | None:
        """Return what is to be served; when there is nothing to serve, report it."""
        port = self._daemon.settings.api_port
        try:
            digest = await self._off_loop(self._token.digest)
        except (FileError, TimeoutError) as error:
            self._report("degraded", f"{self._token.path}: {error}")
            return None
        channels = self._daemon.configuration.file.channels
        api = channels.api
        if not api.enabled or (digest is None and not channels.reached):
            self._report("ok", OFF)
            return None
        port = api.port if port is None else port
        return ApiTarget(digest, api.host, port, api.names, api.origins)

    def _report(self, state: str, detail: str) -> None:
        self._channel.status.state, self._channel.status.detail = state, detail
