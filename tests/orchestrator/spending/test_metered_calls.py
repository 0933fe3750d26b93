"""Model calls outside of turns: reserved before, released or lost when they fail."""

from pathlib import Path

import pytest
from fakes.background_work import USED, BackgroundBench, background
from fakes.journal import job

from orchestrator.errors import WorkerError, WorkerLostError
from orchestrator.spending.metered_calls import MeteredCall
from thinker.protocol.background import (
    TEXTS_EMBED,
    EmbeddingRequest,
    EmbeddingResult,
)
from thinker.protocol.peer import FAILED, RpcError

CALL = MeteredCall("embeddings/7", "work", "work", 500)
REQUEST = EmbeddingRequest(texts=("Ada",))


def embed(request: EmbeddingRequest) -> EmbeddingResult:
    """The worker's answer."""
    del request
    return EmbeddingResult(**USED)


async def ask(bench: BackgroundBench) -> EmbeddingResult | None:
    """One call."""
    return await bench.calls.ask_worker(CALL, TEXTS_EMBED, REQUEST, EmbeddingResult)


async def test_answer_is_returned_and_its_reservation_waits_to_be_settled(tmp_path: Path) -> None:
    """The caller settles it together with what it stores."""
    async with background(tmp_path) as bench:
        bench.serve(TEXTS_EMBED, EmbeddingRequest, embed)
        answer = await ask(bench)
        assert answer is not None
        assert answer.model == USED["model"]
        assert bench.spent() == [("embeddings/7", "reserved", 500)]
        with job(bench.db):
            bench.gate.build_rules().settle_work(bench.db, "work", CALL.name, answer)
        assert bench.spent() == [("embeddings/7", "settled", 100)]


async def test_paused_agent_makes_no_call(tmp_path: Path) -> None:
    """Nothing is reserved, and the worker gets no request."""
    async with background(tmp_path) as bench:
        bench.serve(TEXTS_EMBED, EmbeddingRequest, embed)
        await bench.gate.change_pause("work", "operator", paused=True)
        assert await ask(bench) is None
        assert (bench.requests, bench.spent()) == ([], [])


async def test_call_beyond_the_budget_is_not_made(tmp_path: Path) -> None:
    """Also when it alone would use up the whole budget."""
    async with background(tmp_path, budget={"tokensPerDay": 499}) as bench:
        bench.serve(TEXTS_EMBED, EmbeddingRequest, embed)
        assert await ask(bench) is None
        assert (bench.requests, bench.spent()) == ([], [])


async def test_reservation_of_a_refused_request_is_released(tmp_path: Path) -> None:
    """The worker lives and says that no model calls in this period."""

    def refuse(request: EmbeddingRequest) -> EmbeddingResult:
        raise RpcError(FAILED, f"no model for {len(request.texts)} texts")

    async with background(tmp_path) as bench:
        bench.serve(TEXTS_EMBED, EmbeddingRequest, refuse)
        with pytest.raises(WorkerError, match="no model for 1 texts"):
            await ask(bench)
        assert bench.spent() == []


async def test_reservation_counts_when_the_worker_dies(tmp_path: Path) -> None:
    """Its model may have been called and billed."""
    async with background(tmp_path) as bench:

        def die(request: EmbeddingRequest) -> EmbeddingResult:
            bench.lose_worker()
            return embed(request)

        bench.serve(TEXTS_EMBED, EmbeddingRequest, die)
        with pytest.raises(WorkerLostError):
            await ask(bench)
        assert bench.spent() == [("embeddings/7", "lost", 500)]
