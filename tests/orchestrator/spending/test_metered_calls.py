"""Model calls outside of turns: reserved before, released or lost when they fail."""

from pathlib import Path

import pytest
from fakes.background_work import USED, BackgroundBench, background
from fakes.journal import job

from orchestrator.errors import WorkerError, WorkerLostError
from orchestrator.extensions.upkeep.upkeep_requests import (
    SESSION_COMPACT,
    CompactionRequest,
    CompactionResult,
)
from orchestrator.spending.metered_calls import MeteredCall
from thinker.protocol.peer import FAILED, RpcError

CALL = MeteredCall("compaction/7", "work", "work", 500)
REQUEST = CompactionRequest(messages=())


def summarize(request: CompactionRequest) -> CompactionResult:
    """The worker's answer."""
    del request
    return CompactionResult(summary="They talked.", **USED)


async def ask(bench: BackgroundBench) -> CompactionResult | None:
    """One call."""
    return await bench.calls.ask_worker(CALL, SESSION_COMPACT, REQUEST, CompactionResult)


async def test_answer_is_returned_and_its_reservation_waits_to_be_settled(tmp_path: Path) -> None:
    """The caller settles it together with what it stores."""
    async with background(tmp_path) as bench:
        bench.serve(SESSION_COMPACT, CompactionRequest, summarize)
        answer = await ask(bench)
        assert answer is not None
        assert answer.summary == "They talked."
        assert bench.spent() == [("compaction/7", "reserved", 500)]
        with job(bench.db):
            bench.gate.build_rules().settle_work(bench.db, "work", CALL.name, answer)
        assert bench.spent() == [("compaction/7", "settled", 100)]


async def test_paused_agent_makes_no_call(tmp_path: Path) -> None:
    """Nothing is reserved, and the worker gets no request."""
    async with background(tmp_path) as bench:
        bench.serve(SESSION_COMPACT, CompactionRequest, summarize)
        await bench.gate.change_pause("work", "operator", paused=True)
        assert await ask(bench) is None
        assert (bench.requests, bench.spent()) == ([], [])


async def test_call_beyond_the_budget_is_not_made(tmp_path: Path) -> None:
    """Also when it alone would use up the whole budget."""
    async with background(tmp_path, budget={"tokensPerDay": 499}) as bench:
        bench.serve(SESSION_COMPACT, CompactionRequest, summarize)
        assert await ask(bench) is None
        assert (bench.requests, bench.spent()) == ([], [])


async def test_reservation_of_a_refused_request_is_released(tmp_path: Path) -> None:
    """The worker lives and says that no model calls in this period."""

    def refuse(request: CompactionRequest) -> CompactionResult:
        raise RpcError(FAILED, f"no model for {len(request.messages)} messages")

    async with background(tmp_path) as bench:
        bench.serve(SESSION_COMPACT, CompactionRequest, refuse)
        with pytest.raises(WorkerError, match="no model for 0 messages"):
            await ask(bench)
        assert bench.spent() == []


async def test_reservation_counts_when_the_worker_dies(tmp_path: Path) -> None:
    """Its model may have been called and billed."""
    async with background(tmp_path) as bench:

        def die(request: CompactionRequest) -> CompactionResult:
            bench.lose_worker()
            return summarize(request)

        bench.serve(SESSION_COMPACT, CompactionRequest, die)
        with pytest.raises(WorkerLostError):
            await ask(bench)
        assert bench.spent() == [("compaction/7", "lost", 500)]
