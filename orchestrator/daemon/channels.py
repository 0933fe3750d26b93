"""Make every channel: the console, and those of extensions."""

from anyio.abc import TaskGroup

from orchestrator.channel_api import Adapter
from orchestrator.control.console import Console
from orchestrator.extension import DaemonView


class ChannelSet:
    """The channels of a daemon, in ``view.adapters``; more may be added while it runs."""

    def __init__(self, view: DaemonView) -> None:
        self._view = view
        self._receiving: TaskGroup | None = None  # while messages are received
        self.console = Console(view.store)

    async def make_channels(self) -> None:
        """Make all channels; delivery and the rest of the daemon are made with them."""
        view = self._view
        view.adapters[self.console.name] = self.console
        for part in view.parts:
            for adapter in await part.list_adapters():
                view.adapters[adapter.name] = adapter

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
