"""What a worker asks for between two steps of a turn: messages that join it, an outage."""

from pathlib import Path

import pytest
from fakes.suspending_reads import interrupt_transaction
from fakes.turn_bench import echo, response, turn_bench
from structlog.contextvars import clear_contextvars, get_contextvars

from orchestrator.errors import JournalError, WorkerError
from orchestrator.processes.worker import WorkerHost
from orchestrator.turns import steering
from thinker.protocol.methods import TurnResult, TurnRun
from thinker.protocol.peer import RpcError


async def test_an_album_enters_a_running_turn_when_it_is_complete(tmp_path: Path) -> None:
    """As one message; until then it waits, and so does what comes after it."""
    entered: list[list[str]] = []
    async with turn_bench(tmp_path, {"agentId": "work", "whileBusy": "steer"}) as bench:

        async def steered(run: TurnRun, host: WorkerHost) -> TurnResult:
            await host.commit_step(response(run, "let me see"))
            bench.hears("one", "two", album="g")
            bench.hears("three")
            for _ in range(2):
                entered.append([message.content for message in await host.take_new_messages()])
                bench.now[0] += 1000
            return await echo(run, host)

        bench.scripted(steered)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
    assert entered == [[], ["one\ntwo", "three"]]


async def test_a_message_says_itself_whether_it_joins_the_turn(tmp_path: Path) -> None:
    """Its choice comes before the agent's; what follows one that waits waits with it."""
    entered: list[list[str]] = []
    async with turn_bench(tmp_path, {"agentId": "work"}) as bench:

        async def steered(run: TurnRun, host: WorkerHost) -> TurnResult:
            if entered:
                return await echo(run, host)
            await host.commit_step(response(run, "let me see"))
            for text, choice in (("a", "steer"), ("b", None), ("c", "steer")):
                bench.hears(text, while_busy=choice)
                entered.append([message.content for message in await host.take_new_messages()])
            return await echo(run, host)

        bench.scripted(steered)
        bench.hears("hello")
        assert await bench.channel.until(3) == ["echo: hello", "echo: b", "echo: c"]
    assert entered == [["a"], [], []]


async def test_messages_enter_a_turn_in_the_name_of_its_agent(tmp_path: Path) -> None:
    """So a node that has lost the agent is refused; requests come without the turn's context."""
    owners: list[str] = []

    async def note(_: object) -> bool:
        owners.append(str(get_contextvars().get("agent_id")))
        return True

    async with turn_bench(tmp_path, {"agentId": "work", "whileBusy": "steer"}) as bench:

        async def steered(run: TurnRun, host: WorkerHost) -> TurnResult:
            await host.commit_step(response(run, "let me see"))
            bench.hears("wait")
            clear_contextvars()
            assert len(await host.take_new_messages()) == 1
            return await echo(run, host)

        interrupt_transaction(bench.store, steering._add_new_messages, note)
        bench.scripted(steered)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
    assert owners == ["work"]


async def test_an_outage_of_the_journal_delays_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request cannot read; the next attempt goes on behind the steps that are stored."""
    monkeypatch.setattr("orchestrator.journal.db.store.STORAGE_RETRY", 0.0)
    stored: list[int] = []

    async def asking(run: TurnRun, host: WorkerHost) -> TurnResult:
        stored.append(len(run.steps))
        if run.steps:
            await host.call_tool(run.steps[0].calls[0].seq)
            return await echo(run, host)
        await host.commit_step(response(run, "", ("get_time", {})))
        monkeypatch.setattr(bench.store, "read", unreadable)
        try:
            await host.take_new_messages()
        except RpcError as error:
            raise WorkerError(str(error)) from error
        finally:
            monkeypatch.setattr(bench.store, "read", reader)
        raise AssertionError

    async def unreadable(*_: object) -> object:
        raise JournalError("the server is away")

    async with turn_bench(tmp_path) as bench:
        reader = bench.store.read
        bench.scripted(asking)
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
    assert stored == [0, 1]
