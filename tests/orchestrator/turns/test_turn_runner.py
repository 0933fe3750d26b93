"""One turn from its admission to its end, with workers that follow a script."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import anyio
import pytest
from fakes.agents_file import validate_file
from fakes.note_tools import count_notes
from fakes.turn_bench import done, echo, response, turn_bench
from structlog.testing import capture_logs

from orchestrator import chat_texts
from orchestrator.errors import (
    QuarantinedError,
    UnknownAgentError,
    WorkerError,
    WorkerLostError,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.processes.worker import WorkerHost
from orchestrator.turns import opener
from thinker.protocol.messages import RESULT_LIMIT, JsonObject, ToolResult
from thinker.protocol.methods import PlannedCall, StopReason, TurnResult, TurnRun
from thinker.protocol.notices import STOP_TEXTS
from thinker.protocol.peer import FENCED, RpcError
from thinker.protocol.prompt_record import PromptRecord

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
MINUTE, HOUR = 60_000, 3_600_000  # milliseconds
FACT: tuple[str, JsonObject] = ("keep_note", {"note": "Likes tea."})


async def test_a_message_is_answered_once_and_its_turn_closed(tmp_path: Path) -> None:
    """T6 shares the transaction of the last step."""
    async with turn_bench(tmp_path) as bench:
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        await bench.until_state("closed")
        assert bench.inbox() == ["done"]
        assert invariants.check_invariants(bench.db) == []


async def test_a_turn_tells_when_its_worker_was_ready_and_what_history_it_was_sent(
    tmp_path: Path,
) -> None:
    """Also if it waited meanwhile; the second turn has what the first one said."""

    async def prompted(run: TurnRun, host: WorkerHost) -> TurnResult:
        result, prompt = done("ok"), PromptRecord(layers=())
        step = response(run, result.text, ends=result)
        await host.commit_step(step.model_copy(update={"prompt": prompt}))
        return result

    async with turn_bench(tmp_path) as bench:
        bench.scripted(prompted)
        for number in (1, 2):
            bench.hears(f"hello {number}")
            await bench.channel.until(number)
            await bench.until_state("closed")
        ready = bench.db.execute("SELECT ready_at >= started_at FROM turn").fetchall()
        assert ready == [(1,), (1,)]
        query = (
            "SELECT history_first, history_last FROM turn_prompt ORDER BY history_first NULLS FIRST"
        )
        assert bench.db.execute(query).fetchall() == [(None, None), (1, 2)]


async def test_a_result_whose_last_step_did_not_end_the_turn_is_committed_afterwards(
    tmp_path: Path,
) -> None:
    """A turn that met a limit ends without a step of its own."""

    async def limited(run: TurnRun, host: WorkerHost) -> TurnResult:
        await host.commit_step(response(run, "a", FACT))
        return TurnResult(text="I stopped.", stop_reason=StopReason.MAX_STEPS)

    async with turn_bench(tmp_path) as bench:
        bench.scripted(limited)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["I stopped."]
        await bench.until_state("closed")


async def test_a_lost_worker_is_followed_by_another_that_gets_the_recorded_steps(
    tmp_path: Path,
) -> None:
    """The second attempt resumes where the first one stopped."""

    async def dying(run: TurnRun, host: WorkerHost) -> TurnResult:
        if not run.steps:
            await host.commit_step(response(run, "", FACT))
            raise WorkerLostError("killed")
        return await echo(run, host)

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(dying)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        assert [len(run.steps) for run in worker.runs] == [0, 1]
        assert count_notes(bench.db) == 1


async def test_workers_get_long_results_as_the_model_will_see_them(tmp_path: Path) -> None:
    """Many whole ones are longer than a frame: each turn of the chat would fail."""

    async def reading(run: TurnRun, host: WorkerHost) -> TurnResult:
        if not run.steps and not run.history:
            refused = PlannedCall(id="c0", name="look", arguments={}, rejected="x" * 1_000_000)
            step = response(run, "", ("look", {}))
            await host.commit_step(step.model_copy(update={"calls": (refused,)}))
            raise WorkerLostError("killed")
        return await echo(run, host)

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(reading)
        bench.hears("hello")
        await bench.channel.until(1)
        bench.hears("again")
        await bench.channel.until(2)
    (resumed,) = [call.result for step in worker.runs[1].steps for call in step.calls]
    (earlier,) = [message for message in worker.runs[2].history if isinstance(message, ToolResult)]
    assert resumed == earlier
    assert len(earlier.content) == RESULT_LIMIT
    assert earlier.content.endswith("[shortened: the result has 1000000 characters]")


async def test_a_message_that_ends_three_workers_is_given_up_and_its_chat_knows(
    tmp_path: Path,
) -> None:
    """The next message is answered."""

    async def poisoned(run: TurnRun, host: WorkerHost) -> TurnResult:
        if run.messages[-1].content == "poison":
            raise WorkerLostError("killed")
        return await echo(run, host)

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(poisoned)
        bench.hears("poison")
        (notice,) = await bench.channel.until(1)
        assert "3" in notice
        assert bench.states() == ["dead"]
        assert len(worker.runs) == 3
        bench.hears("hello")
        assert (await bench.channel.until(2))[1] == "echo: hello"


async def test_deaths_of_workers_that_wait_for_a_tool_give_no_message_up(tmp_path: Path) -> None:
    """They did nothing with the message that could have killed them."""
    may_end, deaths = anyio.Event(), 5

    async def slow(function: Callable[[*Ts], T], /, *arguments: *Ts) -> T:
        await may_end.wait()
        return function(*arguments)

    async def waiting(run: TurnRun, host: WorkerHost) -> TurnResult:
        if not run.steps:
            await host.commit_step(response(run, "", ("read_note", {"name": "none"})))
            raise WorkerLostError("killed before the call")
        (call,) = run.steps[0].calls
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.call_tool, call.seq)
            if len(worker.runs) <= deaths:
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            else:
                may_end.set()
        if len(worker.runs) <= deaths:
            raise WorkerLostError("killed during the call")
        return await echo(run, host)

    async with turn_bench(tmp_path, off_loop=slow) as bench:
        worker = bench.scripted(waiting)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        assert len(worker.runs) == deaths + 1
        assert bench.db.execute("SELECT claims FROM inbox").get == 1


async def test_a_worker_that_dies_after_its_last_step_leaves_a_whole_reply(tmp_path: Path) -> None:
    """Its death is not counted: T6 is committed."""

    async def dying(run: TurnRun, host: WorkerHost) -> TurnResult:
        await echo(run, host)
        raise WorkerLostError("killed")

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(dying)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        await bench.until_state("closed")
        await bench.dispatcher.wait_idle()
        assert len(worker.runs) == 1


async def test_an_error_of_the_worker_ends_the_turn_with_an_apology(tmp_path: Path) -> None:
    """The operator finds the reason in the journal."""

    async def failing(run: TurnRun, host: WorkerHost) -> TurnResult:
        del run, host
        raise WorkerError("invalid params")

    async with turn_bench(tmp_path) as bench:
        bench.scripted(failing)
        bench.hears("hello")
        assert await bench.channel.until(1) == [chat_texts.BROKEN]
        assert bench.db.execute("SELECT error FROM turn").get == "invalid params"


async def test_notice_is_not_read_by_the_next_turn(tmp_path: Path) -> None:
    """Neither one of the worker nor one of the daemon."""

    async def failing_first(run: TurnRun, host: WorkerHost) -> TurnResult:
        match run.messages[-1].content:
            case "one":
                text = STOP_TEXTS[StopReason.MODEL_ERROR]
                return TurnResult(text=text, stop_reason=StopReason.MODEL_ERROR, notice=True)
            case "two":
                raise WorkerError("invalid params")
        return await echo(run, host)

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(failing_first)
        for number, text in enumerate(("one", "two", "three"), 1):
            bench.hears(text)
            said = await bench.channel.until(number)
        assert said[1:] == [chat_texts.BROKEN, "echo: three"]
        assert [message.content for message in worker.runs[-1].history] == ["one", "two"]
        kinds = bench.db.execute("SELECT notice FROM outbox ORDER BY id").fetchall()
        assert kinds == [(1,), (1,), (0,)]


async def test_a_drained_worker_leaves_the_turn_to_the_next_one(tmp_path: Path) -> None:
    """No death is counted for it, however often."""
    times = 0

    async def draining(run: TurnRun, host: WorkerHost) -> TurnResult:
        nonlocal times
        times += 1
        if times < 5:
            return TurnResult(text="", stop_reason=StopReason.DRAINED)
        return await echo(run, host)

    async with turn_bench(tmp_path) as bench:
        bench.scripted(draining)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        assert bench.db.execute("SELECT claims FROM inbox").get == 0


async def test_a_turn_is_left_open_when_the_daemon_stops(tmp_path: Path) -> None:
    """The next process resumes it."""

    async def draining(run: TurnRun, host: WorkerHost) -> TurnResult:
        del run, host
        bench.supervisor.stopping = True
        bench.opener.admitting = False
        return TurnResult(text="", stop_reason=StopReason.DRAINED)

    async with turn_bench(tmp_path) as bench:
        bench.scripted(draining)
        bench.hears("hello")
        await bench.until_state("running")
        await bench.dispatcher.wait_idle()
        assert bench.states() == ["running"]
        assert bench.channel.sent == []


async def test_an_agent_that_is_gone_answers_with_a_sentence(tmp_path: Path) -> None:
    """Its worker was removed between T2 and the start."""
    async with turn_bench(tmp_path) as bench:
        bench.supervisor.refusals = [UnknownAgentError("work")]
        bench.hears("hello")
        assert await bench.channel.until(1) == [chat_texts.GONE]


async def test_a_quarantined_agent_says_so_once_and_answers_later(tmp_path: Path) -> None:
    """However often the quarantine is met."""
    async with turn_bench(tmp_path) as bench:
        bench.supervisor.refusals = [QuarantinedError("five crashes", final=False)] * 2
        bench.hears("hello")
        assert await bench.channel.until(1) == [chat_texts.QUARANTINE]
        while len(bench.channel.sent) < 2:
            bench.supervisor.back.wake()  # the turn may just begin to wait
            await anyio.lowlevel.checkpoint()
        assert await bench.channel.until(2) == [chat_texts.QUARANTINE, "echo: hello"]


async def test_a_final_quarantine_ends_the_turn(tmp_path: Path) -> None:
    """An agent with a wrong configuration cannot be waited for."""
    async with turn_bench(tmp_path) as bench:
        bench.supervisor.refusals = [QuarantinedError("exit 78", final=True)]
        bench.hears("hello")
        assert await bench.channel.until(1) == [chat_texts.NO_START]


async def test_a_call_that_needs_approval_suspends_the_turn_until_the_answer(
    tmp_path: Path,
) -> None:
    """The worker is refused, the turn waits without it or its time, and the call runs once."""
    refused: list[int] = []

    async def asking(run: TurnRun, host: WorkerHost) -> TurnResult:
        if not run.steps:
            committed = await host.commit_step(response(run, "", FACT))
            seq = committed.call_seqs[0]
        else:
            seq = run.steps[0].calls[0].seq
        try:
            result = await host.call_tool(seq)
        except RpcError as error:
            refused.append(error.code)
            raise WorkerError(str(error)) from error
        assert isinstance(result, ToolResult)
        return await echo(run, host)

    async with turn_bench(tmp_path, {"agentId": "work", "approvals": ["keep_note"]}) as bench:
        worker = bench.scripted(asking)
        bench.hears("hello")
        await bench.channel.until(1)
        await bench.until_state("waiting")
        assert bench.db.execute("SELECT count(*) FROM fact").get == 0
        bench.now[0] += HOUR
        code = str(bench.db.execute("SELECT code FROM approval").get)
        await bench.approvals.decide_question(code, "operator", granted=True)
        assert (await bench.channel.until(2))[1] == "echo: hello"
        assert refused == [FENCED]
        assert count_notes(bench.db) == 1
        left = [run.deadline - run.started_at for run in worker.runs]
        assert left == [15 * MINUTE / 1000, (HOUR + 15 * MINUTE) / 1000]


async def test_a_refused_key_suspends_the_turn_until_the_agent_is_resumed(tmp_path: Path) -> None:
    """Its chat is sent the pause, and no error."""
    keys = [False, True]

    async def keyed(run: TurnRun, host: WorkerHost) -> TurnResult:
        if not keys.pop(0):
            return TurnResult(text="the key was refused", stop_reason=StopReason.ACCOUNT)
        return await echo(run, host)

    async with turn_bench(tmp_path) as bench:
        bench.scripted(keyed)
        bench.hears("hello")
        await bench.until_state("waiting")
        assert "the key was refused" in (await bench.channel.until(1))[0]
        await bench.guard.change_pause("work", "operator", paused=False)
        assert (await bench.channel.until(2))[1] == "echo: hello"


async def test_a_fault_of_ours_is_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try counts as a death."""
    monkeypatch.setattr("orchestrator.turns.turn_runner.STORAGE_RETRY", 0.0)

    async def broken(run: TurnRun, host: WorkerHost) -> TurnResult:
        del run, host
        raise KeyError("bug")

    with capture_logs() as logged:
        async with turn_bench(tmp_path) as bench:
            worker = bench.scripted(broken)
            bench.hears("hello")
            await bench.channel.until(1)
            assert bench.states() == ["dead"]
            assert len(worker.runs) == 3
    assert [entry["event"] for entry in logged].count("turn_broke") == 3


def _apply(db: Database, work: Callable[[Database], None]) -> None:
    work(db)


async def test_wait_for_a_worker_takes_none_of_the_turns_time(tmp_path: Path) -> None:
    """All places were busy for longer than a turn may run. A second attempt has what is left."""
    async with turn_bench(tmp_path) as bench:

        async def dying(run: TurnRun, host: WorkerHost) -> TurnResult:
            if len(worker.runs) == 1:
                raise WorkerLostError("killed")
            return await echo(run, host)

        def pass_an_hour() -> None:
            bench.now[0] += HOUR

        worker = bench.scripted(dying)
        bench.supervisor.wait_for_place = pass_an_hour
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        left = [run.deadline - run.started_at for run in worker.runs]
        assert left == [(HOUR + 15 * MINUTE) / 1000] * 2


async def test_inputs_that_t2_loaded_are_not_used_for_a_changed_agent(tmp_path: Path) -> None:
    """A reload between T2 and the start is seen by the turn."""
    async with turn_bench(tmp_path) as bench:
        opened = anyio.Event()

        async def held(run: TurnRun, host: WorkerHost) -> TurnResult:
            opened.set()
            return await echo(run, host)

        worker = bench.scripted(held)
        with bench.dispatcher.hold_chats(["telegram/1/7/"]) as open_all:
            bench.numbers += 1
            bench.hears("hello")
            await bench.store.transact(_apply, open_all)
            changed = bench.files[0].agents[0].model_copy(update={"denied_tools": ("*",)})
            bench.files[0] = validate_file({**dict(bench.files[0]), "agents": (changed,)})
        assert await bench.channel.until(1) == ["echo: hello"]
        assert [run.tools for run in worker.runs] == [()]


async def test_message_of_a_missing_extension_is_answered_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is asked, since the extension alone knows what its turns may do."""
    monkeypatch.setitem(opener.KINDS, "message", "carrier")
    async with turn_bench(tmp_path) as bench:
        bench.hears("hello")
        (answer,) = await bench.channel.until(1)
        assert "turns of the kind 'carrier' is not installed" in answer
        await bench.until_state("closed")
        assert bench.inbox() == ["done"]
