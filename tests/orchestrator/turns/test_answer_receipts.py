"""An answer that claims what was not done: sent back once, then marked, over the whole turn."""

from pathlib import Path

from fakes.turn_bench import TurnBench, done, echo, response, turn_bench

from orchestrator.errors import WorkerLostError
from orchestrator.journal.inspect.trace import load_turn_trace
from orchestrator.journal.turns.receipts import load_receipt
from orchestrator.processes.worker import WorkerHost
from thinker.protocol.messages import MESSAGE, Usage
from thinker.protocol.methods import RETURNED, StopReason, TurnResult, TurnRun

SENT = "I've sent the mail to bob."
MARK = "⚠️ Not confirmed: no mail was sent in this conversation."


async def claim(run: TurnRun, host: WorkerHost) -> TurnResult:
    """Claim what was not done."""
    result = done(SENT)
    await host.commit_step(response(run, SENT, ends=result))
    return result


def said(bench: TurnBench) -> list[str]:
    """What the session has of the conversation."""
    rows = bench.db.execute("SELECT body FROM message ORDER BY id")
    return [MESSAGE.validate_json(str(body)).content for (body,) in rows]


async def test_claim_without_a_call_is_marked_in_the_chat_and_kept(tmp_path: Path) -> None:
    """The model reads its own words again, without the mark; the trace has the claim."""
    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(claim)
        bench.hears("send it")
        assert await bench.channel.until(1) == [f"{SENT}\n\n{MARK}"]
        turn_id = worker.runs[0].turn_id
        receipt = load_receipt(bench.db, turn_id)
        assert receipt is not None
        assert [one.verdict for one in receipt.claims] == ["false"]
        assert said(bench) == ["send it", SENT]
        events = load_turn_trace(bench.db, turn_id).events
        told = f"claim 1 {SENT!r} not done: no mail was sent"
        assert any(told in event.detail for event in events)


async def test_answer_that_claims_nothing_has_no_receipt(tmp_path: Path) -> None:
    """Nor has a notice of the daemon."""

    async def fail(run: TurnRun, host: WorkerHost) -> TurnResult:
        del run, host
        return TurnResult(text=SENT, stop_reason=StopReason.DONE, notice=True)

    async with turn_bench(tmp_path) as bench:
        bench.scripted(echo)
        bench.hears("one")
        assert await bench.channel.until(1) == ["echo: one"]
        bench.scripted(fail)
        bench.hears("two")
        assert await bench.channel.until(2) == ["echo: one", SENT]
        assert bench.db.execute("SELECT count(receipt) FROM turn").get == 0


async def test_answer_that_went_back_is_in_no_history(tmp_path: Path) -> None:
    """No person has read it; the turn goes on behind it after a crash."""

    async def correct(run: TurnRun, host: WorkerHost) -> TurnResult:
        if not run.steps:
            back = response(run, SENT).model_copy(update={"finish": RETURNED})
            await host.commit_step(back)
            raise WorkerLostError("killed")
        assert [(step.finish, step.response.content) for step in run.steps] == [(RETURNED, SENT)]
        result = done("I have not sent it.")
        await host.commit_step(response(run, result.text, ends=result))
        return result

    async with turn_bench(tmp_path) as bench:
        bench.scripted(correct)
        bench.hears("send it")
        assert await bench.channel.until(1) == ["I have not sent it."]
        assert said(bench) == ["send it", "I have not sent it."]


async def test_answer_stands_when_the_budget_is_used_up(tmp_path: Path) -> None:
    """It is not withheld until the pause ends, and is marked like any other."""
    stands: list[bool] = []

    async def spend(run: TurnRun, host: WorkerHost) -> TurnResult:
        used = Usage(prompt=9000, completion=2000)
        back = response(run, SENT).model_copy(update={"finish": RETURNED, "usage": used})
        stands.append((await host.commit_step(back)).stands)
        return done(SENT)

    agent = {"agentId": "work", "budget": {"tokensPerDay": 10_000}}
    async with turn_bench(tmp_path, agent) as bench:
        bench.scripted(spend)
        bench.hears("send it")
        assert f"{SENT}\n\n{MARK}" in await bench.channel.until(2)  # beside that of the pause
        assert stands == [True]
        assert said(bench) == ["send it", f"{SENT}\n\n{MARK}"]
