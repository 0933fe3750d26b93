"""The page as a part of the daemon: its process, its desk, and its on switch."""

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

import anyio
from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.protocol import Ack
from orchestrator.errors import JournalError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.page.daemon_side.added_screens import AddedScreens
from orchestrator.extensions.page.daemon_side.daemon_looks import DaemonLooks
from orchestrator.extensions.page.daemon_side.growing_answers import GrowingAnswers
from orchestrator.extensions.page.daemon_side.login_desk import PageLogins
from orchestrator.extensions.page.daemon_side.page_process import PageProcess
from orchestrator.extensions.page.daemon_side.page_protocol import (
    CALL_SETTLE,
    SCREEN_SHOW,
    VIEW,
    WATCH,
    ChatKeys,
    SettledCall,
)
from orchestrator.extensions.page.daemon_side.web_channel import WebChannel
from orchestrator.extensions.page.page_settings import PageSettings
from orchestrator.extensions.page.page_wire import PageEntrance
from orchestrator.extensions.page.page_zone import choose_page_zone
from orchestrator.extensions.page.reads.call_verdicts import CallOutcome, store_verdict
from orchestrator.journal.db.store import retry_later
from orchestrator.processes.child_process import ChildProcess
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import Peer, RequestHandler

if TYPE_CHECKING:
    from orchestrator.extensions.page.daemon_side.page_requests import PageDesk

DESK = "orchestrator.extensions.page.daemon_side.page_requests"


class PageService(Part):
    """Runs the page, and follows its settings."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._changed, self._channel = Wakeup(), WebChannel(daemon.store)
        self._switch = daemon.settings.paths.page_on
        self._desk: PageDesk | None = None  # before the page was opened
        self._looks = DaemonLooks(daemon)
        self.process = PageProcess(daemon.settings, daemon.environ, daemon.machine.monotonic)

    async def list_adapters(self) -> tuple[WebChannel]:
        return (self._channel,)

    async def open(self) -> None:
        daemon, process, machine = self.daemon, self.process, self.daemon.machine
        self._logins = PageLogins(
            store=daemon.store,
            process=process,
            clock=machine.clock,
            random=machine.random_bytes,
            switch=self.switch_page,
            settings=self._get_settings,
        )
        growing = GrowingAnswers(daemon.control.chats.activity, partial(process.notify_page, VIEW))
        process.load_handlers = self._load_handlers
        process.notified = {WATCH: lambda params: growing.watch_chats(_parse_keys(params))}

    async def _load_handlers(self) -> Mapping[str, RequestHandler]:
        """Load what carries out acts, before the page's first process begins."""
        daemon, machine = self.daemon, self.daemon.machine
        if self._desk is None:
            module = await machine.in_thread(import_module, DESK)
            self._desk = module.PageDesk(
                store=daemon.store,
                logins=self._logins,
                acting=self._build_methods_for,
                send=partial(self._channel.accept_message, daemon.control.intake),
                clock=machine.clock,
                monotonic=machine.monotonic,
            )
        return self._desk.page_methods

    @cached_property
    def _screens(self) -> AddedScreens:
        parts = self.daemon.parts
        return AddedScreens(chain.from_iterable(part.list_screens() for part in parts))

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        """Return the methods of the command line, or without a peer those of the page."""
        if peer is None:
            return {SCREEN_SHOW: self._screens.render_screen, **self._looks.methods}
        return self._logins.build_methods("operator")

    def _build_methods_for(self, by: str) -> Mapping[str, RequestHandler]:
        """Return the methods for a person on the page; `PageDesk` checks the role."""
        return {
            **self.daemon.control.build_methods_for(by),
            **self._logins.build_methods(by),
            CALL_SETTLE: partial(self._settle_call, by),
        }

    async def _settle_call(self, by: str, params: JsonValue) -> Ack:
        found = SettledCall.model_validate(params)
        outcome = CallOutcome(found.turn_id, found.seq, found.happened)
        return await self.daemon.control.change_journal(store_verdict, outcome, by)

    def list_hints(self) -> Iterable[str]:
        if self.process.problem:
            yield self.process.problem
        for problem in self._screens.problems.values():
            yield f"{problem}; see: orchestrator logs"

    def list_children(self) -> Mapping[str, ChildProcess | None]:
        return {"page": self.process.child}

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        self.apply_configuration()
        if old.channels.get_settings(PageSettings) != new.channels.get_settings(PageSettings):
            self._changed.wake()

    async def run(self) -> None:
        """Run the page while it is switched on, until cancelled."""
        self.apply_configuration()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.process.run)
            tasks.start_soon(self._follow_identities)

    def apply_configuration(self) -> None:
        """Listen as agents.json says, if the page is switched on."""
        web, paths = self._get_settings(), self.daemon.settings.paths
        place = paths.page_socket if web.socket else web.port
        entrance = PageEntrance(
            names=web.names,
            path=web.path,
            proxied=web.is_proxied,
            identity_header=web.identity.header if web.identity else "",
            screens=self._screens.list_links(),
            zone=choose_page_zone(self.daemon.environ, self.daemon.get_agents_file()).key,
        )
        on = web.enabled and self._switch.exists()
        self.process.configure(place if on else None, entrance)

    def switch_page(self, on: bool) -> None:  # noqa: FBT001 - one value that says all
        """Switch the page on or off, also for the next start."""
        if on:
            self._switch.touch(mode=0o600)
        else:
            self._switch.unlink(missing_ok=True)
        self.apply_configuration()

    def _get_settings(self) -> PageSettings:
        return self.daemon.get_agents_file().channels.get_settings(PageSettings)

    async def _follow_identities(self) -> None:
        """End logins by identity when agents.json no longer lists the person."""
        while True:
            changed = self._changed.changed
            try:
                await self._logins.identities.end_unlisted_sessions()
            except JournalError as error:
                await retry_later(error)
                continue
            await changed.wait()


def _parse_keys(params: JsonValue) -> tuple[str, ...]:
    return ChatKeys.model_validate(params).keys
