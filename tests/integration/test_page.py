"""The page of a real daemon: started by a browser, replaced when it dies."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from fakes.daemon import RunningDaemon, running_daemon
from fakes.postgresql import POSTGRESQL, database_of
from fakes.time_limit import LIMIT
from httpx import AsyncClient
from pydantic import JsonValue

from orchestrator.control.protocol import Ack, ProcessReport, StatusReport
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import (
    PageAddress,
    PageSessions,
    SessionName,
)
from orchestrator.extensions.postgresql.pg_page_reads import SHOWN
from orchestrator.testing.loopback import find_free_port
from thinker.protocol.messages import JsonObject

pytestmark = pytest.mark.process
SCREENS = ("/", "/chats", "/turns", "/inbox", "/costs", "/tasks", "/tools", "/logs", "/system")
MOST_LEFT = 6 * 1024  # kibibytes
SESSIONS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"


def config(port: int) -> JsonObject:
    """One agent without a model, and the page at a port."""
    agents: list[JsonValue] = [{"agentId": "home", "llmProvider": "demo"}]
    return {"agents": agents, "fallbackAgentId": "home", "channels": {"web": {"port": port}}}


@asynccontextmanager
async def logged_in(daemon: RunningDaemon) -> AsyncIterator[AsyncClient]:
    """A browser that opened the link of `orchestrator dashboard`."""
    url = (await daemon.ask(page_protocol.DASHBOARD_OPEN, None, PageAddress)).url
    base, _, code = url.partition("/in#")
    base = base.replace("orchestrator.localhost", "127.0.0.1")
    async with AsyncClient(base_url=base, timeout=LIMIT) as browser:
        entered = await browser.post("/in", data={"code": code}, headers={"origin": base})
        assert entered.status_code == 303
        yield browser


def page_process(report: StatusReport) -> ProcessReport | None:
    """The page's process, while it runs."""
    return next((process for process in report.processes if process.name == "page"), None)


async def test_page_is_started_by_a_browser_jailed_and_replaced_when_it_dies(
    tmp_path: Path,
) -> None:
    """`kill -9` costs one request at most: the next one is answered by a new process."""
    env = {"USER_TIMEZONE": "Europe/Warsaw"}
    async with running_daemon(tmp_path, config(find_free_port()), env=env) as daemon:
        assert page_process(await daemon.status()) is None
        async with logged_in(daemon) as browser:
            assert "Europe/Warsaw" in (await browser.get("/")).text
            found = page_process(await daemon.status())
            assert found is not None
            assert (found.sandbox, found.reason) == ("full", "")
            os.kill(found.pid, signal.SIGKILL)
            await daemon.logged("page_ended", kind="crash")
        async with logged_in(daemon) as browser:
            assert (await browser.get("/")).status_code == 200
            again = page_process(await daemon.status())
            assert again is not None
            assert again.pid != found.pid


@pytest.mark.thorough(part="page")
async def test_many_requests_leave_little_memory_behind(tmp_path: Path) -> None:
    """The process holds one page at a time, however many were asked for."""
    async with (
        running_daemon(tmp_path, config(find_free_port())) as daemon,
        logged_in(daemon) as browser,
    ):
        found = page_process(await daemon.status())
        assert found is not None
        for path in SCREENS:
            await browser.get(path)
        before = _read_resident(found.pid)
        for number in range(300):
            assert (await browser.get(SCREENS[number % len(SCREENS)])).status_code == 200
        after = _read_resident(found.pid)
    assert after - before < MOST_LEFT


def _read_resident(pid: int) -> int:
    """Return the kibibytes of memory that a process has."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


async def test_switch_of_the_page_outlives_a_restart(tmp_path: Path) -> None:
    """On until it is switched off; then nothing listens."""
    port = find_free_port()
    async with running_daemon(tmp_path, config(port)) as daemon, logged_in(daemon) as browser:
        kept = dict(browser.cookies)
    async with (
        running_daemon(tmp_path, None) as daemon,
        AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=LIMIT, cookies=kept) as browser,
    ):
        assert (await browser.get("/")).status_code == 200
        await daemon.ask(page_protocol.DASHBOARD_CLOSE, None, Ack)
        await daemon.until(lambda report: page_process(report) is None)
        assert not (tmp_path / "page-on").exists()


@pytest.mark.skipif(not POSTGRESQL, reason="about a session of PostgreSQL")
async def test_page_whose_session_ended_is_replaced(tmp_path: Path) -> None:
    """From inside its jail it cannot connect again."""
    async with running_daemon(tmp_path, config(find_free_port())) as daemon:
        async with logged_in(daemon) as browser:
            assert "Agents" in (await browser.get("/")).text
            first = page_process(await daemon.status())
            assert first is not None
            assert first.sandbox == "full"
            with psycopg.connect(database_of(tmp_path), autocommit=True) as session:
                ended = session.execute(f"SELECT pg_terminate_backend(pid) {SESSIONS}", [SHOWN])
                assert ended.fetchall() == [(True,)]
            await daemon.logged("page_ended", kind="crash")
            assert "Agents" in (await browser.get("/")).text
            second = page_process(await daemon.status())
        assert second is not None
        assert second.pid != first.pid


async def test_revoked_login_is_over_at_once(tmp_path: Path) -> None:
    """By name; the list shows who is logged in."""
    async with (
        running_daemon(tmp_path, config(find_free_port())) as daemon,
        logged_in(daemon) as browser,
    ):
        found = await daemon.ask(page_protocol.DASHBOARD_SESSIONS, None, PageSessions)
        assert [(s.user, s.role) for s in found.sessions] == [("operator", "operator")]
        name = SessionName(name=found.sessions[0].id)
        await daemon.ask(page_protocol.DASHBOARD_REVOKE, name, Ack)
        assert (await browser.get("/")).status_code == 401


def field(page: str, name: str) -> str:
    """The value of a hidden field of a form for messages."""
    form = page.partition('id="composer"')[2]
    return form.partition(f'name="{name}" value="')[2].partition('"')[0]


async def test_form_without_a_script_is_answered_in_its_chat_once(tmp_path: Path) -> None:
    """Sent twice, it is one message; an order of the operator is no message for the agent."""
    async with (
        running_daemon(tmp_path, config(find_free_port())) as daemon,
        logged_in(daemon) as browser,
    ):
        new = await browser.get("/chats/new")
        place = new.headers["location"]
        page = (await browser.get(place)).text
        form = {name: field(page, name) for name in ("csrf", "once", "chat", "back")}
        origin = {"origin": str(browser.base_url).rstrip("/")}
        for _ in range(2):
            sent = await browser.post(
                "/act/web/send", data={**form, "text": "hello there"}, headers=origin
            )
            assert (sent.status_code, sent.headers["location"]) == (303, place)
        await daemon.logged("turn_replied")
        await daemon.until(lambda report: report.open_turns == 0)
        answered = (await browser.get(place)).text
        assert answered.count("hello there</div>") == 1
        assert "Demo model" in answered
        once = {"once": "another-form", "text": "/status"}
        await browser.post("/act/web/send", data={**form, **once}, headers=origin)
        assert "Agents: home" in (await browser.get(place)).text
