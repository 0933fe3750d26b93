"""The operator is asked about a call once, and the answer counts for that call only."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio
import pytest
from fakes.agents_file import WORK, parsed
from fakes.journal import job, open_turn, opened, planned, store_in
from fakes.note_tools import TOOLS
from fakes.time_limit import time_limit

from orchestrator.agentsfile import AgentDefinition
from orchestrator.chat_texts import ASKED_ELSEWHERE, ASKED_NOBODY
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, steps, turns
from orchestrator.journal.turns.approvals import LIFETIME, REPEAT_WINDOW, Approval
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from orchestrator.toolcalls.approvals import (
    REPEATS,
    ApprovalQueue,
    ApprovalRules,
    AskedChats,
    check_approval,
)

CHAT = Address("telegram", "1", "7")
NOTE = TOOLS["keep_note"]


@dataclass
class Bench:
    """The turn ``t1`` of an agent that needs approval to pay."""

    db: Database
    store: Store
    now: int = 5
    codes: Iterator[str] = field(default_factory=lambda: (f"code{n}" for n in count(1)))
    refused: tuple[str, ...] = ()  # tools that the policy refuses

    def __post_init__(self) -> None:
        """Open the queue."""
        self.queue = ApprovalQueue(self.store, lambda: self.now, lambda: next(self.codes))

    def check(self, call: Call, approvals: tuple[str, ...] = ("pay",)) -> object:
        """T4 of a call, as far as approvals matter."""
        with job(self.db):
            code = self.queue.new_code()
            rules = ApprovalRules(
                agent(approvals),
                AskedChats(CHAT),
                code,
                self.now,
                find_tool=lambda other: None if other.name in self.refused else NOTE,
            )
            return check_approval(self.db, call, NOTE, rules)

    def asked(self, call: Call) -> Approval:
        """The question about a call."""
        question = self.check(call)
        assert isinstance(question, Approval)
        return question

    def notices(self) -> list[str]:
        """What the chat is sent."""
        return [str(text) for (text,) in self.db.execute("SELECT body FROM outbox ORDER BY id")]


def agent(approvals: tuple[str, ...]) -> AgentDefinition:
    """An agent with these globs."""
    return parsed({**WORK, "approvals": [*approvals]}).file.agents[0]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A turn that has just begun."""
    with opened(tmp_path) as db, closing(store_in(tmp_path)) as store:
        open_turn(db)
        yield Bench(db, store)


def test_call_that_no_glob_names_runs_without_a_question(bench: Bench) -> None:
    """Nothing is stored and nothing is sent."""
    (call,) = planned(bench.db, "t1", "order")
    assert bench.check(call) is None
    assert bench.notices() == []


def test_chat_is_asked_once_about_a_call(bench: Bench) -> None:
    """A resumed turn finds the question with the same code."""
    (call,) = planned(bench.db, "t1", "pay", arguments={"amount": 3})
    first = bench.asked(call)
    assert bench.asked(call) == first
    assert first.code == "code1"
    (notice,) = bench.notices()
    assert '\n  "amount": 3\n' in notice
    assert "approvals grant code1" in notice


def test_question_whose_receipt_is_lost_is_sent_again(bench: Bench) -> None:
    """At once, and `REPEATS` times at most; showing a code twice does no harm."""
    (call,) = planned(bench.db, "t1", "pay")
    bench.asked(call)
    sent = 0
    while rows := outbox.list_due_rows(bench.db, "telegram"):
        with job(bench.db):
            outbox.mark_sending(bench.db, rows[0].id, "sending", 5)
            outbox.mark_unconfirmed(bench.db, rows[0].id, "the connection broke", 5, 5)
        sent += 1
    assert sent == 1 + REPEATS
    assert len(bench.notices()) == 1


def test_question_is_sent_again_after_a_death_during_sending(bench: Bench) -> None:
    """The next start cannot know whether the chat has seen it."""
    (call,) = planned(bench.db, "t1", "pay")
    bench.asked(call)
    (row,) = outbox.list_due_rows(bench.db, "telegram")
    with job(bench.db):
        outbox.mark_sending(bench.db, row.id, "sending", 5)
        turns.boot(bench.db, 6)
    (again,) = outbox.list_due_rows(bench.db, "telegram")
    assert (again.id, again.body) == (row.id, row.body)


async def test_grant_lets_the_call_run(bench: Bench) -> None:
    """So does the grant it has used up: the call is planned again when a process dies in it."""
    (call,) = planned(bench.db, "t1", "pay")
    question = bench.asked(call)
    granted = await bench.queue.decide_question(question.code, "operator", granted=True)
    assert granted is not None
    assert (granted.tool, granted.state) == ("pay", "granted")
    assert bench.check(call) is None
    assert bench.check(call) is None


async def test_grant_of_one_call_is_no_grant_of_the_next(bench: Bench) -> None:
    """The same tool with the same arguments needs a new approval in a later step."""
    (first,) = planned(bench.db, "t1", "pay", arguments={"amount": 3})
    (second,) = planned(bench.db, "t1", "pay", arguments={"amount": 3})
    code = bench.asked(first).code
    await bench.queue.decide_question(code, "operator", granted=True)
    assert bench.check(first) is None
    assert bench.asked(second).code != code


async def test_denied_call_is_refused_with_the_reason(bench: Bench) -> None:
    """Now and when it is checked again."""
    (call,) = planned(bench.db, "t1", "pay")
    await bench.queue.decide_question(bench.asked(call).code, "operator", granted=False)
    for _ in range(2):
        refusal = bench.check(call)
        assert isinstance(refusal, str)
        assert refusal.startswith("not approved: ")


async def test_question_without_an_answer_in_time_refuses_the_call(bench: Bench) -> None:
    """An answer after that finds no question."""
    (call,) = planned(bench.db, "t1", "pay")
    question = bench.asked(call)
    bench.now += LIFETIME
    assert await bench.queue.list_open_questions() == []
    assert await bench.queue.decide_question(question.code, "operator", granted=True) is None
    assert isinstance(bench.check(call), str)


async def test_unknown_code_answers_nothing(bench: Bench) -> None:
    """The question stays open."""
    (call,) = planned(bench.db, "t1", "pay")
    question = bench.asked(call)
    assert await bench.queue.decide_question("other", "operator", granted=True) is None
    assert await bench.queue.list_open_questions() == [question]


async def test_second_answer_changes_nothing(bench: Bench) -> None:
    """The first one counts."""
    (call,) = planned(bench.db, "t1", "pay")
    code = bench.asked(call).code
    assert await bench.queue.decide_question(code, "operator", granted=False) is not None
    assert await bench.queue.decide_question(code, "operator", granted=True) is None
    assert isinstance(bench.check(call), str)


def test_repeating_a_call_of_unknown_outcome_needs_approval(bench: Bench) -> None:
    """For a day, whatever the configuration says."""
    (first,) = planned(bench.db, "t1", "order", arguments={"item": 1})
    with job(bench.db):
        steps.mark_intent(bench.db, "t1", first.seq, 1, 5)
        steps.recover_calls(bench.db, "t1", frozenset(), 5)
    again, other = (
        planned(bench.db, "t1", "order", arguments={"item": item})[0] for item in (1, 2)
    )
    assert bench.check(other, ()) is None
    question = bench.check(again, ())
    assert isinstance(question, Approval)
    assert question.reason in bench.notices()[0]
    bench.now += REPEAT_WINDOW
    (later,) = planned(bench.db, "t1", "order", arguments={"item": 1})
    assert bench.check(later, ()) is None


async def test_wait_ends_with_the_answer(bench: Bench) -> None:
    """The answer to another question does not end it."""
    (first,), (second,) = planned(bench.db, "t1", "pay"), planned(bench.db, "t1", "pay")
    one, two = bench.asked(first), bench.asked(second)
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.queue.wait_for_answer, one)
            await bench.queue.decide_question(two.code, "operator", granted=True)
            assert await bench.queue.list_open_questions() == [one]
            await bench.queue.decide_question(one.code, "operator", granted=False)


async def test_wait_ends_when_the_question_expires(bench: Bench) -> None:
    """It waits no longer than the question is open."""
    (call,) = planned(bench.db, "t1", "pay")
    question = bench.asked(call)
    bench.now += LIFETIME
    with time_limit():
        await bench.queue.wait_for_answer(question)


async def test_wait_ends_when_the_daemon_stops(bench: Bench) -> None:
    """The question stays for the next start."""
    (call,) = planned(bench.db, "t1", "pay")
    question = bench.asked(call)
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.queue.wait_for_answer, question)
            bench.queue.close()
    assert await bench.queue.list_open_questions() == [question]


async def test_a_question_that_its_chat_may_not_answer_goes_elsewhere(bench: Bench) -> None:
    """The chat is told so, also if there is no other."""
    boss = Address("telegram", "1", "99")
    (first,), (second,) = planned(bench.db, "t1", "pay"), planned(bench.db, "t1", "pay")
    with job(bench.db):
        for call, found in ((first, boss), (second, None)):
            chats = AskedChats(CHAT, lambda *_, found=found: found)
            rules = ApprovalRules(agent(("pay",)), chats, bench.queue.new_code(), 5)
            check_approval(bench.db, call, NOTE, rules)
    rows = bench.db.execute("SELECT chat_id, body FROM outbox ORDER BY id")
    told = [(chat, body.split(".")[0].split(":")[0]) for chat, body in rows]
    assert told == [
        ("99", "I need my operator's approval for this call"),
        (CHAT.chat_id, ASKED_ELSEWHERE.split(".")[0]),
        (CHAT.chat_id, ASKED_NOBODY.split(".")[0]),
    ]
