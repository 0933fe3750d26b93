"""Make every channel: the console, those of the channel host, and those of extensions."""

from collections.abc import Mapping, Sequence
from functools import partial

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.channels.hosted_channel import HostedChannel, HostResources
from orchestrator.control.console import Console
from orchestrator.extension import DaemonView
from orchestrator.processes import restarts
from orchestrator.processes.child_process import ChildProcess
from orchestrator.wakeup import Wakeup


class HostedChannels:
    """The channels of the channel host; each follows its own settings."""

    def __init__(self, channels: Sequence[HostedChannel]) -> None:
        self.channels = channels
        self._changes = {channel.name: Wakeup() for channel in channels}

    def start_processes(self, view: DaemonView) -> None:
        """Keep the channels' processes running; the last replies still leave through them."""
        for channel in self.channels:
            view.tasks.start_soon(
                channel.keep_process, partial(self._wait_for_change, channel.name)
            )

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        """Wake the channels whose settings changed."""
        for name, change in self._changes.items():
            if old.channels.hosted_channels.get(name) != new.channels.hosted_channels.get(name):
                change.wake()

    def list_children(self) -> Mapping[str, ChildProcess | None]:
        """List the channels' running processes, keyed by name in `orchestrator status`."""
        return {f"channel {channel.name}": channel.child for channel in self.channels}

    async def _wait_for_change(self, name: str) -> None:
        await self._changes[name].changed.wait()


async def make_channels(view: DaemonView) -> tuple[Console, HostedChannels]:
    """Add all adapters to ``view``; return the console and the hosted channels."""
    console, machine = Console(view.store), view.machine
    view.adapters[console.name] = console
    for part in view.parts:
        for adapter in await part.list_adapters():
            view.adapters[adapter.name] = adapter
    resources = HostResources(
        settings=view.settings,
        environ=view.environ,
        agents=view.get_agents_file,
        clock=machine.monotonic,
        jitter=partial(restarts.draw_jitter, machine.draw_fraction),
        spawn=machine.spawn_channel,
    )
    hosted = tuple(
        HostedChannel(name, kind, resources) for name, kind in load_channel_kinds().items()
    )
    for channel in hosted:
        channel.apply_settings()
        view.adapters[channel.name] = channel
    return console, HostedChannels(hosted)
