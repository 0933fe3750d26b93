"""The Telegram bot in a daemon: its channel, and the route for pushed updates."""

from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter
from orchestrator.extension import DaemonView, Part, Route
from orchestrator.extensions.telegram.downtime import DowntimeMonitor
from orchestrator.extensions.telegram.telegram_settings import TelegramChannel
from orchestrator.inbound.commands import MENU
from orchestrator.wakeup import Wakeup

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from orchestrator.extensions.telegram.telegram_endpoint import TelegramEndpoint

PATH = "/telegram"  # its endpoint checks Telegram's secret, before it reads a body


class TelegramPart(Part):
    """Runs the bot, if its token is set."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._changed = Wakeup()
        self._downtime = DowntimeMonitor(daemon.store, daemon.machine.clock)

    async def list_adapters(self) -> tuple[Adapter, ...]:
        daemon = self.daemon
        settings, machine, token = (
            daemon.settings,
            daemon.machine,
            daemon.settings.telegram_bot_token,
        )
        if token is None or not _get_settings(daemon).enabled:
            return ()
        # The adapter brings the HTTP client and a Markdown parser: a sixth of the start-up time.
        from orchestrator.extensions.telegram.adapter import Telegram
        from orchestrator.extensions.telegram.bot_api import BotApi

        api = BotApi(
            token.get_secret_value(), settings.telegram_api_url, network=machine.bot_network
        )
        bot = Telegram(
            await daemon.stack.enter_async_context(api),
            menus=MENU,
            webhook_url=lambda: _get_settings(daemon).webhook_url,
            configured=self._wait_for_change,
            clock=machine.read_seconds,
            monotonic=machine.monotonic,
            chance=machine.draw_fraction,
        )
        return (bot,)

    async def run(self) -> None:
        await self._downtime.run()

    def list_hints(self) -> tuple[str, ...]:
        return self._downtime.hints

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        if old.channels.get_settings(TelegramChannel) != new.channels.get_settings(TelegramChannel):
            self._changed.wake()

    def list_routes(self) -> tuple[Route]:
        pushed = _get_settings(self.daemon).webhook_url is not None
        return (
            Route(PATH, self._receive_update, methods=("POST",), own_check=True, opens_port=pushed),
        )

    @cached_property
    def _endpoint(self) -> "TelegramEndpoint":
        from orchestrator.extensions.telegram.telegram_endpoint import TelegramEndpoint

        return TelegramEndpoint(self.daemon.operations)

    async def _receive_update(self, request: "Request") -> "Response":
        return await self._endpoint.receive_update(request)

    async def _wait_for_change(self) -> None:
        await self._changed.changed.wait()


def _get_settings(daemon: DaemonView) -> TelegramChannel:
    return daemon.get_agents_file().channels.get_settings(TelegramChannel)
