"""The page without a socket: its real application over a real journal and desk."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from fakes.control_server import STATUS
from fakes.journal import address_of, store_in
from httpx import ASGITransport, AsyncClient, Response
from pydantic import BaseModel, JsonValue

from orchestrator.control import editing, protocol, trials
from orchestrator.extension import Finding
from orchestrator.extensions.page import setup_answers
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.login_desk import PageLogins
from orchestrator.extensions.page.daemon_side.page_access import REQUIRED_RIGHTS
from orchestrator.extensions.page.daemon_side.page_process import PageProcess
from orchestrator.extensions.page.daemon_side.page_protocol import WEB_SEND, WebSend
from orchestrator.extensions.page.daemon_side.page_requests import PageDesk
from orchestrator.extensions.page.live import LiveFeed
from orchestrator.extensions.page.login import COOKIE
from orchestrator.extensions.page.page_app import PageApp, build_csrf_value
from orchestrator.extensions.page.page_guard import PageGuard
from orchestrator.extensions.page.page_reads import open_reads
from orchestrator.extensions.page.page_settings import PageSettings
from orchestrator.extensions.page.page_wire import PageEntrance
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import WebGuest, WebSession
from orchestrator.extensions.page.screen_request import JournalView, PageScreen
from orchestrator.extensions.page.screens import SCREENS, expense_advice, memory_list
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.settings import Settings
from thinker.protocol.peer import NO_METHOD, Params, RequestHandler, RpcError

NOW = 1_774_000_000_000  # milliseconds
ORIGIN = "http://localhost:8485"
ANSWERS: dict[str, BaseModel] = {
    protocol.STATUS: STATUS,
    protocol.HEALTH: protocol.HealthReport(ready=True),
    page_protocol.LOG_TAIL: page_protocol.LogLines(lines=()),
    page_protocol.PROCESS_LIST: page_protocol.ProcessTable(processes=()),
    page_protocol.TOOL_RULES: page_protocol.ToolRuleTable(tools=(), rules=()),
    protocol.EXAMINE: protocol.DoctorFindings(
        findings=(Finding("disk", "<b>4 GB free", "warning"),)
    ),
    trials.TRIAL_LIST: trials.TrialReports(trials=()),
    trials.SETS_LIST: trials.SavedSets(turns=()),
    protocol.PAIR_LIST: protocol.PairingList(pairings=()),
    editing.FILE_LIST: editing.EditableFiles(files=()),
    editing.FILE_READ: editing.FileText(name="agents.json", text="{}", base="0"),
    editing.FILE_CHECK: editing.EditReport(name="agents.json", text="{}", base="0"),
    editing.FILE_HISTORY: editing.FileHistory(name="", versions=()),
    setup_answers.KEYS_LIST: setup_answers.KnownKeys(keys=()),
    setup_answers.PEOPLE_LIST: setup_answers.ListedPeople(people=()),
    page_protocol.DASHBOARD_SESSIONS: page_protocol.PageSessions(sessions=()),
    "memory/list": memory_list.ListedFacts(facts=()),
    "profile/list": memory_list.ListedFields(fields=()),
    expense_advice.COSTS_FORECAST: expense_advice.ShownForecasts(),
    expense_advice.COSTS_SAVINGS: expense_advice.ShownSavings(),
}
R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")


def read_from(db: Database) -> JournalView:
    """Read from an open journal."""

    async def run(read: Callable[..., T], *args: object) -> T:
        return read(db, *args)

    return run


@dataclass
class DirectCaller:
    """A peer whose other side is in the same process."""

    handlers: Mapping[str, RequestHandler]

    async def call(self, method: str, params: Params, result: type[R], *, timeout: float) -> R:  # noqa: ASYNC109 - as in `Peer`
        """Call a handler."""
        return result.model_validate(await self.request(method, params, timeout=timeout))

    async def request(self, method: str, params: Params = None, *, timeout: float) -> JsonValue:  # noqa: ASYNC109 - as in `Peer`
        """Call a handler, with what JSON makes of parameters and result."""
        del timeout
        if method not in self.handlers:
            raise RpcError(NO_METHOD, method)
        sent = params.model_dump(mode="json") if isinstance(params, BaseModel) else params
        found = await self.handlers[method](sent)
        return found.model_dump(mode="json") if isinstance(found, BaseModel) else found


@dataclass
class PageBench:
    """A page, and a browser for each person."""

    store: Store
    desk: PageDesk
    app: PageApp
    acts: list[tuple[str, str, JsonValue]] = field(default_factory=list)  # by whom, what, of what
    now: int = NOW
    switched: list[bool] = field(default_factory=list)
    answers: dict[str, RequestHandler] = field(default_factory=dict)
    web: PageSettings = field(default_factory=PageSettings)
    screens: Sequence[PageScreen] = SCREENS

    def acting(self, by: str) -> Mapping[str, RequestHandler]:
        """Note all that is done; what is asked has a fixed answer."""

        def noting(method: str) -> RequestHandler:
            async def handle(params: JsonValue) -> Params:
                self.acts.append((by, method, params))
                if method in self.answers:
                    return await self.answers[method](params)
                return ANSWERS.get(method, protocol.Ack())

            return handle

        return {name: noting(name) for name in (*REQUIRED_RIGHTS, "forget", *self.answers)}

    async def login(
        self, role: str = "operator", user: str = "ann", agents: tuple[str, ...] | None = None
    ) -> "Person":
        """A browser that is logged in."""
        token = self.desk.logins.random(32).hex()
        guest = WebGuest(user, role, agents)
        await self.store.transact(web_sessions.create_session, token, guest, "test", self.now)
        return Person(self.browser({COOKIE: token}), token)

    def browser(self, cookies: dict[str, str] | None = None) -> AsyncClient:
        """A browser that knows no one."""
        identity = self.web.identity
        entrance = PageEntrance(
            names=("page.example",),
            path=self.web.path,
            proxied=True,
            identity_header="" if identity is None else identity.header,
        )
        application = self.app.build_application(self.screens)
        transport = ASGITransport(PageGuard(application, entrance))
        return AsyncClient(transport=transport, base_url=ORIGIN, cookies=cookies)


@dataclass
class Person:
    """Someone who is logged in."""

    browser: AsyncClient
    token: str

    async def get(self, path: str, **headers: str) -> Response:
        """Open an address."""
        return await self.browser.get(path, headers=headers)

    async def act(self, method: str, fields: Mapping[str, str], **headers: str) -> Response:
        """Send a form that calls a method."""
        return await self.post(f"/act/{method}", fields, **headers)

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Response:
        """Send a form to an address."""
        every = {"csrf": build_csrf_value(self.token), "once": "form-0001", **fields}
        return await self.browser.post(path, data=every, headers={"origin": ORIGIN, **headers})

    async def send(
        self, method: str, fields: Mapping[str, str], files: Sequence[tuple[str, bytes]]
    ) -> Response:
        """Send a form with files."""
        every = {**fields, "csrf": build_csrf_value(self.token)}
        return await self.browser.post(
            f"/act/{method}",
            data=every,
            files=[("files", file) for file in files],
            headers={"origin": ORIGIN},
        )


@asynccontextmanager
async def page_bench(
    folder: Path, *, screens: Sequence[PageScreen] = ()
) -> AsyncIterator[PageBench]:
    """A page over the journal in a folder, with ``screens`` beside its own."""
    store = store_in(folder)
    numbers = iter(range(1, 10_000))
    switched: list[bool] = []
    process = PageProcess(Settings(home=folder), {}, lambda: 0.0)

    def bench_acting(by: str) -> Mapping[str, RequestHandler]:
        return bench.acting(by)

    async def send(session: WebSession, sent: WebSend) -> None:
        bench.acts.append((f"web:{session.user}", WEB_SEND, sent.model_dump(mode="json")))

    logins = PageLogins(
        store=store,
        process=process,
        clock=lambda: bench.now,
        random=lambda size: next(numbers).to_bytes(size, "big"),
        switch=switched.append,
        settings=lambda: bench.web,
    )
    desk = PageDesk(
        store=store,
        logins=logins,
        acting=bench_acting,
        send=send,
        clock=lambda: bench.now,
        monotonic=lambda: bench.now / 1000,
    )
    reads = open_reads(address_of(folder))
    caller = DirectCaller(desk.page_methods)
    app = PageApp(reads, caller, ZoneInfo("UTC"), lambda: bench.now, LiveFeed(reads.read_version))
    shown = (*screens, *SCREENS)
    bench = PageBench(store, desk, app, switched=switched, screens=shown)
    try:
        yield bench
    finally:
        reads.close()
        store.close()
