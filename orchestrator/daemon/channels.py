"""Make every channel: the console, those of the channel host, and those of extensions."""

from collections.abc import Iterable
from functools import partial

from anyio.abc import TaskGroup

from orchestrator.agentsfile.channel_kinds import load_channel_kinds, split_account
from orchestrator.channel_api import Adapter
from orchestrator.channels.hosted_channel import HostedChannel, HostResources
from orchestrator.control.console import Console
from orchestrator.extension import DaemonView
from orchestrator.processes import restarts


def keep_processes(view: DaemonView, hosted: Iterable[HostedChannel]) -> None:
    """Keep the channels' processes running; the last replies still leave through them."""
    for channel in hosted:
        view.tasks.start_soon(channel.keep_process, view.configuration.wait_for_change)


class ChannelSet:
    """The channels of a daemon, in ``view.adapters``; accounts may be added while it runs.

    ``hosted`` are those in processes of their own, keyed by name.
    """

    def __init__(self, view: DaemonView) -> None:
        self._view, machine = view, view.machine
        self._receiving: TaskGroup | None = None  # while messages are received
        self.console = Console(view.store)
        self.hosted: dict[str, HostedChannel] = {}
        self._resources = HostResources(
            settings=view.settings,
            environ=view.environ,
            agents=view.get_agents_file,
            clock=machine.monotonic,
            jitter=partial(restarts.draw_jitter, machine.draw_fraction),
            spawn=machine.spawn_channel,
        )

    async def make_channels(self) -> None:
        """Make all channels; delivery and the rest of the daemon are made with them."""
        view = self._view
        view.adapters[self.console.name] = self.console
        for part in view.parts:
            for adapter in await part.list_adapters():
                view.adapters[adapter.name] = adapter
        view.adapters.update(self._make_hosted())

    def keep_processes(self) -> None:
        keep_processes(self._view, self.hosted.values())

    def add_accounts(self) -> None:
        """Add the accounts of the channel host that agents.json has by now."""
        made = self._make_hosted().values()
        for channel in made:
            self.add_adapter(channel)
        keep_processes(self._view, made)

    def add_adapter(self, adapter: Adapter) -> None:
        """Add a channel to the running daemon, unless that stops."""
        view = self._view
        if view.stopping.is_set():
            return
        view.adapters[adapter.name] = adapter
        view.delivery.add_channel(adapter)
        view.tasks.start_soon(view.delivery.run, adapter.name)
        if self._receiving is not None:
            self._receiving.start_soon(adapter.run, view.intake)

    def start_receiving(self, tasks: TaskGroup) -> None:
        self._receiving = tasks
        for adapter in self._view.adapters.values():
            tasks.start_soon(adapter.run, self._view.intake)

    def _make_hosted(self) -> dict[str, HostedChannel]:
        """Make the channels that are in no dictionary yet, with accounts of installed ones."""
        kinds = load_channel_kinds()
        names = {**kinds, **self._view.get_agents_file().channels.hosted_channels}
        made = {
            name: HostedChannel(name, kinds[split_account(name)[0]], self._resources)
            for name in names
            if name not in self.hosted and split_account(name)[0] in kinds
        }
        for channel in made.values():
            channel.apply_settings()
        self.hosted |= made
        return made
