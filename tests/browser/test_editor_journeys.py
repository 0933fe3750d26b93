"""What people set up and change on the page, in a real browser."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.browser import CHROMIUM, PageUser, page_user
from fakes.openai_api import OpenAIApi
from playwright.async_api import Page, expect

from thinker.protocol.messages import JsonObject

pytestmark = [
    pytest.mark.process,
    pytest.mark.thorough(part="page"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
CONFIG: JsonObject = {
    "agents": [{"agentId": "home", "llmProvider": "demo", "budget": {"usdPerDay": 1}}],
    "fallbackAgentId": "home",
}
TOKEN, KEY = f"123456:{'c' * 35}", "sk-good"
PROMPT = "toolDescription: Answers\nmodel: inherit\nincludeChat: true\nprompt: You are kind.\n"


def load_file(home: Path) -> JsonObject:
    """The configuration in force."""
    found: JsonObject = json.loads((home / "agents.json").read_text())
    return found


async def open_place(user: PageUser, page: Page, place: str) -> None:
    """Open an address of the page."""
    await page.goto(user.address + place)


async def test_agent_is_added_changed_and_undone(tmp_path: Path) -> None:
    """With a budget, then a tool server; a prompt is changed, seen, and taken back."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "kind.yaml").write_text(PROMPT)
    async with page_user(tmp_path, CONFIG) as user:
        page = await user.logged_in()
        await page.click("nav >> text=Agents")
        await page.click("text=Add an agent")
        await page.fill("[name='field.agentId']", "helper")
        await page.select_option("[name='field.llmProvider']", "demo")
        await page.fill("[name='field.budget.usdPerDay']", "much")
        await page.click("text=See what this changes")
        await expect(page.locator(".field .problem")).to_contain_text("write a number")
        await page.fill("[name='field.budget.usdPerDay']", "0.5")
        await page.click("text=See what this changes")
        await expect(page.locator(".meaning")).to_contain_text("agent helper is new")
        await page.click("button[value=save]")
        await expect(page.locator("h1")).to_have_text("helper")
        await expect(page.locator(".note.done")).to_contain_text("Saved.")

        await open_place(user, page, "tools/servers/new")
        await page.fill("[name='new-name']", "wiki")
        await page.fill("[name='field.command']", "/bin/false")
        await page.select_option("[name='field.sandbox.network']", "no")
        await page.click("text=See what this changes")
        await expect(page.locator(".meaning")).to_contain_text("without network")
        await page.click("button[value=save]")
        await expect(page.locator("h1")).to_have_text("Settings")
        assert load_file(tmp_path)["mcpServers"]

        await open_place(user, page, "texts/prompts/kind.yaml")
        await page.fill("textarea.code", PROMPT.replace("kind", "brief"))
        await expect(page.locator(".meaning")).to_contain_text("kind")
        await page.click("button[value=save]")
        await expect(page.locator(".note.done")).to_contain_text("Saved.")
        await page.click("text=Undo")
        await expect(page.locator(".note.done")).to_contain_text("Undone.")
        assert (tmp_path / "prompts" / "kind.yaml").read_text() == PROMPT


async def test_unsaved_text_survives_a_reload_and_errors_lead_to_their_line(
    tmp_path: Path,
) -> None:
    """The check comes while one types; leaving with an unsaved text asks first."""
    async with page_user(tmp_path, CONFIG) as user:
        page = await user.logged_in()
        await open_place(user, page, "texts/agents.json")
        box = page.locator("textarea.code")
        text = await box.input_value()
        await box.fill(text.replace('"demo"', '"dmeo"'))
        await page.click("text=line 5")
        chosen = await box.evaluate(
            "(box) => box.value.slice(box.selectionStart, box.selectionEnd)"
        )
        assert "dmeo" in chosen
        await expect(page.locator("#key-help")).to_contain_text("Where the model runs")
        asked: list[str] = []

        async def accept(dialog: object) -> None:
            asked.append("leave")
            await dialog.accept()  # type: ignore[attr-defined]

        page.on("dialog", accept)
        await page.reload()
        assert asked == ["leave"]
        await expect(box).to_have_value(text.replace('"demo"', '"dmeo"'))
        await expect(page.locator(".problems")).to_contain_text("did you mean")


async def test_two_browsers_lose_no_edit(tmp_path: Path) -> None:
    """The second to save sees the first one's text, and decides."""
    async with page_user(tmp_path, CONFIG) as user:
        first, second = await user.logged_in(), await user.logged_in()
        for page, amount in ((first, "2"), (second, "3")):
            await open_place(user, page, "texts/agents.json")
            box = page.locator("textarea.code")
            await box.fill(
                (await box.input_value()).replace('"usdPerDay": 1', f'"usdPerDay": {amount}')
            )
        await first.click("button[value=save]")
        await expect(first.locator(".note.done")).to_contain_text("Saved.")
        await second.click("button[value=save]")
        await expect(second.locator(".note.warn")).to_contain_text("changed it")
        await expect(second.locator(".report")).to_contain_text("lines that change")
        await second.click("text=Save mine over it")
        await expect(second.locator(".note.done")).to_contain_text("$3.00 a day instead of $2.00")


async def test_everything_is_edited_without_scripts(tmp_path: Path) -> None:
    """With the buttons Check and Save, and the same forms."""
    async with page_user(tmp_path, CONFIG) as user:
        page = await user.logged_in(scripts=False)
        await open_place(user, page, "texts/agents.json")
        text = await page.locator("textarea.code").input_value()
        await page.fill("textarea.code", text.replace('"usdPerDay": 1', '"usdPerDay": 2'))
        await page.click("button[value=check]")
        await expect(page.locator(".meaning")).to_contain_text("$2.00 a day instead of $1.00")
        await page.click("button[value=save]")
        await page.click("text=Undo")
        await expect(page.locator(".note.done")).to_contain_text("Undone.")
        await open_place(user, page, "tasks/new")
        await page.fill("[name=name]", "morning")
        await page.fill("[name=instructions]", "Say good morning.")
        await page.fill("[name=when]", "weekdays at 8:30")
        await page.click("button[value=check]")
        await expect(page.locator(".report time")).to_have_count(5)
        await page.click("button[value=save]")
        await expect(page.locator("body")).to_contain_text("Say good morning.")


async def test_first_evening_needs_no_terminal(tmp_path: Path) -> None:
    """A model with a key, a bot, and the person who writes to it, on one screen."""
    async with FakeBotApi(TOKEN) as bot, OpenAIApi() as api:
        api.key = KEY
        env = {"TELEGRAM_API_URL": bot.url}
        async with page_user(
            tmp_path, {"agents": [{"agentId": "home", "llmProvider": "demo"}]}, env
        ) as user:
            page = await user.logged_in()
            await page.click("a:text-is('Choose a model')")
            for key in ("sk-wrong", KEY):
                await page.select_option("[name=provider]", "openai")
                await page.fill("[name=model]", "small")
                await page.fill("[name=key]", key)
                if key != KEY:  # afterwards the address is in sight, as it was typed
                    await page.click("text=Another address")
                    await page.fill("[name=baseUrl]", f"{api.url}/v1")
                await page.click("text=Try it")
                if key != KEY:
                    await expect(page.locator(".note.bad")).to_contain_text("key")
            await expect(page.locator("#model")).to_contain_text("home uses openai small")
            assert KEY not in await page.content()
            await page.fill("[name=token]", TOKEN)
            await page.click("text=Connect")
            await expect(page.locator("#telegram")).to_contain_text("@test_bot")
            bot.send_user_message(7, "let me in")
            await expect(page.locator("#telegram")).to_contain_text("let me in")
            await expect(page.locator("nav .badge").last).to_have_text("1")
            await page.click("button:text-is('Let in')")
            await expect(page.locator("#telegram .card")).to_have_count(0)
