"""Every screen over a journal full of what strangers, models and tools wrote."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.journal import next_turn, planned, receive, update
from fakes.page import NOW, PageBench, page_bench

from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import LogLines
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.schedule import tasks
from orchestrator.journal.turns import approvals, deadletters, pauses, steps, turns, usage
from orchestrator.journal.turns.outbox import Address
from orchestrator.schedules.specs import TaskSpec
from thinker.protocol.messages import Usage

EVIL = '<script>alert(1)</script><img src=x onerror="y">\u202e'
SECRET = "the-words-of-a-chat"
ADDRESSES = (
    *("/", "/chats", "/chats/telegram/1/7/", "/turns", "/turns/t1", "/inbox", "/inbox/c0de"),
    *("/costs", "/costs?by=model&in=tokens", "/tasks", "/tasks/1", "/tools", "/logs", "/system"),
    *("/manual", "/manual/tutorial", "/turns/nope", "/tasks/99", "/inbox/nope", "/manual/nope"),
    *("/chats/x", "/costs?from=x&to=9999-12-31", "/tasks?week=0001-01-01", "/turns?longer=x"),
    *("/find?q=script", "/find?q=words", "/find"),
)


def fill(db: Database, now: int) -> None:
    """One of everything that can wait, with hostile texts."""
    turns.boot(db, now)
    receive(db, update(1, SECRET + EVIL), update(2, SECRET, "8"), now=now)
    next_turn(db, "t1", now=now)
    _, pay = planned(db, "t1", "read", "pay" + EVIL, arguments={EVIL: EVIL})
    approvals.request_approval(db, pay, "because " + EVIL, "c0de", now)
    usage.record_usage(
        db, "work" + EVIL, "t1", "m" + EVIL, Usage(prompt=5, completion=2), None, now
    )
    pairing.request_pairing(db, Address("telegram", "1", "9"), EVIL, "AAAA", now)
    tool_pins.compare_with_pins(db, "wiki", {"search": "1"}, now)
    tool_pins.compare_with_pins(db, "wiki", {"search": "2", EVIL: "3"}, now)
    pauses.begin_pause(db, "home", "operator", EVIL, "operator", now)
    deadletters.give_up_next(db, "telegram/1/8/", EVIL, now)
    trigger = {"schedule": "0 8 * * *"}
    spec = TaskSpec(name=EVIL, instructions=SECRET + EVIL, trigger=trigger, timezone="UTC")
    tasks.add_task(db, MemoryScope.for_whole_agent("work"), spec, now)
    receive(db, update(3, SECRET, "9"), now=now)
    next_turn(db, "t2", "9", now=now)
    (mail,) = planned(db, "t2", "send_mail" + EVIL, arguments={EVIL: EVIL})
    steps.mark_intent(db, "t2", mail.seq, 1, now)
    steps.recover_calls(db, "t2", frozenset(), now)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[PageBench]:
    """A page over such a journal."""
    async with page_bench(tmp_path) as found:

        async def log_tail(params: object) -> LogLines:
            del params
            line = '{"event":"model_failed","level":"error","error":"<script>alert(1)</script>"}'
            return LogLines(lines=(line, EVIL))

        found.answers[page_protocol.LOG_TAIL] = log_tail
        await found.store.transact(fill, NOW)
        yield found


@pytest.mark.parametrize("address", ADDRESSES)
async def test_hostile_texts_do_nothing_on_any_screen(bench: PageBench, address: str) -> None:
    """They are text; a wrong address is a sentence."""
    person = await bench.login()
    answer = await person.get(address)
    assert answer.status_code == 200, answer.text
    assert "<script>" not in answer.text
    assert "<img src=x" not in answer.text
    assert "onerror=&quot;" not in answer.text
    hidden = re.sub(r'<input type="hidden"[^>]*>', "", answer.text)  # sent back as it came
    assert "\u202e" not in hidden
    assert " style=" not in answer.text


@pytest.mark.parametrize("role", ["viewer", "approver", "chat"])
async def test_words_of_a_chat_are_for_those_who_may_read_them(bench: PageBench, role: str) -> None:
    """No other role finds them anywhere."""
    person = await bench.login(role)
    for address in ADDRESSES:
        assert SECRET not in (await person.get(address)).text, address


async def test_everything_that_waits_is_in_the_inbox(bench: PageBench) -> None:
    """With a card and an entry of the list for each, and the number in the title."""
    person = await bench.login()
    page = (await person.get("/inbox")).text
    for title in (
        "work wants to use pay",
        "asks to be let in",
        "The tool wiki/search has changed",
        " is new",
        "happen?",
        "A message of telegram:8 was given up",
        "home is paused",
    ):
        assert title in page
    assert "<title>(7) Inbox" in page
    assert 'name="argsHash"' in page
    assert page.count('<article class="card') == page.count('<li><a href="#') == 7


async def test_nothing_that_waits_is_a_sentence(tmp_path: Path) -> None:
    """An empty inbox is good news."""
    async with page_bench(tmp_path) as bench:
        assert "Nothing waits for you." in (await (await bench.login()).get("/inbox")).text
