"""The Telegram bots in a daemon: their channels, and the route for pushed updates."""

from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import name_secret
from orchestrator.channel_api import Adapter
from orchestrator.errors import ConfigError
from orchestrator.extension import DaemonView, Part, Route
from orchestrator.extensions.telegram.downtime import DowntimeMonitor
from orchestrator.extensions.telegram.telegram_checks import API_URL
from orchestrator.extensions.telegram.telegram_settings import TelegramChannel
from orchestrator.inbound.commands import build_menus
from orchestrator.placement import run_on_one_node
from orchestrator.settings import TOKEN
from orchestrator.wakeup import Wakeup

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from orchestrator.extensions.telegram.bot_api import BotApi
    from orchestrator.extensions.telegram.telegram_endpoint import TelegramEndpoint

CHANNEL = "telegram"  # of the bot without an account
PATH = "/telegram"  # its endpoint checks Telegram's secret, before it reads a body


class TelegramPart(Part):
    """Runs each bot whose token is set: that of the channel, and those of its accounts."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._changed = Wakeup()
        self._bots: dict[str, Adapter] = {}  # by channel
        # Each with its token and the address of the server, by channel.
        self._apis: dict[str, tuple[tuple[str, str], BotApi]] = {}
        self._wrong: dict[str, str] = {}  # why a token cannot be used, by channel
        self._downtime = DowntimeMonitor(daemon.store, daemon.machine.clock)

    async def list_adapters(self) -> tuple[Adapter, ...]:
        self._add_bots()
        if CHANNEL in self._wrong:  # a daemon whose only bot cannot speak must not seem to run
            raise ConfigError(self._wrong[CHANNEL])
        return tuple(self._bots.values())

    def _add_bots(self) -> list[Adapter]:
        """Make the bots that have a token and are on; return the new ones."""
        sections = self.daemon.get_agents_file().channels.list_chat_channels()
        names = [name for name, one in sections.items() if isinstance(one, TelegramChannel)]
        made = [bot for name in names if name not in self._bots and (bot := self._make_bot(name))]
        self._bots |= {bot.name: bot for bot in made}
        return made

    def _make_bot(self, name: str) -> Adapter | None:
        api = self._find_api(name)
        if api is None:
            return None
        from orchestrator.extensions.telegram.adapter import Telegram

        machine = self.daemon.machine
        bot = Telegram(
            api,
            menus=build_menus(),
            webhook_url=lambda: self._get_settings(name).webhook_url,
            configured=self._wait_for_change,
            clock=machine.read_seconds,
            monotonic=machine.monotonic,
            chance=machine.draw_fraction,
        )
        bot.find_api = lambda: self._find_api(name)
        bot.limiter.nodes = lambda: self.daemon.placement.nodes
        return bot

    def _get_settings(self, name: str) -> TelegramChannel:
        """Return the settings of an account; those of one that was removed are off."""
        section = self.daemon.get_agents_file().channels.list_chat_channels().get(name)
        return section if isinstance(section, TelegramChannel) else TelegramChannel(enabled=False)

    def _find_api(self, name: str) -> "BotApi | None":
        """Return the calls of an account's bot, made anew after a change of its token."""
        daemon = self.daemon
        token = daemon.environ.get(name_secret(TOKEN, name), "")
        self._wrong.pop(name, None)
        if not token or not self._get_settings(name).enabled:
            return None
        url = daemon.environ.get(API_URL) or daemon.settings.telegram_api_url
        if name in self._apis and self._apis[name][0] == (token, url):
            return self._apis[name][1]
        # The HTTP client and a Markdown parser: a sixth of the start-up time.
        from orchestrator.extensions.telegram.bot_api import BotApi

        try:
            api = BotApi(token, url, network=daemon.machine.bot_network, channel=name)
        except ConfigError as error:
            self._wrong[name] = str(error)
            return None
        daemon.stack.push_async_exit(api)
        self._apis[name] = (token, url), api
        return api

    async def run(self) -> None:
        await run_on_one_node(self.daemon.placement, "downtime", self._downtime.run)

    def list_hints(self) -> tuple[str, ...]:
        return (*self._downtime.hints, *self._wrong.values())

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        del old, new  # a token may have changed without them
        for bot in self._add_bots():
            self.daemon.add_adapter(bot)
        self._changed.wake()

    def list_routes(self) -> tuple[Route]:
        sections = self.daemon.get_agents_file().channels.list_chat_channels().values()
        pushed = any(isinstance(one, TelegramChannel) and one.webhook_url for one in sections)
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
