"""When to listen: as long as there is a token. Nothing of the web is loaded before."""

import socket

import anyio
import structlog

from orchestrator.http_api.api_context import ApiContext
from orchestrator.http_api.token import TokenFile
from orchestrator.wakeup import Wakeup

OFF = "off; 'orchestrator api token' opens it"
log = structlog.get_logger()


class ApiService(Wakeup):
    """The endpoints; it is woken when the token or the configuration may be another one."""

    def __init__(self, context: ApiContext) -> None:
        super().__init__()
        self._context = context
        settings = self._settings = context.settings
        self._token = TokenFile(settings.paths.api_token)
        self._stopped = anyio.Event()

    async def run(self) -> None:
        """Listen whenever there is a token, until `stop`."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            while not self._closed:
                changed = self.changed
                wanted = self._wanted()
                listener = None if wanted is None else self._open(wanted[1])
                if wanted is None:
                    self._context.channel.status.state = "ok"
                    self._context.channel.status.detail = OFF
                if wanted is None or listener is None:
                    await changed.wait()
                    continue
                with listener:
                    await self._serve(listener, wanted)
            tasks.cancel_scope.cancel()
        self._stopped.set()

    async def stop(self) -> None:
        """Let everybody go who waits for an answer, and end when their streams have."""
        self.close()
        await self._stopped.wait()

    async def _watch(self) -> None:
        while True:
            await self._context.configured()
            self.wake()

    def _open(self, port: int) -> socket.socket | None:
        status = self._context.channel.status
        try:
            listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            status.state, status.detail = "degraded", f"port {port}: {error.strerror}"
            log.error("api_port_failed", problem=status.detail)
            return None
        status.state = "ok"
        # Connections inherit it; without it every answer waits 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener

    async def _serve(self, listener: socket.socket, wanted: tuple[str, int]) -> None:
        """Until the token or the port is another one."""
        # Most daemons have no token, and do without a web server.
        from orchestrator.http_api.http_server import served  # noqa: PLC0415 - see above

        port = listener.getsockname()[1]
        address = self._context.channel.status.detail = f"http://127.0.0.1:{port}/v1"
        async with served(listener, self._context, self._token):
            log.info("api_listening", address=address, port=port)
            while not self._closed:
                changed = self.changed
                if self._wanted() != wanted:
                    break
                await changed.wait()
            self._context.channel.interrupt(closing=True)
        self._context.channel.interrupt(closing=self._closed)
        log.info("api_closed", port=port)

    def _wanted(self) -> tuple[str, int] | None:
        """The token's digest and the port; None when nobody may ask."""
        digest, own = self._token.digest(), self._settings.api_port
        api = self._context.agents().channels.api
        if digest is None or not api.enabled:
            return None
        return digest, api.port if own is None else own
