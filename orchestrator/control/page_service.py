"""The page as a part of the daemon: its process, its desk, and the file that keeps it on."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

import anyio
from pydantic import JsonValue

from orchestrator.agentsfile.agents_file import PageSettings
from orchestrator.control.control_server import ControlServer
from orchestrator.control.growing_answers import GrowingAnswers
from orchestrator.control.page_protocol import VIEW, WATCH, ChatKeys
from orchestrator.control.page_requests import PageDesk
from orchestrator.control.shared_looks import SharedLooks
from orchestrator.control.web_channel import WebChannel
from orchestrator.errors import JournalError
from orchestrator.journal.db.store import retry_later
from orchestrator.page_wire import PageEntrance
from orchestrator.processes.page_process import PageProcess
from thinker.protocol.peer import RequestHandler


class Means(Protocol):
    """What the page needs of the machine."""

    def monotonic(self) -> float:
        """Return seconds of a clock that cannot be set."""

    def random_bytes(self, count: int) -> bytes:
        """Return bytes that no one can guess."""


class PageService:
    """Runs the page; `configured` follows agents.json."""

    def __init__(
        self,
        control: ControlServer,
        channel: WebChannel,
        environ: Mapping[str, str],
        machine: Means,
    ) -> None:
        daemon = self._daemon = control.daemon
        process = self.process = PageProcess(daemon.settings, environ, machine.monotonic)
        self._switch = daemon.settings.paths.page_on
        desk = PageDesk(
            store=daemon.store,
            process=process,
            acting=control.acting,
            send=partial(channel.say, control.intake),
            clock=daemon.clock,
            random=machine.random_bytes,
            switch=self.switch,
            looks=SharedLooks(machine.monotonic),
            settings=self._settings,
        )
        growing = GrowingAnswers(control.chats.activity, partial(process.tell, VIEW))
        process.handlers = desk.page_methods
        process.notified = {WATCH: lambda params: growing.watch(_keys(params))}
        self._desk = desk

    def methods(self) -> Mapping[str, RequestHandler]:
        """Return what the command line may ask of the page."""
        return self._desk.operator_methods

    async def run(self) -> None:
        """Run the page while it is switched on, until canceled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.process.run)
            tasks.start_soon(self._follow_identities)
            while True:
                self.configured()
                await self._daemon.configuration.changed()

    def configured(self) -> None:
        """Listen as agents.json says now, if the page is switched on."""
        web, paths = self._settings(), self._daemon.settings.paths
        place = paths.page_socket if web.socket else web.port
        entrance = PageEntrance(
            names=web.names,
            path=web.path,
            proxied=web.proxied,
            identity_header=web.identity.header if web.identity else "",
        )
        on = web.enabled and self._switch.exists()
        self.process.configure(place if on else None, entrance)

    def switch(self, on: bool) -> None:  # noqa: FBT001 - one value that says all
        """Switch the page on or off, also for the next start."""
        if on:
            self._switch.touch(mode=0o600)
        else:
            self._switch.unlink(missing_ok=True)
        self.configured()

    def _settings(self) -> PageSettings:
        return self._daemon.configuration.file.channels.web

    async def _follow_identities(self) -> None:
        """End logins by identity whenever agents.json takes their person from its list."""
        configuration = self._daemon.configuration
        while True:
            file = configuration.file
            try:
                await self._desk.identities.end_unlisted()
            except JournalError as error:
                await retry_later(error)
                continue
            if configuration.file is file:
                await configuration.changed()


def _keys(params: JsonValue) -> tuple[str, ...]:
    return ChatKeys.model_validate(params).keys
