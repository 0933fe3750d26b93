"""The operator is asked about a call once, and the answer counts for that call only."""

from collections.abc import Iterator, Mapping, Sequence
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

from orchestrator import installed
from orchestrator.agentsfile import AgentDefinition
from orchestrator.chat_texts import ASKED_ELSEWHERE, ASKED_NOBODY
from orchestrator.extension import Extension
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import approvals, outbox, questions, steps, taint, turns
from orchestrator.journal.turns.approvals import LIFETIME, REPEAT_WINDOW, Approval
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.toolcalls import approvals as approval_rules
from orchestrator.toolcalls.approvals import (
    MAX_GATHERED,
    REPEATS,
    ApprovalQueue,
    ApprovalRules,
    AskedChats,
    check_approval,
)
from orchestrator.toolcalls.argument_sources import ArgumentSource
from thinker.protocol.messages import ToolResult

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


async def test_one_question_covers_the_calls_of_a_step_that_need_one(bench: Bench) -> None:
    """One code, one message, one answer; each keeps an approval bound to its own arguments."""
    first, free, second = planned(bench.db, "t1", "pay", "order", "pay")
    question = bench.asked(first)
    assert bench.asked(second) == question
    (notice,) = bench.notices()
    assert "approval for these 2 calls" in notice
    assert 'also planned, and needs no approval: "order"' in notice
    assert bench.check(free) is None
    assert await bench.queue.list_open_questions() == [question]
    granted = await bench.queue.decide_question(question.code, "operator", granted=True)
    assert granted is not None
    assert (bench.check(first), bench.check(second)) == (None, None)
    states = bench.db.execute("SELECT state FROM approval ORDER BY seq").fetchall()
    assert [state for (state,) in states] == ["used", "used"]


async def test_denial_of_a_question_refuses_all_of_its_calls(bench: Bench) -> None:
    """The model is told that they were asked about together, and why they were refused."""
    first, second = planned(bench.db, "t1", "pay", "pay")
    code = bench.asked(first).code
    await bench.queue.decide_question(code, "operator", granted=False, note="not to Eve")
    for call in (first, second):
        refusal = bench.check(call)
        assert isinstance(refusal, str)
        assert refusal.startswith("not approved: not to Eve, together with 1 other call")


async def test_granted_call_of_a_question_stays_granted_when_its_turn_has_read_more(
    bench: Bench,
) -> None:
    """The answer was about exactly this call; so it is if the call would need none any more."""
    first, second, third = planned(bench.db, "t1", "pay", "pay", "pay")
    code = bench.asked(first).code
    await bench.queue.decide_question(code, "operator", granted=True)
    assert bench.check(first) is None
    taint.add_taint(bench.db, "t1", Taint({"fetch": "web"}, {"facts": True}))
    assert bench.check(second) is None
    assert bench.check(third, ()) is None
    states = bench.db.execute("SELECT DISTINCT state FROM approval").fetchall()
    assert states == [("used",)]


async def test_denied_call_stays_denied_when_it_would_need_no_approval_any_more(
    bench: Bench,
) -> None:
    """A person has decided about it."""
    (call,) = planned(bench.db, "t1", "pay")
    await bench.queue.decide_question(bench.asked(call).code, "operator", granted=False)
    assert isinstance(bench.check(call, ()), str)


def test_question_leaves_out_what_is_refused_anyway(bench: Bench) -> None:
    """Nor does it cover calls of another step, or more than a person can check."""
    bench.refused = ("delete",)
    (earlier,) = planned(bench.db, "t1", "pay")
    calls = planned(bench.db, "t1", "pay", "delete", *["pay"] * 30)
    bench.check(calls[0], ("pay", "delete"))
    (notice,) = bench.notices()
    assert f"approval for these {MAX_GATHERED} calls" in notice
    assert "delete" not in notice
    assert not approvals.is_used(bench.db, earlier)
    assert approvals.find_approval_of_call(bench.db, earlier) is None


async def test_question_that_expires_refuses_all_of_its_calls(bench: Bench) -> None:
    """None is asked about again."""
    calls = planned(bench.db, "t1", "pay", "pay")
    bench.asked(calls[0])
    bench.now += LIFETIME
    assert all(isinstance(bench.check(call), str) for call in calls)
    assert len(bench.notices()) == 1


def test_question_of_a_stopped_turn_is_withdrawn_for_all_of_its_calls(bench: Bench) -> None:
    """The message says so once."""
    calls = planned(bench.db, "t1", "pay", "pay")
    question = bench.asked(calls[0])
    (row,) = outbox.list_due_rows(bench.db, "telegram")
    with job(bench.db):
        outbox.mark_sending(bench.db, row.id, "sending", 5)
        questions.mark_delivered(bench.db, row, "9", 5)
        questions.withdraw_questions(bench.db, "t1", 6)
    asked = approvals.load_question(bench.db, question)
    assert [one.state for one in asked] == ["denied", "denied"]
    assert len(bench.notices()) == 2


class Clerk(Extension):
    """A bundled extension that has an answer of its own, and judges calls."""

    name = "clerk"

    def __init__(self) -> None:
        self.allowed: tuple[str, ...] = ()

    def judge_call(self, db: Database, call: Call) -> str | ToolResult | None:
        """Count what was judged, and have a result for one tool."""
        db.execute("INSERT INTO meta VALUES(?, 'judged')", (f"{call.seq} {call.name}",))
        if call.name == "known":
            return ToolResult(call_id=call.call_id, name=call.name, content="known")
        return None

    def allow_call(
        self, db: Database, call: Call, sources: Mapping[str, ArgumentSource], now: int
    ) -> bool:
        """Allow some tools."""
        del db, sources, now
        return call.name in self.allowed

    def list_answers(self, db: Database, asked: Sequence[Approval]) -> Mapping[str, str]:
        """Offer an answer."""
        del db
        return {"Ask the clerk": f"/clerk {asked[0].code}"}


@pytest.fixture
def clerk(monkeypatch: pytest.MonkeyPatch) -> Clerk:
    """The only extension."""
    made = Clerk()
    changed = installed.find_installed()._replace(own={"clerk": made})
    monkeypatch.setattr(approval_rules, "find_installed", lambda: changed)
    return made


def test_looking_at_later_calls_leaves_no_trace_of_them(bench: Bench, clerk: Clerk) -> None:
    """What an extension writes about a call counts when the call is due; its result is no plan."""
    del clerk
    first, *_ = planned(bench.db, "t1", "pay", "known", "order", "pay")
    bench.asked(first)
    judged = bench.db.execute("SELECT k FROM meta WHERE v = 'judged'").fetchall()
    assert judged == [(f"{first.seq} pay",)]
    (notice,) = bench.notices()
    assert "known" not in notice
    assert "these 2 calls" in notice


def test_call_that_an_extension_allows_needs_no_question(bench: Bench, clerk: Clerk) -> None:
    """Alone, and among those that a question covers; its answers are offered with the question."""
    clerk.allowed = ("pay",)
    first, second = planned(bench.db, "t1", "mail", "pay")
    question = bench.check(first, ("pay", "mail"))
    assert isinstance(question, Approval)
    assert bench.check(second) is None
    (notice,) = bench.notices()
    assert 'needs no approval: "pay"' in notice
    assert f"Ask the clerk: /clerk {question.code}" in notice
    (row,) = outbox.list_due_rows(bench.db, "telegram")
    labels = [choice.label for choice in questions.build_choices(bench.db, row, 5)]
    assert labels == ["Approve once", "Deny", "Ask the clerk"]


def test_call_of_unknown_outcome_is_asked_about_whatever_an_extension_allows(
    bench: Bench, clerk: Clerk
) -> None:
    """It may have happened."""
    clerk.allowed = ("order",)
    (first,) = planned(bench.db, "t1", "order", arguments={"item": 1})
    with job(bench.db):
        steps.mark_intent(bench.db, "t1", first.seq, 1, 5)
        steps.recover_calls(bench.db, "t1", frozenset(), 5)
    (again,) = planned(bench.db, "t1", "order", arguments={"item": 1})
    assert isinstance(bench.check(again, ("order",)), Approval)


def test_question_shows_and_keeps_where_arguments_are_from(bench: Bench) -> None:
    """The journal has it for the page and for what stands on an answer."""
    taint.add_taint(bench.db, "t1", Taint({"fetch": "web"}))
    (call,) = planned(bench.db, "t1", "erase_note", arguments={"note": "diary"})
    rules = ApprovalRules(agent(("erase_*",)), AskedChats(CHAT), "c0de", 5)
    with job(bench.db):
        question = check_approval(bench.db, call, TOOLS["erase_note"], rules)
    assert isinstance(question, Approval)
    assert question.sources is not None
    assert question.sources["note"][0] == "model"
    assert not question.may_stand
    required, _, why = question.reason.partition("; ")
    assert required == "the configuration requires approval for this tool"
    assert "text from the web (fetch)" in why
    (notice,) = bench.notices()
    assert '"note": "diary"  (the model\'s own)\n' in notice
