"""Every channel of the daemon, made once: those of this machine, Telegram, those of the host."""

from contextlib import AsyncExitStack
from functools import partial

from anyio.abc import TaskGroup

from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.channel_api import Adapter
from orchestrator.channels.hook.webhooks import Webhooks
from orchestrator.channels.hosted_channel import HostedChannel, HostMeans
from orchestrator.configuration import Configuration
from orchestrator.control.console import Console
from orchestrator.control.web_channel import WebChannel
from orchestrator.http_api.agent_ports import AgentPorts
from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.inbound.commands import MENU
from orchestrator.journal.db.store import Store
from orchestrator.machine import Machine
from orchestrator.mcp_server.mcp_channel import McpChannel
from orchestrator.processes import restarts
from orchestrator.processes.child_process import ChildProcess
from orchestrator.settings import Settings


class ChannelSet:
    """The adapters by the names of their channels; all are there once `open` has returned."""

    def __init__(
        self, settings: Settings, configuration: Configuration, store: Store, machine: Machine
    ) -> None:
        self._settings = settings
        self._configuration = configuration
        self._store = store
        self._machine = machine
        self._hosted: list[HostedChannel] = []
        self.console, self.web, self.mcp = Console(store), WebChannel(store), McpChannel(store)
        self.api = ApiChannel(store)
        local = self.console, self.web, self.api, self.mcp
        self.adapters: dict[str, Adapter] = {adapter.name: adapter for adapter in local}

    async def open(self, environ: dict[str, str], stack: AsyncExitStack) -> None:
        """Make the others, now that agents.json is known; ``stack`` closes their connections."""
        configuration, machine = self._configuration, self._machine
        ports = AgentPorts(
            *(self._store, self._settings.paths.http_token, lambda: configuration.file),
            *(configuration.changed, configuration.where),
        )
        self.adapters[ports.name] = ports
        hooks = Webhooks(
            *(self._store, lambda: configuration.file.channels.hook),
            *(configuration.changed, machine.clock),
        )
        self.adapters[hooks.name] = hooks
        means = HostMeans(
            settings=self._settings,
            environ=environ,
            agents=lambda: configuration.file,
            clock=machine.monotonic,
            jitter=partial(restarts.jitter, machine.chance),
            spawn=machine.spawn_channel,
        )
        self._hosted = [HostedChannel(name, kind, means) for name, kind in channel_kinds().items()]
        for channel in self._hosted:
            channel.configure()
            self.adapters[channel.name] = channel
        await self._open_telegram(stack)

    async def _open_telegram(self, stack: AsyncExitStack) -> None:
        settings, machine = self._settings, self._machine
        token = settings.telegram_bot_token
        if token is None or not self._configuration.file.channels.telegram.enabled:
            return
        # It brings the HTTP client and a Markdown parser: a sixth of the start-up time.
        from orchestrator.channels.telegram.adapter import Telegram  # noqa: PLC0415 - see above
        from orchestrator.channels.telegram.bot_api import BotApi  # noqa: PLC0415 - see above

        secret = token.get_secret_value()
        api = BotApi(secret, settings.telegram_api_url, network=machine.bot_network)
        self.adapters["telegram"] = Telegram(
            await stack.enter_async_context(api),
            menus=MENU,
            webhook_url=lambda: self._configuration.file.channels.telegram.webhook_url,
            configured=self._configuration.changed,
            clock=lambda: machine.clock() / 1000,
            chance=machine.chance,
        )

    def keep(self, tasks: TaskGroup) -> None:
        """Keep the processes of channels running; replies go out through them to the last."""
        for channel in self._hosted:
            tasks.start_soon(channel.keep, self._configuration.changed)

    def children(self) -> dict[str, ChildProcess | None]:
        """Return the processes of channels, those that run."""
        return {f"channel {channel.name}": channel.child for channel in self._hosted}
