"""The channels in processes of their own; accounts may be added while the daemon runs."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import load_channel_kinds, split_account
from orchestrator.channel_api import Adapter
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel, HostResources
from orchestrator.processes import restarts

if TYPE_CHECKING:
    from orchestrator.processes.child_process import ChildProcess


class ChannelFoldersPart(Part):
    """Makes the channels of all installed folders, and keeps their processes."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        machine = daemon.machine
        self._hosted: dict[str, HostedChannel] = {}  # by channel
        self._resources = HostResources(
            settings=daemon.settings,
            environ=daemon.environ,
            agents=daemon.get_agents_file,
            clock=machine.monotonic,
            jitter=partial(restarts.draw_jitter, machine.draw_fraction),
            spawn=machine.spawn_channel,
            is_stopping=daemon.stopping.is_set,
            nodes=lambda: daemon.placement.nodes,
        )

    async def list_adapters(self) -> Collection[Adapter]:
        return self._make_channels()

    async def open(self) -> None:
        self._keep_processes(self._hosted.values())

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        """Add the accounts that agents.json has by now."""
        del old, new
        made = self._make_channels()
        for channel in made:
            self.daemon.add_adapter(channel)
        self._keep_processes(made)

    def list_children(self) -> "Mapping[str, ChildProcess | None]":
        return {f"channel {channel.name}": channel.child for channel in self._hosted.values()}

    def _make_channels(self) -> Collection[HostedChannel]:
        """Make the channels that there are not yet, with accounts of installed ones."""
        kinds = load_channel_kinds()
        names = {**kinds, **self.daemon.get_agents_file().channels.hosted_channels}
        made = {
            name: HostedChannel(name, kinds[split_account(name)[0]], self._resources)
            for name in names
            if name not in self._hosted and split_account(name)[0] in kinds
        }
        for channel in made.values():
            channel.apply_settings()
        self._hosted |= made
        return made.values()

    def _keep_processes(self, channels: Collection[HostedChannel]) -> None:
        """Keep the processes running; the last replies still leave through them."""
        for channel in channels:
            self.daemon.tasks.start_soon(
                channel.keep_process, self.daemon.configuration.wait_for_change
            )
