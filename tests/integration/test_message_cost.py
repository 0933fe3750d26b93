"""What one message costs the journal: statements, transactions and pages, none of which may grow.

Each statement is a round trip on a networked store, each page a write of its size.
"""

from functools import partial
from pathlib import Path

import anyio
import apsw
from fakes.commands import command_desk, no_notice
from fakes.journal import update
from fakes.postgresql import sqlite_only
from fakes.turn_bench import TurnBench, done, response, turn_bench

from orchestrator.inbound.intake import JournalIntake
from orchestrator.processes.worker import WorkerHost
from thinker.protocol.messages import LayerRecord, Usage
from thinker.protocol.methods import TurnResult, TurnRun
from thinker.protocol.prompt_record import PromptRecord

BEFORE = 8  # messages of the chat before one is measured
BOUND = {"channel": "telegram", "chatId": "7", "agentId": "work"}
CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
ACCEPTED, ANSWERED = 16, 18  # statements of T1 with T2, and of T3 with T6
BYTES = 52_000  # of both transactions together, far more than a message adds


class Costs:
    """The statements of each transaction that changed something, and the pages that it wrote."""

    def __init__(self) -> None:
        self.transactions: list[list[str]] = []
        self.pages: list[int] = []
        self._open: list[str] = []
        self._written = 0

    def watch(self, db: apsw.Connection) -> None:
        """Count what a connection does from now on."""
        db.trace_v2(apsw.SQLITE_TRACE_STMT, self._statement)
        db.set_wal_hook(self._committed)

    def of(self, table: str) -> list[str]:
        """The statements of the newest transaction that added a row to a table."""
        begins = f"INSERT INTO {table}("
        found = [one for one in self.transactions if any(sql.startswith(begins) for sql in one)]
        return found[-1]

    def _statement(self, event: dict[str, object]) -> None:
        sql = str(event["sql"]).lstrip()
        if event["trigger"] or sql.startswith("--"):
            return
        if sql.startswith("BEGIN"):
            self._open = []
        elif not sql.startswith(CONTROL):
            self._open.append(sql)

    def _committed(self, db: apsw.Connection, name: str, pages: int) -> int:
        del db, name
        self.transactions.append(self._open)
        self.pages.append(pages - self._written)
        self._written = pages
        return 0


async def answer(run: TurnRun, host: WorkerHost) -> TurnResult:
    """Answer as a model does: with its prompt, and what it used."""
    result, layer = done("It is noon."), LayerRecord(name="base", text="You are kind. " * 200)
    prompt = PromptRecord(layers=(layer,), tools=("get_time",), stable="1")
    used = {"usage": Usage(prompt=900, completion=9), "prompt": prompt}
    await host.commit_step(response(run, result.text, ends=result).model_copy(update=used))
    return result


async def answered(bench: TurnBench, intake: JournalIntake, number: int) -> None:
    """Send a message, and wait until its chat has the answer and no work is left."""
    await intake.accept([update(number, f"hello {number}", "7")])
    await bench.channel.until(number)
    while bench.inbox()[-1] != "done" or bench.states()[-1] != "closed":
        await anyio.lowlevel.checkpoint()
    await bench.dispatcher.wait_idle()


@sqlite_only  # which traces its statements, and has pages
async def test_plain_message_costs_few_statements_and_pages(tmp_path: Path) -> None:
    """It is stored and admitted in one transaction, its answer stored in another."""
    async with turn_bench(tmp_path, bindings=[BOUND]) as bench:
        bench.scripted(answer)
        agents = partial(bench.files.__getitem__, 0)
        commands = command_desk(bench.store, agents)
        intake = JournalIntake(
            bench.store, agents, no_notice, bench.dispatcher, bench.dispatcher.wake, commands
        )
        for number in range(1, BEFORE + 1):
            await answered(bench, intake, number)
        costs = Costs()
        await bench.store.transact(costs.watch)
        await answered(bench, intake, BEFORE + 1)
        page = int(bench.db.execute("PRAGMA page_size").get)
        await answered(bench, intake, BEFORE + 2)
    accepted, replied = costs.of("inbox"), costs.of("step")
    assert "INSERT INTO turn" in " ".join(accepted)
    assert "INSERT INTO message" in " ".join(replied)
    assert len(accepted) <= ACCEPTED, accepted
    assert len(replied) <= ANSWERED, replied
    written = [
        pages
        for pages, made in zip(costs.pages, costs.transactions, strict=True)
        if made in (accepted, replied)
    ]
    assert sum(written[-2:]) * page <= BYTES
