"""What people do in the page's chats beyond a first message, in a real browser."""

import re
import time
from pathlib import Path

import pytest
from anyio import Path as AsyncPath
from fakes.browser import CHROMIUM, page_user
from fakes.calling_model import CallingModel
from fakes.held_model import HeldModel, agent
from fakes.journal import connection_in, job
from fakes.mcp_config import entry
from fakes.model_api import Reply
from playwright.async_api import FilePayload, Page, expect

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.chat_history import PAGE
from orchestrator.journal.turns import inbox, outbox, steps, turns
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import TurnAdmission
from thinker.protocol.messages import AssistantMessage, JsonObject
from thinker.protocol.methods import StepCommit

pytestmark = [
    pytest.mark.thorough(part="page"),
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
PNG = bytes.fromhex(  # one grey point
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)
NOTES: FilePayload = {"name": "no<tes>.txt", "mimeType": "text/html", "buffer": b"<script>tea"}
CAT: FilePayload = {"name": "cat.png", "mimeType": "image/png", "buffer": PNG}
LARGE: FilePayload = {"name": "large", "mimeType": "", "buffer": bytes(8 * 1024 * 1024 + 1)}
DROP = """() => {
  const data = new DataTransfer();
  data.items.add(new File(["dropped"], "dropped.txt"));
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
}"""
MESSAGES = 5_000
GROUP = 100  # of them in a transaction: PostgreSQL slows down within a long one


async def say(page: Page, text: str) -> None:
    """Write into the chat that is open."""
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def saved(page: Page, name: str) -> bytes:
    """What a link to a file saves."""
    async with page.expect_download() as download:
        await page.click(f'.files a:has-text("{name}")')
    return await AsyncPath(await (await download.value).path()).read_bytes()


async def test_files_go_in_and_come_back(tmp_path: Path) -> None:
    """Chosen or dropped, with or without a text; a document is saved, never opened."""
    async with CallingModel() as model:
        config: JsonObject = {
            "agents": [agent("work", model, vision=True)],
            "fallbackAgentId": "work",
            "mcpServers": {"art": entry(tmp_path, "art")},
        }
        async with page_user(tmp_path, config) as user:
            page = await user.logged_in()
            await page.goto(user.address + "chats/new")
            await page.set_input_files("#files", [NOTES, CAT])
            await say(page, "look at these")
            await expect(page.locator(".talk .answer")).to_contain_text("look at these")
            assert await saved(page, "no<tes>.txt") == NOTES["buffer"]
            picture = page.locator(".files img").first
            await expect(picture).to_have_js_property("naturalWidth", 1)
            await expect(page.locator("#files")).to_have_value("")
            await page.evaluate(DROP)
            await page.press("#text", "Enter")
            await expect(page.locator(".files")).to_have_count(2)
            assert await saved(page, "dropped.txt") == b"dropped"
            await page.set_input_files("#files", [LARGE])
            await page.press("#text", "Enter")
            await expect(page.locator("#files:invalid")).to_have_count(1)
            await page.set_input_files("#files", [])
            await user.daemon.until(lambda report: report.tool_servers[0].state == "connected")
            await say(page, "!art_picture {}")
            await expect(page.locator(".calls .files img")).to_have_count(1)
            handle = re.findall(r"file-\w{12}", str(model.requests[-1].body))[-1]
            await say(page, f'!send_file {{"file": "{handle}", "caption": "my *art*"}}')
            await expect(page.locator(".answer .files img")).to_have_count(1)
            await expect(page.locator(".answer em")).to_have_text("art")
            await page.reload()
            await expect(page.locator(".talk .files")).to_have_count(4)
            chat, shown = page.url, await picture.get_attribute("src")
            await page.goto(user.address + str(shown)[1:])  # without a word in the console
            await expect(page.locator("img")).to_be_visible()
            await page.goto(chat)
    asked = next(r for r in model.requests if "look at these" in str(r.body["messages"]))
    shown = str(asked.body["messages"][-1]["content"])
    assert "no<tes>.txt, text/plain, 11 bytes" in shown
    assert "data:image/png;base64," in shown


async def test_files_are_sent_without_scripts(tmp_path: Path) -> None:
    """By the form alone; a message needs a text or a file."""
    async with page_user(tmp_path) as user:
        page = await user.logged_in(scripts=False)
        await page.goto(user.address + "chats/new")
        await page.set_input_files("#files", [NOTES])
        await page.click("text=Send")
        await expect(page.locator(".files a")).to_contain_text("no<tes>.txt")
        await user.daemon.until(lambda report: report.inbox["done"] == 1)
        await page.click("text=Send")
        await expect(page.locator("main")).to_contain_text("nothing to send")
        user.faults = [fault for fault in user.faults if "409" not in fault]


async def test_message_joins_or_ends_the_answer_that_is_written(tmp_path: Path) -> None:
    """The sender chooses it while the answer is written; before, there is nothing to choose."""
    async with HeldModel() as model:
        config: JsonObject = {"agents": [agent("work", model)], "fallbackAgentId": "work"}
        async with page_user(tmp_path, config) as user:
            page = await user.logged_in()
            await page.goto(user.address + "chats/new")
            await expect(page.locator("[name=whileBusy]")).to_have_count(0)
            first = model.hold("first")
            model.script.append(Reply(tool_calls=(("get_time", "{}"),)))
            await say(page, "first")
            await model.asked("first")
            await page.select_option("[name=whileBusy]", "steer")
            await say(page, "second")
            await user.daemon.until(lambda report: report.inbox["new"] == 1)
            second = model.hold("second")
            first.set()
            await model.asked("second")
            await page.select_option("[name=whileBusy]", "interrupt")
            await say(page, "third")
            await expect(page.locator(".talk .answer").last).to_contain_text("third")
            second.set()
            await expect(page.locator(".talk")).to_contain_text("a newer message came")
    roles = [message["role"] for message in model.requests_about("second")[0].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


async def test_chat_of_many_messages_shows_its_end_and_leads_back(tmp_path: Path) -> None:
    """Fifty messages at a time, however long it is."""
    db, now = connection_in(tmp_path), time.time_ns() // 1_000_000
    with job(db):
        turns.boot(db, now)
    for start in range(0, MESSAGES, GROUP):
        with job(db):
            for number in range(start, start + GROUP):
                _answered(db, number, now - MESSAGES + number)
    db.close()
    async with page_user(tmp_path) as user:
        page = await user.logged_in()
        await page.goto(user.address + "chats/web/local/operator/long/")
        await expect(page.locator(".talk .said")).to_have_count(PAGE)
        await expect(page.locator(".talk .said").last).to_have_text(f"message {MESSAGES - 1}")
        await expect(page.locator(".talk .said").last).to_be_in_viewport()
        await page.press(
            "text=older messages", "Enter"
        )  # the page may still be scrolling to its end
        await expect(page.locator(".talk .said").last).to_have_text(f"message {MESSAGES - 51}")
        await expect(page.locator(".talk .said").first).to_have_text(f"message {MESSAGES - 100}")
        await page.press("text=newest messages", "Enter")
        await say(page, "one more")
        await expect(page.locator(".talk .answer").last).to_contain_text("one more")
        await expect(page.locator(".talk .answer").last).to_be_in_viewport()


async def test_reader_who_scrolled_up_keeps_the_place_and_is_led_back(tmp_path: Path) -> None:
    """A message that comes meanwhile is announced; the key for writing leads to the box."""
    async with page_user(tmp_path) as user:
        page, other = await user.logged_in(), await user.logged_in()
        await page.goto(user.address + "chats/web/local/operator/long/")
        for number in range(3):
            await say(page, "\n".join([f"message {number}", *["more"] * 12]))
            await expect(page.locator(".talk .answer").nth(number)).to_contain_text(
                f"message {number}"
            )
        await expect(page.locator(".talk .answer").last).to_be_in_viewport()
        await page.mouse.move(800, 300)
        await page.mouse.wheel(0, -900)
        await expect(page.locator(".talk .answer").last).not_to_be_in_viewport()
        await other.goto(user.address + "chats/web/local/operator/long/")
        await say(other, "from elsewhere")
        await page.click("text=New below")
        await expect(page.locator(".talk .answer").last).to_be_in_viewport()
        await page.locator("#text").blur()
        await page.keyboard.press("w")
        await expect(page.locator("#text")).to_be_focused()


def _answered(db: Database, number: int, now: int) -> None:
    """Store a message of the page that was answered."""
    message = InboundMessage(
        channel="web",
        bot_id="local",
        chat_id="operator/long",
        message_id=f"m{number}",
        sender_id="operator",
        sender_name="operator",
        text=f"message {number}",
    )
    inbox.ingest(db, [Arrival(message)], None, now)
    row = inbox.find_oldest_new(db, "web/local/operator/long/")
    assert row is not None
    turn = turns.admit_message(db, row, TurnAdmission(f"{number:032x}", "home", 1, 15, "1"), now)
    assert turn is not None
    answer = AssistantMessage(content=f"answer {number}")
    steps.plan(db, StepCommit(turn_id=turn.id, response=answer), {}, 1, now)
    turns.end_with_reply(db, turn, [OutboxPart(answer.content)], outbox.STORED, ("done", None), now)
