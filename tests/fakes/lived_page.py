"""The page of a daemon that has lived: many chats, long names, questions, failures, strangers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.bot_api import FakeBotApi
from fakes.browser import PageUser, page_user
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, RunningDaemon
from fakes.held_model import agent
from fakes.journal import reading_in

from orchestrator.control import protocol, trials
from orchestrator.control.protocol import Ack, ChatOutcome, ChatSend, ChatWait
from orchestrator.control.trials import SavedTurn, TrialChange, TrialReport, TrialRequest
from orchestrator.extensions.page.reads import triable_turns
from thinker.protocol.messages import JsonObject

CHATS = 21  # more than a desktop's screen has room for
LONG = (
    "## What I found\n\nThe first of three offers is the cheapest over two years.\n\n"
    "| offer | first year | second year |\n| - | - | - |\n| north | $120.00 | $180.00 |\n"
    "| south | $150.00 | $150.00 |\n\n```python\nprint(sum([120, 180]))\n```\n\n"
) + "\n\n".join(f"{n}. A longer remark that fills a line or two of the window." for n in range(30))
TASK = {
    "name": "every-two-minutes",
    "instructions": "Look at the station's page.",
    "schedule": "every 2 minutes",
}


def build_config(model: CallingModel) -> JsonObject:
    """Three agents that work, one of which has a budget, and one without a key."""
    home = agent("home", model, approvals=["schedule_task"], budget={"usdPerDay": 0.2})
    work = agent("work", model, budget={"tokensPerDay": 400_000, "usdPerMonth": 5})
    research = agent("research-of-the-second-floor", model)
    return {
        "agents": [home, work, research, {"agentId": "bad", "llmProvider": "groq", "model": "x"}],
        "bindings": [{"channel": "telegram", "chatId": "5001", "agentId": "home"}],
        "fallbackAgentId": "home",
        "prices": {"openai/home-model": {"input": 2.5, "output": 10}},
        "mcpServers": {"wiki": {"command": "/usr/bin/no-such-wiki"}},
    }


@dataclass
class LivedPage:
    """Someone with a browser, the address of a chat, and a turn that is a test and was tried."""

    user: PageUser
    chat: str
    turn: str


@asynccontextmanager
async def lived_page(home: Path) -> AsyncIterator[LivedPage]:
    """A daemon with a history, and a browser on its page."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        page_user(home, build_config(model), bot=bot) as user,
    ):
        for number in range(CHATS):
            text = f"Question {number}: which of the three offers is the cheapest?"
            await _talk(user.daemon, f"chat {number}", text, "work" if number % 3 else "home")
        await _talk(user.daemon, "long", LONG, "research-of-the-second-floor")
        await _talk(user.daemon, "broken", "Are you there?", "bad", seconds=2)
        await _talk(user.daemon, "tasks", f"!schedule_task {json.dumps(TASK)}", "work")
        await _talk(user.daemon, "asks", f"!schedule_task {json.dumps(TASK)}", "home", seconds=2)
        bot.send_user_message(9001, "Hello, I am new here: may I ask about the trains?")
        await bot.confirmed()
        page = await user.logged_in()
        await page.goto(user.address + "chats/new")
        await page.fill("#text", LONG)
        await page.press("#text", "Enter")
        await page.locator(".talk .answer").first.wait_for()
        chat = page.url.removeprefix(user.address)
        turn = await _try_turn(home, user)
        yield LivedPage(user, chat, turn)


async def _try_turn(home: Path, user: PageUser) -> str:
    """Keep a turn as a test, and try it with its two predecessors; return its id."""
    with reading_in(home) as db:
        turns = triable_turns.list_last_turns(db, "home", 3)
    saved = SavedTurn(set_name="daily", turn=turns[0], checks="same calls\nsays: /cheapest/")
    await user.daemon.ask(trials.SETS_ADD, saved, SavedTurn)
    change = TrialChange(layers={"base": "You compare offers."})
    asked = TrialRequest(turns=tuple(turns), change=change, limit_usd=0.05)
    begun = await user.daemon.ask(trials.TRIAL_START, asked, TrialReport)
    page = await user.logged_in()
    await page.goto(f"{user.address}trials/{begun.id}")
    await page.locator(".lead >> text=done").wait_for()
    return turns[0]


async def _talk(
    daemon: RunningDaemon, chat: str, text: str, agent_id: str, seconds: float = 30
) -> None:
    """Send a message and wait for the end of its turn, so many seconds at most."""
    sent = ChatSend(chat=chat, message=f"{chat} {text[:9]}", text=text, agent=agent_id)
    await daemon.ask(protocol.CHAT_SEND, sent, Ack)
    await daemon.ask(
        protocol.CHAT_WAIT, ChatWait(message=sent.message, seconds=seconds), ChatOutcome
    )
