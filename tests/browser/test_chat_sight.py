"""Where things are in chats and the inbox, in a real browser at the sizes of a desk and a phone."""

import time
from pathlib import Path

import pytest
from fakes.browser import CHROMIUM, PageUser, page_user
from fakes.calling_model import CallingModel
from fakes.held_model import HeldModel, agent
from fakes.journal import connection_in, job, update
from playwright.async_api import FilePayload, Locator, Page, ViewportSize, expect

from orchestrator.journal.access import pairing
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address
from thinker.protocol.messages import JsonObject

pytestmark = [
    pytest.mark.thorough(part="page"),
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
CHATS = 21
LONG = "\n\n".join(f"Line {number} of a long question." for number in range(60))
MAIL = '!get_time {"timezone": "UTC"}'
COMPOSER = 120  # pixels that an empty composer may have on a phone


async def say(page: Page, text: str) -> None:
    """Write into the chat that is open."""
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def bottom(place: Locator) -> float:
    """Where a part of the page ends."""
    box = await place.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def fill_list(home: Path) -> None:
    """A list with many chats of Telegram."""
    db, now = connection_in(home), time.time_ns() // 1_000_000
    with job(db):
        messages = [update(n, f"message {n}", f"c{n}") for n in range(1, CHATS)]
        inbox.ingest(db, [Arrival(message, "old") for message in messages], None, now)
    db.close()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_message_answer_and_composer_are_in_sight(tmp_path: Path, size: ViewportSize) -> None:
    """After sending, however long the list and the answer are; who scrolled up stays there."""
    async with HeldModel() as model:
        config: JsonObject = {"agents": [agent("home", model)], "fallbackAgentId": "home"}
        async with page_user(tmp_path, config) as user:
            fill_list(tmp_path)
            page = await user.logged_in()
            await page.set_viewport_size(size)
            await page.goto(user.address + "chats/new")
            await say(page, "hello there")
            answer = page.locator(".talk .answer").last
            await expect(answer).to_contain_text("hello there")
            await expect(page.locator(".said").last).to_be_in_viewport(ratio=1)
            await expect(answer).to_be_in_viewport(ratio=1)
            await say(page, LONG)
            await expect(page.locator(".after")).to_have_count(2)
            await expect(page.locator(".after").last).to_be_in_viewport(ratio=1)
            await expect(page.locator(".composer")).to_be_in_viewport(ratio=1)
            assert await bottom(page.locator(".after").last) <= await _top(page, ".composer")
            if size is PHONE:
                height = await bottom(page.locator(".composer")) - await _top(page, ".composer")
                assert height <= COMPOSER
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert width <= size["width"]


async def _top(page: Page, selector: str) -> float:
    box = await page.locator(selector).bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_denied_call_tells_its_agent_why(tmp_path: Path, size: ViewportSize) -> None:
    """The reason belongs to the refusal, and nothing runs."""
    async with CallingModel() as model:
        home = agent("home", model, approvals=["get_time"])
        config: JsonObject = {"agents": [home], "fallbackAgentId": "home"}
        async with page_user(tmp_path, config) as user:
            page = await user.logged_in()
            await page.set_viewport_size(size)
            await page.goto(user.address + "chats/new")
            await say(page, MAIL)
            card = page.locator(".ask")
            await expect(card.locator("dd.first, dd").first).to_have_text("UTC")
            allow = await card.locator("text=Allow once").bounding_box()
            deny = await card.locator("text=Deny").bounding_box()
            assert allow is not None
            assert deny is not None
            assert deny["y"] > allow["y"] + allow["height"] + 20
            await card.locator("[name=note]").fill("it is too late")
            await card.locator("text=Deny").click()
            await expect(page.locator(".talk .answer").last).to_contain_text("too late")
            await expect(page.locator(".calls")).to_contain_text("denied")


async def test_stranger_is_refused_with_what_it_wrote_in_sight(tmp_path: Path) -> None:
    """One press; the chat hears nothing more, and its words are gone."""
    async with page_user(tmp_path) as user:
        _knock(tmp_path)
        page = await user.logged_in()
        await page.goto(user.address + "inbox")
        card = page.locator(".ask")
        await expect(card).to_contain_text("please let me in")
        await card.locator("text=Refuse").click()
        await expect(card).to_have_count(0)
        await expect(page.locator("main")).to_contain_text("refused telegram:9")


async def test_stranger_is_let_in_as_one_who_may_approve(tmp_path: Path) -> None:
    """In one form, with the choice of its agent."""
    async with page_user(tmp_path) as user:
        _knock(tmp_path)
        page = await user.logged_in()
        await page.goto(user.address + "inbox")
        await page.select_option("[name=role]", "approve")
        await page.click(".ask button:text-is('Let in')")
        await expect(page.locator(".ask")).to_have_count(0)
        assert _pairing_role(tmp_path) == "approve"


def _knock(home: Path) -> None:
    """A chat that asks to be let in, with a message that is held."""
    db, now = connection_in(home), time.time_ns() // 1_000_000
    with job(db):
        pairing.request_pairing(db, Address("telegram", "1", "9"), "Bob", "K7QM2ABX", now)
        message = update(1, "please let me in", "9")
        inbox.ingest(db, [Arrival(message, "not paired yet", held=True)], None, now)
    db.close()


def _pairing_role(home: Path) -> str | None:
    db = connection_in(home)
    (found,) = pairing.list_pairings(db)
    db.close()
    return found.role


async def test_chosen_files_are_chips_that_can_be_removed(tmp_path: Path) -> None:
    """Before they are sent."""
    async with page_user(tmp_path) as user:
        page = await new_chat(user)
        await page.set_input_files("#files", [tea("a.txt"), tea("b.txt")])
        await expect(page.locator("#chosen li")).to_have_count(2)
        await page.click("[aria-label='Remove a.txt']")
        await expect(page.locator("#chosen")).to_contain_text("b.txt")
        await page.press("#text", "Enter")
        await expect(page.locator(".talk .files")).to_contain_text("b.txt")
        await expect(page.locator("#chosen")).to_be_hidden()


def tea(name: str) -> FilePayload:
    """A small file."""
    return {"name": name, "mimeType": "text/plain", "buffer": b"tea"}


async def new_chat(user: PageUser) -> Page:
    """A window with a chat in which nothing was said yet."""
    page = await user.logged_in()
    await page.goto(user.address + "chats/new")
    return page


async def test_answer_is_tried_again_and_unread_ones_are_marked(tmp_path: Path) -> None:
    """The same message once more; an answer that came elsewhere is marked until it is read."""
    async with HeldModel() as model:
        config: JsonObject = {"agents": [agent("home", model)], "fallbackAgentId": "home"}
        async with page_user(tmp_path, config) as user:
            page = await new_chat(user)
            gate = model.hold("slow one")
            await say(page, "slow one")
            await model.asked("slow one")
            other = page.url
            await page.goto(user.address + "chats/new")
            await say(page, "quick one")
            await expect(page.locator(".after")).to_have_count(1)
            await page.click("text=Try again")
            await expect(page.locator(".said")).to_have_text(["quick one", "quick one"])
            await expect(page.locator(".after")).to_have_count(2)
            gate.set()
            await expect(page.locator(".unread")).to_contain_text("slow one")
            await page.goto(other)
            await expect(page.locator(".unread")).to_have_count(0)
