"""What people try again on the page, keep as a test, and go on from, in a real browser."""

from pathlib import Path

import pytest
from fakes.browser import CHROMIUM, PageUser, page_user
from fakes.calling_model import CallingModel
from fakes.held_model import agent
from playwright.async_api import Page, expect

from thinker.protocol.messages import JsonObject

pytestmark = [
    pytest.mark.process,
    pytest.mark.thorough(part="page"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
MAX_LOADS = 500  # of a page that does not follow by itself


async def _ask(user: PageUser, page: Page, text: str) -> None:
    """Write into a chat, and see the answer."""
    await page.fill("#text", text)
    await page.click("text=Send")
    await _await_text(page, ".talk .answer >> nth=-1", f"home-model: {text}")
    assert user.faults == []


async def _await_text(page: Page, place: str, text: str) -> None:
    """Wait for a text, by loading the page again where no script does."""
    found = page.locator(place)
    for _ in range(MAX_LOADS):
        if await found.count() and text in (await found.inner_text()):
            return
        if await page.evaluate("() => window.page === undefined"):
            await page.reload()
    await expect(found).to_contain_text(text)


async def _open_ways(page: Page) -> None:
    """Unfold what one may do with the last answer."""
    await page.locator("details.ways summary").last.click()


@pytest.mark.parametrize("scripts", [True, False])
async def test_answer_is_tried_kept_as_a_test_and_gone_on_from(
    tmp_path: Path, *, scripts: bool
) -> None:
    """From the chat, with every form, and with and without scripts."""
    async with CallingModel() as model:
        config: JsonObject = {"agents": [agent("home", model)], "fallbackAgentId": "home"}
        async with page_user(tmp_path, config) as user:
            page = await user.logged_in(scripts=scripts)
            await page.goto(user.address + "chats/new")
            await _ask(user, page, "Is the train on time?")
            chat = page.url
            await _open_ways(page)
            await page.click("a.chip >> text=Try")
            await page.fill("[name=temperature]", "0.5")
            await page.click("button >> text=Estimate")
            await expect(page.locator("main")).to_contain_text("No price is known")
            await page.click("button >> text=Run")
            await _await_text(page, ".lead", "done")
            await expect(page.locator(".versus")).to_contain_text("Is the train on time?")
            await expect(page.locator("main")).to_contain_text("temperature 0.5")
            await page.click("text=Make it a test")
            await page.fill("[name=set]", "daily")
            await page.fill("[name=checks]", "same calls\nnonsense")
            await page.click("button >> text=Save")
            await expect(page.locator(".problem")).to_contain_text("line 2")
            await page.fill("[name=checks]", "says: /train/")
            await page.click("button >> text=Save")
            await expect(page.locator("h1")).to_have_text("Tests")
            await expect(page.locator("main")).to_contain_text("says: /train/")
            await page.goto(chat)
            await _open_ways(page)
            await page.click("text=Fork from here")
            await page.click("button >> text=Fork from here")
            await expect(page.locator(".older >> nth=0")).to_contain_text("This chat goes on from")
            await _ask(user, page, "And the next one?")
            await page.goto(chat)
            await expect(page.locator(".said")).to_have_count(1)
            await _ask(user, page, "Something else")
            await page.locator("details.ways summary").first.click()
            await page.locator("text=Rewind to here").first.click()
            await expect(page.locator("main")).to_contain_text("1 later answer")
            await page.click("button >> text=Rewind to here")
            await expect(page.locator(".talk >> nth=0")).to_contain_text("1 answer left behind")
            assert user.faults == []
