"""Webhooks in a daemon: the channel, and the route of incoming ones."""

from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.agentsfile import AgentsFile
from orchestrator.extension import DaemonView, Part, Route
from orchestrator.extensions.webhooks.hook_settings import HookChannel
from orchestrator.extensions.webhooks.webhooks import Webhooks
from orchestrator.wakeup import Wakeup

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from orchestrator.extensions.webhooks.hook_endpoint import HookEndpoint

PATH = "/hooks/{name}"  # its endpoint checks the signature


class WebhooksPart(Part):
    """Receives deliveries, and sends outgoing messages."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._changed = Wakeup()

    async def list_adapters(self) -> tuple[Webhooks]:
        daemon = self.daemon
        hooks = Webhooks(
            store=daemon.store,
            settings=lambda: daemon.get_agents_file().channels.get_settings(HookChannel),
            configured=self._wait_for_change,
            clock=daemon.machine.clock,
        )
        return (hooks,)

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        if old.channels.get_settings(HookChannel) != new.channels.get_settings(HookChannel):
            self._changed.wake()

    def list_routes(self) -> tuple[Route]:
        hooks = self.daemon.get_agents_file().channels.get_settings(HookChannel)
        return (
            Route(
                PATH,
                self._receive_delivery,
                methods=("POST",),
                own_check=True,
                opens_port=hooks.opens_endpoints,
            ),
        )

    @cached_property
    def _endpoint(self) -> "HookEndpoint":
        from orchestrator.extensions.webhooks.hook_endpoint import HookEndpoint

        return HookEndpoint(self.daemon.operations)

    async def _receive_delivery(self, request: "Request") -> "Response":
        return await self._endpoint.receive_delivery(request)

    async def _wait_for_change(self) -> None:
        await self._changed.changed.wait()
