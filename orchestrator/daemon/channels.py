"""Make every channel: the console, those of the channel host, and those of extensions."""

from collections.abc import Iterable
from functools import partial

from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.channels.hosted_channel import HostedChannel, HostResources
from orchestrator.control.console import Console
from orchestrator.extension import DaemonView
from orchestrator.processes import restarts


def keep_processes(view: DaemonView, hosted: Iterable[HostedChannel]) -> None:
    """Keep the channels' processes running; the last replies still leave through them."""
    for channel in hosted:
        view.tasks.start_soon(channel.keep_process, view.configuration.wait_for_change)


async def make_channels(view: DaemonView) -> tuple[Console, tuple[HostedChannel, ...]]:
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
    return console, hosted
