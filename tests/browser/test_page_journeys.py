"""What people do on the page, in a real browser."""

import os
import re
import signal
from importlib.resources import files
from pathlib import Path

import anyio
import pytest
from fakes.browser import CHROMIUM, page_user
from fakes.held_model import HeldModel, agent
from fakes.time_limit import time_limit
from playwright.async_api import Page, Route, expect

from orchestrator.control.protocol import StatusReport
from thinker.protocol.messages import JsonObject

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
PLACES = ("", "chats", "turns", "inbox", "costs", "tasks", "tools", "logs", "system", "manual")


async def say(page: Page, text: str) -> None:
    """Write into the chat that is open."""
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def test_first_evening_ends_with_an_answer(tmp_path: Path) -> None:
    """Link, first state, chat with the demo agent, why it answered, and every screen."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in()
        await page.click("text=Open a chat")
        await page.click("text=New chat")
        await say(page, "What time is it?")
        await expect(page.locator(".talk .answer")).to_contain_text("It is")
        await expect(page.locator("#text")).to_have_value("")
        await page.click("text=why this answer")
        await expect(page.locator("main")).to_contain_text("in all")
        await page.click("text=what the model saw")
        await expect(page.locator("h1")).to_have_text("What the model saw")
        for place in PLACES:
            await page.goto(user.address + place)
            await expect(page.locator("h1")).to_be_visible()


@pytest.mark.thorough(part="page")
async def test_below_a_path_the_page_is_as_live(tmp_path: Path) -> None:
    """Scripts, forms and the stream stay below it: whatever leaves it would not be served."""
    async with page_user(tmp_path, path="/agents") as user:
        page = await user.logged_in()
        await page.click("text=Open a chat")
        await page.click("text=New chat")
        await say(page, "What time is it?")
        await expect(page.locator(".talk .answer")).to_contain_text("It is")
        await expect(page.locator("#text")).to_have_value("")
        await page.click("text=Log out")
        await expect(page.locator("h1")).to_have_text("Log in")


@pytest.mark.thorough(part="page")
async def test_page_that_is_left_asks_nothing_more(tmp_path: Path) -> None:
    """Logging out ends the session at once, and the next page may take a while to come."""
    async with page_user(tmp_path) as user:
        page, other = await user.logged_in(), await user.logged_in()
        asked: list[str] = []
        left, changed = anyio.Event(), anyio.Event()

        async def slowly(route: Route) -> None:
            page.on("request", lambda request: asked.append(request.url))
            left.set()
            await changed.wait()
            await route.continue_()

        await page.route("**/out", slowly)
        await page.dispatch_event("text=Log out", "click")
        with time_limit():
            await left.wait()
        await other.goto(user.address + "chats/new")
        await say(other, "What time is it?")
        await expect(other.locator(".talk .answer")).to_contain_text("It is")
        assert asked == []
        changed.set()
        await expect(page.locator("h1")).to_have_text("Log in")


async def test_without_scripts_reading_and_writing_work(tmp_path: Path) -> None:
    """By the code in a field, and forms."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in(scripts=False)
        await page.goto(user.address + "chats/new")
        await page.fill("#text", "hello there")
        await page.click("text=Send")
        await user.daemon.logged("turn_replied")
        await user.daemon.until(lambda report: report.open_turns == 0)
        await page.reload()
        await expect(page.locator(".said")).to_have_text("hello there")
        await expect(page.locator(".talk .answer")).to_contain_text("Demo model")
        for place in PLACES:
            await page.goto(user.address + place)
            await expect(page.locator("h1")).to_be_visible()


@pytest.mark.thorough(part="page")
async def test_nothing_is_wider_than_a_phone(tmp_path: Path) -> None:
    """Tables and pictures scroll in boxes of their own."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in(phone=True)
        await page.goto(user.address + "chats/new")
        await page.fill("#text", "x" * 200)
        await page.click("text=Send")
        await expect(page.locator(".talk .answer")).to_contain_text("Demo model")
        await page.goto(user.address + "turns")
        turn = await page.locator("[data-row]").first.get_attribute("href")
        for place in (*PLACES, str(turn)[1:], "manual/agents-json"):
            await page.goto(user.address + place)
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, place


async def test_keyboard_alone_reaches_everything(tmp_path: Path) -> None:
    """Letters lead to screens; `?` says which."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in()
        await page.keyboard.press("?")
        await expect(page.locator("dialog")).to_contain_text("g c Chats")
        await page.keyboard.press("Escape")
        await expect(page.locator("dialog")).to_be_hidden()
        await page.keyboard.press("g")
        await page.keyboard.press("t")
        await expect(page.locator("h1")).to_have_text("Turns")
        await page.keyboard.press("Tab")
        await expect(page.locator(".skip")).to_be_focused()
        await page.keyboard.press("w")
        await expect(page.locator("#text")).to_be_visible()


async def test_answer_grows_and_a_reload_in_its_middle_loses_nothing(tmp_path: Path) -> None:
    """Neither the text so far nor what was typed meanwhile."""
    async with HeldModel() as model, page_user(tmp_path, model_config(model)) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        await page.wait_for_url(re.compile("operator"))
        gate = model.hold("first")
        await say(page, "first")
        await model.asked("first")
        await page.fill("#text", "typed meanwhile")
        await page.reload()
        await expect(page.locator("#text")).to_have_value("typed meanwhile")
        gate.set()
        await expect(page.locator(".talk .answer")).to_contain_text("first")


def model_config(model: HeldModel) -> JsonObject:
    """One agent that asks a model."""
    return {"agents": [agent("home", model)], "fallbackAgentId": "home"}


@pytest.mark.thorough(part="page")
async def test_death_of_a_worker_is_seen_without_a_reload(tmp_path: Path) -> None:
    """The mark appears in the waterfall, and the answer comes."""

    def pid(report: StatusReport) -> int | None:
        return next((item.pid for item in report.agents if item.agent_id == "home"), None)

    async with HeldModel() as model, page_user(tmp_path, model_config(model)) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        gate = model.hold("first")
        await say(page, "first")
        await model.asked("first")
        await page.click("text=what it does now")
        await expect(page.locator(".waterfall")).to_be_visible()
        found = pid(await user.daemon.until(lambda report: pid(report) is not None))
        assert found is not None
        os.kill(found, signal.SIGKILL)
        await expect(page.locator("main")).to_contain_text("the worker died")
        gate.set()
        await expect(page.locator("header.head")).to_contain_text("answered")


async def test_call_is_approved_where_it_was_asked_and_runs_once(tmp_path: Path) -> None:
    """Two buttons with all of its arguments; sent twice is sent once."""
    demo: JsonObject = {"agentId": "home", "llmProvider": "demo", "approvals": ["get_time"]}
    config: JsonObject = {"agents": [demo], "fallbackAgentId": "home"}
    async with page_user(tmp_path, config) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        await say(page, "What time is it?")
        await expect(page.locator(".urgent")).to_contain_text("home wants to")
        await expect(page.locator(".menu-list .badge")).to_have_text("1")
        await page.click("text=Allow once")
        await expect(page.locator(".talk .answer")).to_contain_text("It is")
        await expect(page.locator(".urgent")).to_have_count(0)
        await expect(page.locator(".calls summary")).to_have_count(1)


async def test_answer_is_stopped_by_a_button(tmp_path: Path) -> None:
    """The model is not waited for."""
    async with HeldModel() as model, page_user(tmp_path, model_config(model)) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        model.hold("first")
        await say(page, "first")
        await model.asked("first")
        await page.click("button:text-is('Stop')")
        await expect(page.locator(".talk")).to_contain_text("stopped")


@pytest.mark.thorough(part="page")
async def test_page_of_a_daemon_that_comes_back_is_live_again(tmp_path: Path) -> None:
    """Meanwhile it says that there is no connection, and keeps what was typed."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        await page.fill("#text", "not sent yet")
        report = await user.daemon.status()
        found = next(item.pid for item in report.processes if item.name == "page")
        os.kill(found, signal.SIGSTOP)
        os.kill(found, signal.SIGKILL)
        await user.daemon.logged("page_ended", kind="crash")
        await user.daemon.logged("page_ready", times=2)
        await say(page, "sent now")
        await expect(page.locator(".talk .answer")).to_contain_text("Demo model")
        user.faults = [fault for fault in user.faults if "ERR_" not in fault]


@pytest.mark.thorough(part="page")
async def test_screens_are_for_everyone(tmp_path: Path) -> None:
    """Names, structure and contrast, in light and dark: axe finds nothing on any of them."""
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    async with page_user(tmp_path) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        await say(page, "What time is it?")
        await expect(page.locator(".talk .answer")).to_contain_text("It is")
        chat = page.url.removeprefix(user.address)
        await page.goto(user.address + "turns")
        turn = str(await page.locator("[data-row]").first.get_attribute("href"))[1:]
        name = turn.rpartition("/")[2]
        tried = (f"try/{name}", f"{turn}/test", f"fork/{name}", "trials", "sets")
        for place in (*PLACES, chat, turn, f"{turn}/prompt", *tried, "in"):
            await page.goto(user.address + place)
            await page.evaluate(axe)
            found = (await page.evaluate("axe.run()"))["violations"]
            await page.emulate_media(color_scheme="dark")
            found += (await page.evaluate("axe.run({runOnly: ['color-contrast']})"))["violations"]
            await page.emulate_media(color_scheme="light")
            assert [(place, one["id"], one["nodes"][0]["html"]) for one in found] == []


@pytest.mark.thorough(part="page")
async def test_seven_windows_are_live_at_once(tmp_path: Path) -> None:
    """A browser has six connections to a host: a window that is not looked at holds none."""
    async with page_user(tmp_path) as user:
        first = await user.logged_in()
        windows = [await first.context.new_page() for _ in range(7)]
        for window in windows:
            await window.goto(user.address)
            await expect(window.locator("h1")).to_have_text("Now")
        await first.bring_to_front()
        await first.goto(user.address + "chats/new")
        await say(first, "hello")
        await expect(first.locator(".talk .answer")).to_contain_text("Demo model")


@pytest.mark.thorough(part="page")
async def test_anything_is_found_from_anywhere(tmp_path: Path) -> None:
    """A key leads to the field; one turn is opened at once."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        await say(page, "where is the zeppelin?")
        await expect(page.locator(".talk .answer")).to_contain_text("Demo model")
        await page.locator("h1").click()
        await page.keyboard.press("/")
        await page.keyboard.type("zeppelin")
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_contain_text("where is the zeppelin?")
        await page.goto(user.address + "turns")
        turn = str(await page.locator("[data-row]").first.get_attribute("href"))
        await page.fill(".find input", turn[-8:])
        await page.press(".find input", "Enter")
        await expect(page.locator(".waterfall")).to_be_visible()
        await page.goto(user.address + turn[1:] + "/prompt")
        await expect(page.locator("h1")).to_have_text("What the model saw")
