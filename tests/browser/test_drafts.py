"""What is typed into a chat of the page is never lost, in a real browser."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from fakes.browser import CHROMIUM, PageUser, page_user
from fakes.time_limit import time_limit
from playwright.async_api import CDPSession, FilePayload, Page, Route, expect

pytestmark = [
    pytest.mark.thorough(part="page"),
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
NOTES: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"tea"}
TOLD = """() => {
  const told = (name) => new Promise((done) => {
    document.addEventListener(name, () => setTimeout(done), { once: true });
  });
  window.told = Promise.race([told("form:sent"), told("form:unsent")]);
}"""


async def new_chat(user: PageUser) -> Page:
    """A window with a chat in which nothing was said yet."""
    page = await user.logged_in()
    await page.goto(user.address + "chats/new")
    await page.wait_for_url(re.compile("operator"))
    await page.evaluate(TOLD)
    return page


async def say(page: Page, text: str) -> None:
    """Write into the chat that is open."""
    await page.fill("#text", text)
    await page.press("#text", "Enter")


@asynccontextmanager
async def held(page: Page, address: str) -> AsyncIterator[tuple[anyio.Event, anyio.Event]]:
    """Requests for an address wait: the first event says that one came, the second lets it go."""
    came, free = anyio.Event(), anyio.Event()

    async def hold(route: Route) -> None:
        came.set()
        await free.wait()
        await route.continue_()

    await page.route(address, hold)
    try:
        yield came, free
    finally:
        free.set()


@dataclass
class Sent:
    """A message that arrives, and whose answer is held back."""

    devtools: CDPSession
    _answers: list[str] = field(default_factory=list)
    _came: anyio.Event = field(default_factory=anyio.Event)

    def answered(self, event: dict[str, str]) -> None:
        """Take note of an answer."""
        self._answers.append(event["requestId"])
        self._came.set()

    async def arrived(self) -> None:
        """Wait for the answer, which the page does not get yet."""
        with time_limit():
            await self._came.wait()

    async def lose(self) -> None:
        """Cut the connection before the page has the answer."""
        lost = {"requestId": self._answers[0], "errorReason": "ConnectionClosed"}
        await self.devtools.send("Fetch.failRequest", lost)


@asynccontextmanager
async def unanswered(page: Page, meanwhile: str) -> AsyncIterator[Sent]:
    """A message "first" has arrived, and this was typed since; the answer comes after the block."""
    devtools = await page.context.new_cdp_session(page)
    sent = Sent(devtools)
    devtools.on("Fetch.requestPaused", sent.answered)
    pattern = {"urlPattern": "*/act/*", "requestStage": "Response"}
    await devtools.send("Fetch.enable", {"patterns": [pattern]})
    await say(page, "first")
    await sent.arrived()
    await page.fill("#text", meanwhile)
    yield sent
    await devtools.detach()


async def test_late_answer_to_a_message_leaves_what_was_typed_meanwhile(tmp_path: Path) -> None:
    """Neither the box nor what a reload brings back is emptied by it."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        async with unanswered(page, "typed meanwhile"):
            pass
        await page.evaluate("told")
        await expect(page.locator("#text")).to_have_value("typed meanwhile")
        await page.reload()
        await expect(page.locator("#text")).to_have_value("typed meanwhile")
        await expect(page.locator(".said")).to_have_text("first")


async def test_message_that_arrived_is_no_draft_after_a_reload(tmp_path: Path) -> None:
    """Its answer never came, but the chat has it."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        async with unanswered(page, "typed meanwhile"):
            await page.reload()
        await expect(page.locator(".said")).to_have_text("first")
        await expect(page.locator("#text")).to_have_value("typed meanwhile")


async def test_message_that_did_not_arrive_is_a_draft_after_a_reload(tmp_path: Path) -> None:
    """Before what was typed meanwhile."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        async with held(page, "**/act/**") as (came, _):
            await say(page, "first")
            with time_limit():
                await came.wait()
            await page.fill("#text", "typed meanwhile")
            await page.reload()
            await expect(page.locator("#text")).to_have_value("first\ntyped meanwhile")
            await page.unroute_all(behavior="ignoreErrors")
        await page.reload()
        await expect(page.locator("#text")).to_have_value("first\ntyped meanwhile")


async def test_message_that_is_refused_comes_back_with_its_files(tmp_path: Path) -> None:
    """Before what was typed meanwhile, and it can be sent again."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        came, typed = anyio.Event(), anyio.Event()

        async def refuse(route: Route) -> None:
            came.set()
            await typed.wait()
            await route.fulfill(
                status=409, content_type="text/html", body="<main><p>No.</p></main>"
            )

        await page.route("**/act/**", refuse, times=1)
        await page.set_input_files("#files", [NOTES])
        await say(page, "first")
        with time_limit():
            await came.wait()
        await page.fill("#text", "typed meanwhile")
        typed.set()
        await expect(page.locator(".toast")).to_contain_text("No.")
        await expect(page.locator("#text")).to_have_value("first\ntyped meanwhile")
        await page.press("#text", "Enter")
        await expect(page.locator(".said")).to_have_text("first\ntyped meanwhile")
        await expect(page.locator(".talk .files a")).to_contain_text("notes.txt")
        await expect(page.locator("#text")).to_have_value("")
        user.faults = [fault for fault in user.faults if "409" not in fault]


async def test_message_after_one_whose_answer_was_lost_is_another_one(tmp_path: Path) -> None:
    """The same text again counts once; with more behind it, it is a message of its own."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        async with unanswered(page, "second") as sent:
            await sent.lose()
        await expect(page.locator("#text")).to_have_value("first\nsecond")
        await page.press("#text", "Enter")
        await expect(page.locator(".said").last).to_have_text("first\nsecond")
        user.faults = [fault for fault in user.faults if "ERR_" not in fault]


async def test_message_that_follows_at_once_is_sent_after_the_first(tmp_path: Path) -> None:
    """Enter counts also while a message is on its way."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        async with held(page, "**/act/**") as (came, _):
            await say(page, "first")
            with time_limit():
                await came.wait()
            await say(page, "second")
        await expect(page.locator(".said").last).to_have_text("second")
        await expect(page.locator(".said").first).to_have_text("first")
        await expect(page.locator(".said")).to_have_count(2)
        await expect(page.locator("#text")).to_have_value("")


async def test_what_is_typed_before_the_script_comes_is_kept(tmp_path: Path) -> None:
    """Behind the draft that was there, and also when the page is left by a link."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        chat = page.url
        await page.fill("#text", "draft")
        await page.goto(user.address)
        async with held(page, "**/chat.js"):
            await page.goto(chat, wait_until="commit")
            await page.fill("#text", "typed early")
        await expect(page.locator("#text")).to_have_value("draft\ntyped early")
        await page.goto(user.address)
        await page.goto(chat)
        await expect(page.locator("#text")).to_have_value("draft\ntyped early")


async def test_draft_follows_a_box_that_is_replaced(tmp_path: Path) -> None:
    """A live update may take the form away and bring another one."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        await page.fill("#text", "typed")
        await page.evaluate("document.querySelector('.composer').remove()")
        other = await user.logged_in()
        await other.goto(page.url)
        await say(other, "hello")
        await expect(page.locator(".said")).to_have_text("hello")
        await expect(page.locator("#text")).to_have_value("typed")
