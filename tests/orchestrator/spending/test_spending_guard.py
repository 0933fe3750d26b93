"""The spending guard: what pauses an agent, which chats get a notice, and what resumes it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.agents_file import parsed
from fakes.journal import CLASSES, job, open_turn, opened, receive, step, store_in, update
from fakes.placed_agents import PlacedAgents
from fakes.time_limit import time_limit
from structlog.testing import capture_logs

from orchestrator.agentsfile import AgentsFile
from orchestrator.broker.broker_wire import CallEnded
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, pauses, steps, turns, usage
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.journal.turns.usage import Amount
from orchestrator.spending import budgets
from orchestrator.spending.spending_guard import SpendingGuard
from thinker.protocol.messages import Usage

MINUTE = 60_000
NOON = 1_770_000_000_000 // MINUTE * MINUTE
CONTROLS = {"enabled": True, "hardCapTokensPerHour": 10_000}
NOTIFY = CONTROLS | {"notifyChannel": "telegram", "notifyChatId": "99"}
PRICES = {"groq/m": {"input": 1, "output": 2}}


class Bench:
    """A journal with a turn open in it, a clock and a configuration that a test may change."""

    def __init__(self, db: Database, path: Path) -> None:
        self.db = db
        self.now = NOON
        self.file = AgentsFile.model_construct(agents=())
        self.store = store_in(path.parent)
        self.gate = SpendingGuard(self.store, lambda: self.file, {"TZ": "UTC"}, lambda: self.now)

    def configure(self, **fields: Any) -> None:
        """The agent ``work`` has these fields."""
        loaded = parsed({"agentId": "work", "model": "m"} | fields, prices=PRICES)
        assert not loaded.errors
        self.file = loaded.file

    def answers(
        self, turn: Turn, tokens: int, *tools: str, text: str = "", model: str = "groq/m"
    ) -> Pause | None:
        """T3 of a response that took so many tokens."""
        commit = step(turn.id, *tools, content=text).model_copy(
            update={"usage": Usage(prompt=tokens), "model": model}
        )
        with job(self.db):
            planned = steps.plan(self.db, commit, CLASSES, 1, self.now)
            pause, notified = self.gate.build_rules().settle_step(
                self.db, turn, commit, planned.seq, self.now
            )
        assert notified == (pauses.find_pause(self.db, "work") is not None)
        return pause

    def admits(self, number: int, chat: str = "7") -> Pause | None:
        """Receive a message and return the pause that T2 gets."""
        receive(self.db, update(number, chat_id=chat))
        row = inbox.find_oldest_new(self.db, f"telegram/1/{chat}/")
        assert row is not None
        with job(self.db):
            return self.gate.build_rules().enforce_admission_limits(self.db, "work", row)

    def notices(self) -> list[tuple[str, str]]:
        """Return the notices: chat and text."""
        rows = self.db.execute("SELECT chat_id, body FROM outbox WHERE turn_id IS NULL ORDER BY id")
        return [(str(chat), str(text)) for chat, text in rows]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An open turn ``t1`` of chat 7 and an agent without limits."""
    with opened(tmp_path) as db:
        made = Bench(db, tmp_path / "journal.db")
        made.configure()
        yield made
        made.store.close()


def test_agent_without_limits_is_never_paused(bench: Bench) -> None:
    """Its calls are counted all the same."""
    turn = open_turn(bench.db)
    assert bench.answers(turn, 50_000_000, "read") is None
    assert bench.admits(2) is None
    assert usage.sum_spending(bench.db, "work", 0).tokens == 100_000_000  # the next is reserved


def test_each_settled_call_has_the_number_of_its_step_and_its_purpose(bench: Bench) -> None:
    """A reservation has no step yet, and what no step names has none at all."""
    turn = open_turn(bench.db)
    bench.answers(turn, 10, "read")
    bench.answers(turn, 20, "read")
    with job(bench.db):
        usage.record_usage(bench.db, "work", None, "x/y", Usage(prompt=5), None, bench.now)
    assert bench.db.execute("SELECT seq, purpose FROM model_call ORDER BY id").fetchall() == [
        (1, "turn"),
        (3, "turn"),
        (None, "turn"),
        (None, None),
    ]


def test_pause_notifies_the_chat_of_origin_and_the_notify_chat_once(bench: Bench) -> None:
    """The pause is in the audit log; other chats get one notice with their next message."""
    bench.configure(costControls=NOTIFY)
    turn = open_turn(bench.db)
    pause = bench.answers(turn, 10_000, "read")
    assert pause is not None
    assert pause.reason.startswith("Hard cap exceeded: 10,000 tokens")
    assert [chat for chat, _ in bench.notices()] == ["7", "99"]
    assert "/resume work" in bench.notices()[1][1]
    assert bench.admits(2) == bench.admits(3) == pause
    assert bench.admits(4, chat="8") == bench.admits(5, chat="9") == pause
    assert [chat for chat, _ in bench.notices()] == ["7", "99", "8", "9"]
    acts = bench.db.execute("SELECT act FROM audit WHERE object = 'agent work'").fetchall()
    assert [str(act).startswith("paused: Hard cap") for (act,) in acts] == [True]
    assert audit.find_broken_entry(bench.db) is None


def test_answer_that_trips_is_delivered_and_the_next_message_waits(bench: Bench) -> None:
    """The call is paid for, so the chat gets its answer."""
    bench.configure(costControls=CONTROLS)
    turn = open_turn(bench.db)
    assert bench.answers(turn, 20_000, text="the answer") is None
    with job(bench.db):
        assert bench.gate.build_rules().enforce_turn_limits(bench.db, turn) is None
        turns.end_with_reply(
            bench.db, turn, [OutboxPart("the answer")], "direct", ("done", None), bench.now
        )
    assert bench.admits(2) is not None


def test_pause_holds_across_a_restart_and_ends_with_a_fresh_window(bench: Bench) -> None:
    """F64; the tokens before the resume do not trip it again."""
    bench.configure(costControls=CONTROLS)
    turn = open_turn(bench.db)
    bench.answers(turn, 10_000, "read")
    with job(bench.db):
        turns.boot(bench.db, bench.now)
    reborn = SpendingGuard(bench.store, lambda: bench.file, {}, lambda: bench.now).build_rules()
    with job(bench.db):
        assert reborn.enforce_turn_limits(bench.db, turn) is not None
        assert reborn.resume_agent(bench.db, "work", "operator") is None
        assert reborn.enforce_turn_limits(bench.db, turn) is None
        verdict = reborn.detect_anomaly(bench.db, bench.file.agents[0])
    assert verdict is not None
    assert verdict.hour_tokens == 0


async def test_refused_key_pauses_until_the_configuration_is_read_again(bench: Bench) -> None:
    """The chat gets one notice; the operator may resume as well."""
    turn = open_turn(bench.db)
    with job(bench.db):
        bench.gate.build_rules().pause_refused_agent(
            bench.db, turn, "groq refused the key; set GROQ_API_KEY"
        )
        bench.gate.build_rules().pause_refused_agent(
            bench.db, turn, "groq refused the key; set GROQ_API_KEY"
        )
        assert bench.gate.build_rules().enforce_turn_limits(bench.db, turn) is not None
    assert [chat for chat, _ in bench.notices()] == ["7"]
    bench.now += 1
    bench.gate.retry_refused_keys()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.gate.run)
        with time_limit():
            await bench.gate.wait_until_resumed("work")
        tasks.cancel_scope.cancel()


def refused(bench: Bench, turn: Turn) -> None:
    with job(bench.db):
        bench.gate.build_rules().pause_refused_agent(bench.db, turn, "groq refused the key")


async def lifted_after(bench: Bench, minutes: float) -> bool:
    """Return whether the agent goes on that long after its pause began."""
    pause = pauses.find_pause(bench.db, "work")
    assert pause is not None
    bench.now = pause.at + round(minutes * MINUTE)
    await bench.gate.lift_pauses()
    return pauses.find_pause(bench.db, "work") is None


async def test_refused_key_is_tried_again_at_growing_distances_and_told_once(bench: Bench) -> None:
    """After 1, 2, 4 … minutes, and then every hour; other chats hear of it once as well."""
    turn = open_turn(bench.db)
    with capture_logs() as logs:
        for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
            refused(bench, turn)
            assert bench.admits(int(bench.now % 100_000), chat="8") is not None
            assert not await lifted_after(bench, minutes - 0.001)
            assert await lifted_after(bench, minutes)
    assert sorted(chat for chat, _ in bench.notices()) == ["7", "8"]
    warned = [entry for entry in logs if entry["log_level"] == "warning"]
    assert [entry["event"] for entry in warned] == ["agent_paused"]


async def test_key_that_worked_meanwhile_begins_its_distances_anew(bench: Bench) -> None:
    """The next refusal is news."""
    turn = open_turn(bench.db)
    for minutes in (1, 2):
        refused(bench, turn)
        assert await lifted_after(bench, minutes)
    bench.answers(turn, 10, "read")
    bench.now += 1
    refused(bench, turn)
    assert await lifted_after(bench, 1)
    assert [chat for chat, _ in bench.notices()] == ["7", "7"]


async def test_person_who_resumes_hears_of_the_next_refusal(bench: Bench) -> None:
    """Otherwise it would look as if the new key worked."""
    turn = open_turn(bench.db)
    refused(bench, turn)
    assert await bench.gate.change_pause("work", "operator", paused=False) is None
    refused(bench, turn)
    assert [chat for chat, _ in bench.notices()] == ["7", "7"]


async def test_clock_that_was_set_back_delays_no_trial(bench: Bench) -> None:
    """A pause that begins in the future is tried now."""
    refused(bench, open_turn(bench.db))
    assert await lifted_after(bench, -600)


def test_call_that_would_pass_the_budget_is_not_made(bench: Bench) -> None:
    """The tokens of the last call are reserved for the next."""
    bench.configure(budget={"tokensPerDay": 10_000})
    turn = open_turn(bench.db)
    assert bench.answers(turn, 4_000, "read") is None
    held = usage.sum_spending(bench.db, "work", 0)
    assert held.tokens == 8_000
    assert held.usd == pytest.approx(0.012)
    pause = bench.answers(turn, 5_000, "read")
    assert pause is not None
    assert pause.kind == "budget"
    assert "1,000 of 10,000 are left of the budget tokensPerDay" in pause.reason
    assert usage.sum_spending(bench.db, "work", 0).tokens == 9_000


def test_call_of_a_dead_process_counts_as_it_was_reserved(bench: Bench) -> None:
    """Its cost is unknown; the next one is reserved in addition."""
    turn = open_turn(bench.db)
    bench.answers(turn, 1_000, "read")
    with job(bench.db):
        turns.count_process_death(bench.db, turn.id)
        bench.gate.build_rules().reserve_next_call(bench.db, turn)
    assert usage.sum_spending(bench.db, "work", 0).tokens == 3_000
    bench.answers(turn, 1_500, text="done")
    assert usage.sum_spending(bench.db, "work", 0).tokens == 3_500
    query = "SELECT state, count(*) FROM model_call GROUP BY state"
    assert dict(bench.db.execute(query)) == {"settled": 2, "lost": 1}


async def test_call_that_no_step_names_counts_beside_its_turn(bench: Bench) -> None:
    """A repeated one; the reservation of the turn's next call stays."""
    turn = open_turn(bench.db)
    bench.answers(turn, 1_000, "read")
    call = CallEnded(channel=1, call_id="1", model="groq/m", usage=Usage(prompt=300))
    bench.gate.queue_unnamed_call("work", turn.id, call, died=False)
    await bench.gate.book_unnamed()
    assert usage.sum_spending(bench.db, "work", 0).tokens == 2_300
    bench.answers(turn, 1_500, text="done")
    assert usage.sum_spending(bench.db, "work", 0).tokens == 2_800


@pytest.mark.parametrize("known", ["before", "after"])
async def test_call_of_a_dead_process_counts_as_the_broker_saw_it(bench: Bench, known: str) -> None:
    """Instead of its reservation, whether its end is known before or after the death."""
    turn = open_turn(bench.db)
    bench.answers(turn, 1_000, "read")
    call = CallEnded(channel=1, call_id="1", model="groq/m", usage=Usage(prompt=300))
    if known == "before":
        bench.gate.queue_unnamed_call("work", turn.id, call, died=True)
        await bench.gate.book_unnamed()
    with job(bench.db):
        turns.count_process_death(bench.db, turn.id)
        bench.gate.build_rules().reserve_next_call(bench.db, turn)
    if known == "after":
        bench.gate.queue_unnamed_call("work", turn.id, call, died=True)
        await bench.gate.book_unnamed()
    states = dict(bench.db.execute("SELECT state, sum(prompt) FROM model_call GROUP BY state"))
    assert states["settled"] == 1_300
    assert set(states) == {"settled", "reserved"}


async def test_call_of_a_turn_that_another_node_works_for_counts_as_reserved(bench: Bench) -> None:
    """That node may have reserved the next call already."""
    turn = open_turn(bench.db)
    bench.answers(turn, 1_000, "read")
    call = CallEnded(channel=1, call_id="1", model="groq/m", usage=Usage(prompt=300))
    bench.gate.placement = PlacedAgents("home")
    for died in (True, False):
        bench.gate.queue_unnamed_call("work", turn.id, call, died=died)
    await bench.gate.book_unnamed()
    assert usage.sum_spending(bench.db, "work", 0).tokens == 2_000


async def test_call_of_no_known_turn_is_charged_to_its_agent(bench: Bench) -> None:
    """Its turn is over; without a model in the answer it has the agent's price."""
    bench.configure(llmProvider="groq")
    call = CallEnded(channel=1, call_id="1", usage=Usage(prompt=1_000_000))
    bench.gate.queue_unnamed_call("work", "", call, died=False)
    await bench.gate.book_unnamed()
    assert usage.sum_spending(bench.db, "work", 0) == usage.Amount(1_000_000, 1.0)


def test_reserved_call_needs_no_room_beside_its_own(bench: Bench) -> None:
    """T2's reservation is not checked or made again; an operator's pause holds the turn."""
    bench.configure(budget={"tokensPerDay": budgets.FIRST_CALL})
    turn = open_turn(bench.db)
    with job(bench.db):
        bench.gate.build_rules().reserve_next_call(bench.db, turn)
        assert bench.gate.build_rules().enforce_turn_limits(bench.db, turn) is None
        bench.gate.build_rules().reserve_next_call(bench.db, turn)
        assert usage.sum_spending(bench.db, "work", 0).tokens == budgets.FIRST_CALL
        bench.gate.build_rules().pause_agent(bench.db, "work", "me")
        assert bench.gate.build_rules().enforce_turn_limits(bench.db, turn) is not None


def test_call_without_a_price_counts_in_tokens_alone(bench: Bench) -> None:
    """Its cost is unknown, not nothing."""
    turn = open_turn(bench.db)
    with job(bench.db):
        usage.record_usage(bench.db, "work", turn.id, "x/y", Usage(prompt=5), None, bench.now)
    assert usage.sum_spending(bench.db, "work", 0) == Amount(5, 0.0)


def test_dollars_are_limited_by_the_prices_of_the_file(bench: Bench) -> None:
    """A million tokens cost a dollar here."""
    bench.configure(budget={"usdPerHour": 0.01})
    turn = open_turn(bench.db)
    pause = bench.answers(turn, 8_000, "read")
    assert pause is not None
    assert "$0.0020 of $0.0100 are left of the budget usdPerHour" in pause.reason


def test_dollars_are_limited_by_known_prices_where_the_file_has_none(bench: Bench) -> None:
    """A million tokens of this model's prompts cost a dollar, of its answers five."""
    own = {"llmProvider": "anthropic", "model": "claude-haiku-4-5"}
    bench.configure(**own, budget={"usdPerDay": 0.01})
    turn = open_turn(bench.db)
    pause = bench.answers(turn, 8_000, "read", model="anthropic/claude-haiku-4-5")
    assert pause is not None
    assert pause.reason.startswith(
        "the next call may cost $0.0400, and $0.0020 of $0.0100 are left"
    )


async def test_budget_with_room_again_ends_its_pause(bench: Bench) -> None:
    """An hour later, or when the limit was raised; waiting turns go on."""
    bench.configure(budget={"tokensPerHour": 10_000})
    turn = open_turn(bench.db)
    assert bench.answers(turn, 9_000, "read") is not None
    with job(bench.db):
        refused = bench.gate.build_rules().resume_agent(bench.db, "work", "operator")
    assert refused is not None
    assert "raise it in agents.json" in refused
    async with anyio.create_task_group() as tasks:
        with time_limit():
            tasks.start_soon(bench.gate.run)
            waiting = bench.gate.changed
            bench.configure(budget={"tokensPerHour": 20_000})
            bench.gate.wake()
            await waiting.wait()
            await bench.gate.wait_until_resumed("work")
        tasks.cancel_scope.cancel()
    assert pauses.list_pauses(bench.db) == []


async def test_operators_word_pauses_and_resumes(bench: Bench) -> None:
    """Waiting turns go on; a removed agent ends the wait, too."""
    turn = open_turn(bench.db)
    await bench.gate.change_pause("work", "telegram:5", paused=True)
    with job(bench.db):
        assert bench.gate.build_rules().enforce_turn_limits(bench.db, turn) is not None
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.gate.wait_until_resumed, "work")
            assert await bench.gate.change_pause("work", "telegram:5", paused=False) is None
        await bench.gate.change_pause("work", "operator", paused=True)
        bench.file = AgentsFile.model_construct(agents=())
        await bench.gate.wait_until_resumed("work")
    actors = [actor for (actor,) in bench.db.execute("SELECT actor FROM audit")]
    assert actors == ["telegram:5", "telegram:5", "operator"]


def test_task_of_a_paused_agent_waits_in_silence(bench: Bench) -> None:
    """No chat wrote, so none gets a notice."""
    bench.gate.build_rules().pause_agent(bench.db, "work", "operator")
    open_turn(bench.db)
    receive(bench.db, update(2))
    bench.db.execute("UPDATE inbox SET kind = 'task' WHERE state = 'new'")
    row = inbox.find_oldest_new(bench.db, "telegram/1/7/")
    assert row is not None
    assert bench.gate.build_rules().enforce_admission_limits(bench.db, "work", row) is not None
    assert bench.notices() == []
