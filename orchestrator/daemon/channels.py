"""Make every channel, and receive by those that this node holds."""

import anyio
from anyio.abc import TaskGroup

from orchestrator.channel_api import Adapter
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.control.console import Console
from orchestrator.extension import DaemonView

ELSEWHERE = "another node receives its messages; this one sends"


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
            self._receiving.start_soon(self._receive, adapter)

    def start_receiving(self, tasks: TaskGroup) -> None:
        self._receiving = tasks
        for adapter in self._view.adapters.values():
            tasks.start_soon(self._receive, adapter)

    async def _receive(self, adapter: Adapter) -> None:
        """Receive by a channel whenever this node holds it.

        What clients hand to a server of this machine, every node receives itself.
        """
        view = self._view
        if not view.store.is_shared or isinstance(adapter, JournalChannel):
            await adapter.run(view.intake)
            return
        placement = view.placement
        while True:
            changed = placement.changed
            if placement.holds(adapter.name):
                await self._receive_until_lost(adapter)
            else:
                if adapter.status.state not in ("off", "degraded"):
                    adapter.status.state, adapter.status.detail = "ok", ELSEWHERE
                await changed.wait()

    async def _receive_until_lost(self, adapter: Adapter) -> None:
        placement = self._view.placement
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(adapter.run, self._view.intake)
            while placement.holds(adapter.name):
                await placement.changed.wait()
            tasks.cancel_scope.cancel()
