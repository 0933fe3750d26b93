"""Turns of scheduled tasks: another recipe, the same path."""

from pathlib import Path

import pytest
from fakes.memory import WORK
from fakes.note_tools import count_notes
from fakes.turn_bench import START, TurnBench, done, echo, response, turn_bench

from orchestrator.extensions.schedules import task_firing
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.processes.worker import WorkerHost
from orchestrator.schedules.specs import TaskSpec
from thinker.protocol.methods import StopReason, TurnResult, TurnRun

DAILY = {"type": "cron", "schedule": "0 9 * * *"}


async def fire(bench: TurnBench, **fields: object) -> int:
    """Let a task of the agent ``work`` be due now; its number."""
    spec = TaskSpec.model_validate(
        {"name": "t", "instructions": "Water it.", "trigger": DAILY, "timezone": "UTC", **fields}
    )
    task = await bench.store.transact(tasks.add_task, WORK, spec, START)
    await bench.store.transact(task_runs.run_task_now, task.id, START)
    bench.dispatcher.wake()
    return task.id


async def test_a_task_is_sent_to_its_worker_without_the_tools_that_send(tmp_path: Path) -> None:
    """Its outcome goes to the notify chat afterwards."""

    async def told(run: TurnRun, host: WorkerHost) -> TurnResult:
        del host
        assert run.recipe == "proactive"
        assert not run.stream
        assert "send_message" not in {tool.name for tool in run.tools}
        return await echo_task(run)

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(told)
        await fire(bench, max_steps=3, effort="low")
        await bench.until_state("replied")
        assert [(run.max_steps, run.asked.effort) for run in worker.runs] == [(3, "low")]
        await bench.dispatcher.wait_idle()
        assert bench.tasks_ended == ["task"]
        assert bench.channel.sent == []


async def echo_task(run: TurnRun) -> TurnResult:
    """Answer without a step."""
    return TurnResult(text=run.turn_id, stop_reason=StopReason.DONE)


async def test_a_direct_task_runs_its_one_call_without_a_worker(tmp_path: Path) -> None:
    """It passes the same journal."""
    direct = {"tool": "keep_note", "parameters": {"note": "Likes tea."}}
    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(echo)
        await fire(bench, direct=direct)
        await bench.until_state("replied")
        assert worker.runs == []
        assert count_notes(bench.db) == 1


async def test_a_direct_call_that_needs_approval_waits_and_runs_once(tmp_path: Path) -> None:
    """Without a worker as well."""
    direct = {"tool": "keep_note", "parameters": {"note": "Likes tea."}}
    async with turn_bench(tmp_path, {"agentId": "work", "approvals": ["keep_note"]}) as bench:
        await fire(bench, direct=direct)
        await bench.until_state("waiting")
        code = str(bench.db.execute("SELECT code FROM approval").get)
        await bench.approvals.decide_question(code, "operator", granted=True)
        await bench.until_state("replied")
        assert count_notes(bench.db) == 1


async def test_tasks_of_one_agent_run_two_at_a_time(tmp_path: Path) -> None:
    """A storm of tasks holds up no person."""
    async with turn_bench(tmp_path) as bench:
        waiting: list[str] = []

        async def slow(run: TurnRun, host: WorkerHost) -> TurnResult:
            if run.recipe == "interactive":
                return await echo(run, host)
            waiting.append(run.turn_id)
            await bench.supervisor.back.changed.wait()
            return await echo_task(run)

        bench.scripted(slow)
        for number in range(4):
            await fire(bench, name=f"t{number}")
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        assert len(waiting) == 2
        while bench.states().count("replied") < 4:
            bench.supervisor.back.wake()
            await bench.store.transact(lambda db: db.execute("SELECT 1").get)
        assert len(waiting) == 4


LOOK = {"toolName": "get_note", "parameters": {}}  # its result is {} while nothing is known


async def test_a_check_without_news_asks_no_model_and_tells_no_chat(tmp_path: Path) -> None:
    """Not a token is reserved or used; the run is in the task's history."""
    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(echo)
        number = await fire(bench, check=LOOK)
        await bench.until_state("closed")
        await bench.dispatcher.wait_idle()
        assert (worker.runs, bench.channel.sent) == ([], [])
        assert bench.db.execute("SELECT count(*) FROM model_call").get == 0
        assert bench.db.execute("SELECT count(*) FROM outbox").get == 0
        await bench.store.transact(task_firing.settle_ended_runs, START)
        [run] = await bench.store.transact(task_runs.list_task_runs, number, 5)
        assert (run.state, run.note) == ("ran", None)


async def test_a_check_with_news_is_what_the_model_goes_on_from(tmp_path: Path) -> None:
    """It reads the call and its result as its own first step, which is made once."""

    async def told(run: TurnRun, host: WorkerHost) -> TurnResult:
        del host
        [step] = run.steps
        [call] = step.calls
        assert not step.asked
        assert step.response.tool_calls[0].name == "get_time"
        assert call.result is not None
        return TurnResult(text=call.result.content, stop_reason=StopReason.DONE)

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(told)
        await fire(bench, check={"tool": "get_time", "parameters": {}})
        await bench.until_state("replied")
        assert len(worker.runs) == 1
        assert bench.db.execute("SELECT count(*) FROM step WHERE kind <> 'model'").get == 1


async def test_a_check_that_fails_is_a_failed_run(tmp_path: Path) -> None:
    """So that a broken condition is not taken for quiet."""
    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(echo)
        number = await fire(bench, check={"tool": "erase_note", "parameters": {"note": "99"}})
        await bench.until_state("replied")
        assert worker.runs == []
        await bench.store.transact(task_firing.settle_ended_runs, START)
        [run] = await bench.store.transact(task_runs.list_task_runs, number, 5)
        assert run.state == "failed"


@pytest.mark.parametrize("answer", ["HEARTBEAT_OK", "**NOTHING_TO_REPORT**\n"])
async def test_an_answer_that_nothing_is_to_report_is_not_sent(answer: str, tmp_path: Path) -> None:
    """With or without a check before."""

    async def told(run: TurnRun, host: WorkerHost) -> TurnResult:
        del run, host
        return TurnResult(text=answer, stop_reason=StopReason.DONE)

    async with turn_bench(tmp_path) as bench:
        bench.scripted(told)
        await fire(bench)
        await bench.until_state("closed")
        assert bench.db.execute("SELECT count(*) FROM outbox").get == 0


async def test_a_direct_task_with_nothing_to_say_is_not_sent(tmp_path: Path) -> None:
    """As of a script that prints nothing."""
    async with turn_bench(tmp_path) as bench:
        await fire(bench, direct=LOOK)
        await bench.until_state("closed")
        assert bench.db.execute("SELECT count(*) FROM outbox").get == 0


async def test_a_task_that_claims_what_was_not_done_is_recorded_as_failed(tmp_path: Path) -> None:
    """The run says why, and the chat reads the mark below the outcome."""

    async def claim(run: TurnRun, host: WorkerHost) -> TurnResult:
        result = done("I've sent the mail to bob." if run.recipe == "proactive" else "hello")
        await host.commit_step(response(run, result.text, ends=result))
        return result

    async with turn_bench(tmp_path) as bench:
        bench.scripted(claim)
        bench.hears("hello")
        await bench.channel.until(1)
        task = await fire(bench, notify={"channel": "telegram", "chat_id": "7"})
        mark = "⚠️ Not confirmed: no mail was sent in this conversation."
        assert (await bench.channel.until(2))[1] == f"I've sent the mail to bob.\n\n{mark}"
        await bench.store.transact(task_firing.settle_ended_runs, START + 1)
        (run,) = task_runs.list_task_runs(bench.db, task, 9)
        assert (run.state, run.note) == (
            "failed",
            "its answer claims what was not done: no mail was sent in this conversation",
        )
