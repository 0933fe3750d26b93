"""Trials are paid by their agents' budgets, and never above their limits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.replayed import MODEL, answered, replayed
from fakes.turn_bench import TurnBench, turn_bench

from orchestrator.agentsfile import Price
from orchestrator.extensions.workbench.trial_purse import (
    RunPurse,
    TrialPurse,
    compute_share,
)
from orchestrator.journal.turns import pauses, usage
from thinker.protocol.messages import Usage

PRICE = Price(input=1000, output=1000)  # a dollar for 1,000 tokens
AGENT = {"agentId": "work", "budget": {"usdPerDay": 4.0, "tokensPerHour": 100_000}}


@asynccontextmanager
async def priced_bench(tmp_path: Path) -> AsyncIterator[TurnBench]:
    """A daemon's turns, with an agent that has a budget."""
    async with turn_bench(tmp_path, AGENT) as bench:
        update = {"prices": {MODEL: PRICE}}
        bench.files[0] = bench.files[0].model_copy(update=update)
        yield bench


def run_purse(bench: TurnBench, purse: TrialPurse, work: str = "trial/1/t1/1") -> RunPurse:
    """What pays for a run."""
    return RunPurse(
        store=bench.store,
        build_rules=bench.guard.build_rules,
        purse=purse,
        turn=replayed("Hi.", "Ho."),
        agent_id="work",
        work=work,
        model=MODEL,
    )


async def test_calls_are_charged_to_the_agent_as_trials(tmp_path: Path) -> None:
    """The reservation is replaced by what was used."""
    async with priced_bench(tmp_path) as bench:
        purse = TrialPurse(None, None)
        run = run_purse(bench, purse)
        assert await run.reserve_step(0) == ""
        usd, tokens = purse.reserved[run.work]
        assert usd == pytest.approx(0.11)
        assert tokens == 110
        assert await run.settle_step(answered("Hi.")) == pytest.approx(0.11)
        assert purse.usd == pytest.approx(0.11)
        assert (purse.tokens, purse.reserved) == (110, {})
        rows = [*bench.db.execute("SELECT agent_id, turn_id, state, purpose FROM model_call")]
        assert rows == [("work", run.work, "settled", "trial")]


async def test_no_call_is_made_that_may_pass_the_limit(tmp_path: Path) -> None:
    """Neither of dollars nor of tokens, with what other runs have reserved."""
    async with priced_bench(tmp_path) as bench:
        for purse in (TrialPurse(0.3, None), TrialPurse(None, 300)):
            first, second, third = (
                run_purse(bench, purse, f"trial/1/t1/{number}") for number in range(3)
            )
            assert await first.reserve_step(0) == ""
            assert await second.reserve_step(0) == ""
            assert "would be passed" in await third.reserve_step(0)
            await second.release()
            assert await third.reserve_step(0) == ""
            await first.settle_step(answered("Hi."))
            assert "would be passed" in await first.reserve_step(1)
            for run in (first, second, third):
                await run.release()


async def test_later_call_is_reserved_as_large_as_the_conversation(tmp_path: Path) -> None:
    """The answer before it is in its prompt."""
    async with priced_bench(tmp_path) as bench:
        purse = TrialPurse(None, None)
        run = run_purse(bench, purse)
        run.used = Usage(prompt=1000, completion=50)
        assert await run.reserve_step(1) == ""
        assert purse.reserved[run.work][1] == 1100


async def test_trials_may_spend_a_quarter_of_what_is_left(tmp_path: Path) -> None:
    """Of the period that leaves the least; an agent without a budget has no such limit."""
    async with priced_bench(tmp_path) as bench:
        now, rules = bench.now[0], bench.guard.build_rules()
        used = Usage(prompt=2000)
        await bench.store.transact(usage.record_usage, "work", None, MODEL, used, 2.0, now)
        share = await bench.store.transact(compute_share, rules, "work")
        assert share.usd == pytest.approx(0.5)
        assert share.tokens == pytest.approx(24_500)
        assert await bench.store.transact(compute_share, rules, "other") == (None, None)


async def test_trial_pauses_no_agent_and_looks_like_no_runaway(tmp_path: Path) -> None:
    """A call for which the budget has no room is refused, and that is all."""
    async with priced_bench(tmp_path) as bench:
        now = bench.now[0]
        used = Usage(prompt=3900)
        await bench.store.transact(usage.record_usage, "work", None, MODEL, used, 3.9, now)
        run = run_purse(bench, TrialPurse(None, None))
        assert "no room" in await run.reserve_step(0)
        used = Usage(prompt=50)
        await bench.store.transact(
            usage.record_usage, "work", "trial/1/t1/1", MODEL, used, 0.05, now
        )
        assert await bench.store.transact(pauses.find_pause, "work") is None
        minutes = await bench.store.transact(usage.sum_tokens_by_minute, "work", 0)
        assert sum(minutes.values()) == 3900
