"""Serve the endpoints while there is a token or an incoming webhook."""

import errno
import socket
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import anyio
import structlog

from orchestrator.extension import DaemonView, Route
from orchestrator.extensions.http_api.api_channel import ApiChannel
from orchestrator.extensions.http_api.api_settings import LOOPBACK, ApiSettings
from orchestrator.extensions.http_api.local_port import bind_port
from orchestrator.extensions.http_api.node_link import NodeLink
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.wakeup import Wakeup
from thinker.formats.regular_file import FileError

OFF = "off; 'orchestrator api token' opens it"
ANY = "0.0.0.0"  # noqa: S104 - only compared
RETRY_SECONDS = 15.0  # until a port that cannot be opened is tried again
log = structlog.get_logger()


class ApiTarget(NamedTuple):
    """Where the endpoints are served, and for whom: token digest, names, sites.

    Without a token only webhooks are admitted.
    """

    digest: str | None
    host: str
    port: int
    names: tuple[str, ...]
    origins: tuple[str, ...]


class ApiService(Wakeup):
    """The server of the endpoints. Wake it when the token may have changed."""

    def __init__(self, daemon: DaemonView, channel: ApiChannel, nodes: NodeLink) -> None:
        super().__init__()
        self._nodes = nodes
        self._daemon = daemon
        self._channel = channel
        self._off_loop = daemon.machine.off_loop
        self._token = TokenFile(daemon.settings.paths.api_token)
        self._stopped = anyio.Event()
        self._opened: tuple[socket.socket, ApiTarget] | None = None  # and is not served yet

    async def open(self) -> float | None:
        """Bind the port if the endpoints are on; connections then wait until they are served.

        Returns the seconds until the next attempt to open the port.
        """
        target = await self._find_target()
        if target is None:
            return None
        listener = self._bind_listener(target)
        self._opened = None if listener is None else (listener, target)
        return RETRY_SECONDS

    async def run(self) -> None:
        while not self.is_closed:
            changed = self.changed
            wait = None if self._opened else await self.open()
            if self._opened:
                (listener, target), self._opened = self._opened, None
                with listener:
                    await self._serve_endpoints(listener, target)
                continue
            with anyio.move_on_after(wait):
                await changed.wait()
        self._stopped.set()

    async def stop(self) -> None:
        """End all waiting requests, and wait until their responses are sent."""
        self.close()
        await self._stopped.wait()

    def _bind_listener(self, target: ApiTarget) -> socket.socket | None:
        port = target.port
        try:
            listener = bind_port(port, target.host)
        except OSError as error:
            reason = "is taken" if error.errno == errno.EADDRINUSE else f"fails ({error.strerror})"
            problem = (
                f"port {port} {reason}; end the program that has it, or set channels.api.port in"
                " agents.json or ORCHESTRATOR_API_PORT (tried again every"
                f" {RETRY_SECONDS:.0f} seconds)"
            )
            if problem != self._channel.status.detail:
                log.error("api_port_failed", problem=problem)
            self._set_status("degraded", problem)
            return None
        host = LOOPBACK if target.host == ANY else target.host
        self._set_status("ok", f"http://{host}:{listener.getsockname()[1]}/v1")
        return listener

    async def _serve_endpoints(self, listener: socket.socket, target: ApiTarget) -> None:
        # Most daemons have no token, and do without a web server.
        from orchestrator.extensions.http_api.endpoints import Endpoints  # noqa: PLC0415 - see above
        from orchestrator.extensions.http_api.guard import AllowedOrigins  # noqa: PLC0415 - the same
        from orchestrator.web.http_server import serve_app  # noqa: PLC0415 - the same

        daemon, channel, port = self._daemon, self._channel, listener.getsockname()[1]
        endpoints = Endpoints(
            daemon=daemon.operations,
            channel=channel,
            document_text=daemon.machine.document_text,
            nodes=self._nodes,
            added=tuple(self._list_added_routes()),
        )
        app = endpoints.build_application(self._token, AllowedOrigins(target.names, target.origins))
        async with serve_app(listener, app):
            log.info("api_listening", address=channel.status.detail, port=port)
            while not self.is_closed:
                changed = self.changed
                if await self._find_target() != target:
                    break
                await changed.wait()
            channel.interrupt_clients(closing=True)
        channel.interrupt_clients(closing=self.is_closed)
        log.info("api_closed", port=port)

    async def _find_target(self) -> ApiTarget | None:
        """Return the target to serve; report why if there is none."""
        port = self._daemon.settings.api_port
        try:
            digest = await self._off_loop(self._token.load_digest)
        except (FileError, TimeoutError) as error:
            self._set_status("degraded", f"{self._token.path}: {error}")
            return None
        api = self._daemon.get_agents_file().channels.get_settings(ApiSettings)
        opened = digest is not None or any(route.opens_port for route in self._list_added_routes())
        if not api.enabled or not opened:
            self._set_status("ok", OFF)
            return None
        port = api.port if port is None else port
        return ApiTarget(digest, api.host, port, api.names, api.origins)

    def _list_added_routes(self) -> Iterator[Route]:
        return chain.from_iterable(part.list_routes() for part in self._daemon.parts)

    def _set_status(self, state: str, detail: str) -> None:
        self._channel.status.state, self._channel.status.detail = state, detail
