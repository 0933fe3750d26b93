"""A real Chromium on the page of a real daemon; no console message is tolerated."""

import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from fakes.bot_api import FakeBotApi
from fakes.daemon import RunningDaemon, running_daemon
from fakes.time_limit import LIMIT, time_limit
from playwright.async_api import Browser, Page, ViewportSize, async_playwright, expect

from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import PageAddress
from orchestrator.testing.loopback import find_free_port
from thinker.protocol.messages import JsonObject

CHROMIUM = shutil.which("chromium")
DEMO: JsonObject = {
    "agents": [{"agentId": "home", "llmProvider": "demo"}],
    "fallbackAgentId": "home",
}
DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 360, "height": 740}


@dataclass
class PageUser:
    """Someone with a browser."""

    daemon: RunningDaemon
    browser: Browser
    address: str
    faults: list[str] = field(default_factory=list)

    async def link(self) -> str:
        """A fresh link of `orchestrator dashboard`."""
        return (await self.daemon.ask(page_protocol.DASHBOARD_OPEN, None, PageAddress)).url

    async def page(self, *, phone: bool = False, scripts: bool = True, scale: float = 1) -> Page:
        """A window of its own, not logged in."""
        context = await self.browser.new_context(
            viewport=PHONE if phone else DESK,
            java_script_enabled=scripts,
            device_scale_factor=scale,
        )
        context.set_default_timeout(LIMIT * 1000)
        page = await context.new_page()
        page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._requested(request.url))
        return page

    async def logged_in(
        self, *, phone: bool = False, scripts: bool = True, scale: float = 1
    ) -> Page:
        """A window that has opened the link."""
        page = await self.page(phone=phone, scripts=scripts, scale=scale)
        link = await self.link()
        if scripts:
            await page.goto(link)
        else:
            await page.goto(link.partition("#")[0])
            await page.fill("#code", link.partition("#")[2])
            await page.click("button")
        await expect(page.locator("h1")).to_have_text("Now")
        return page

    def _requested(self, url: str) -> None:
        if not url.startswith(self.address):
            self.faults.append(f"request to {url}")


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    """A browser; its driver ends within the time limit, or the test fails."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    playwright = await async_playwright().start()
    try:
        yield await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
    finally:
        with anyio.CancelScope(shield=True), time_limit():
            await playwright.stop()


@asynccontextmanager
async def page_user(
    home: Path,
    config: JsonObject = DEMO,
    env: Mapping[str, str] | None = None,
    path: str = "",
    bot: FakeBotApi | None = None,
) -> AsyncIterator[PageUser]:
    """A daemon, its page, which may begin at a path, and a browser."""
    port = find_free_port()
    expect.set_options(timeout=LIMIT * 1000)
    given: JsonObject = {**config, "channels": {"web": {"port": port, "path": path}}}
    async with running_daemon(home, given, bot, env=env) as daemon, _browser() as browser:
        user = PageUser(daemon, browser, f"http://orchestrator.localhost:{port}{path}/")
        yield user
        await browser.close()
        assert user.faults == []
