"""Queues of chats: one turn at a time in each, chats beside each other."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from fakes.agents_file import validate_file
from fakes.journal import receive, update
from fakes.suspending_reads import interrupt_read, interrupt_transaction
from fakes.turn_bench import START, echo, turn_bench
from structlog.testing import capture_logs

from orchestrator import chat_texts
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import cancellations, inbox
from orchestrator.processes.worker import WorkerHost
from orchestrator.turns import dispatcher, step_commit
from orchestrator.turns.opener import TurnOpening
from orchestrator.turns.turn_runner import OpenTurn
from thinker.protocol.methods import TurnResult, TurnRun

pytestmark = pytest.mark.usefixtures("reads")


class Gatekeeper:
    """A worker that ends a turn when the test says so."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.gates: dict[str, anyio.Event] = {}
        self.news = anyio.Event()

    async def run(self, run: TurnRun, host: WorkerHost) -> TurnResult:
        """Wait for the gate of the turn's newest message."""
        text = run.messages[-1].content
        self.entered.append(text)
        gate = self.gates.setdefault(text, anyio.Event())
        self.news.set()
        self.news = anyio.Event()
        await gate.wait()
        return await echo(run, host)

    async def until(self, count: int) -> list[str]:
        """Wait until so many turns have begun."""
        while len(self.entered) < count:
            await self.news.wait()
        return self.entered

    def open(self, text: str) -> None:
        """Let a turn end."""
        self.gates.setdefault(text, anyio.Event()).set()


async def test_messages_of_one_chat_are_answered_in_their_order(tmp_path: Path) -> None:
    """The second turn begins when the first has ended."""
    async with turn_bench(tmp_path) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.hears("one", "two")
        assert await keeper.until(1) == ["one"]
        keeper.open("two")
        keeper.open("one")
        assert await bench.channel.until(2) == ["echo: one", "echo: two"]


async def test_chats_are_answered_beside_each_other(tmp_path: Path) -> None:
    """A slow answer holds up its own chat alone."""
    async with turn_bench(tmp_path) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.hears("slow")
        bench.hears("fast", chat_id="8")
        assert sorted(await keeper.until(2)) == ["fast", "slow"]
        keeper.open("fast")
        assert await bench.channel.until(1) == ["echo: fast"]
        keeper.open("slow")
        assert await bench.channel.until(2) == ["echo: fast", "echo: slow"]


async def test_an_agent_runs_no_more_turns_at_once_than_it_may(tmp_path: Path) -> None:
    """The third chat waits for a place."""
    agent = {"agentId": "work", "limits": {"maxConcurrentTurns": 2}}
    async with turn_bench(tmp_path, agent) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        for number in range(3):
            bench.hears(f"m{number}", chat_id=str(number + 1))
        begun = {*await keeper.until(2)}
        assert len(begun) == 2
        keeper.open(begun.pop())
        await keeper.until(3)
        for number in range(3):
            keeper.open(f"m{number}")
        assert len(await bench.channel.until(3)) == 3


async def test_a_newer_message_ends_the_turn_of_an_agent_that_interrupts(tmp_path: Path) -> None:
    """The interrupted message gets no answer."""
    agent = {"agentId": "work", "whileBusy": "interrupt"}
    async with turn_bench(tmp_path, agent) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.hears("one")
        await keeper.until(1)
        bench.hears("two")
        assert await keeper.until(2) == ["one", "two"]
        keeper.open("two")
        await bench.channel.until_sent("echo: two")
        assert bench.states()[0] == "cancelled"
        assert "echo: one" not in [text for _, text in bench.channel.sent]


async def test_a_message_says_itself_whether_it_ends_the_turn(tmp_path: Path) -> None:
    """Its choice comes before the agent's, in both directions."""
    async with turn_bench(tmp_path, {"agentId": "work", "whileBusy": "interrupt"}) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.hears("one")
        await keeper.until(1)
        bench.hears("two", while_busy="queue")
        keeper.open("one")
        await bench.channel.until_sent("echo: one")
        assert await keeper.until(2) == ["one", "two"]
        calm = bench.files[0].agents[0].model_copy(update={"while_busy": "queue"})
        bench.files[0] = validate_file({**dict(bench.files[0]), "agents": (calm,)})
        bench.hears("three", while_busy="interrupt")
        assert await keeper.until(3) == ["one", "two", "three"]
        keeper.open("three")
        await bench.channel.until_sent("echo: three")
        assert bench.states()[:2] == ["closed", "cancelled"]


async def test_a_turn_that_was_cancelled_in_the_journal_is_left(tmp_path: Path) -> None:
    """`/stop` does that."""
    async with turn_bench(tmp_path) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.hears("one", "two")
        await keeper.until(1)
        turn_id = await bench.store.transact(
            cancellations.cancel_turn, "telegram/1/7/", "stopped", START
        )
        assert turn_id is not None
        bench.dispatcher.stop_turns([turn_id])
        keeper.open("two")
        assert await bench.channel.until(1) == ["echo: two"]
        assert bench.states()[0] == "cancelled"


async def test_turn_that_another_node_runs_now_is_left_as_it_is(tmp_path: Path) -> None:
    """The turns of other agents go on."""
    async with turn_bench(tmp_path) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.hears("one")
        await keeper.until(1)
        assert bench.dispatcher.leave_turns({"home"})
        assert not bench.dispatcher.leave_turns({"work"})
        await bench.dispatcher.wait_idle()
        assert bench.states() == ["running"]
        bench.dispatcher.wake()
        assert await keeper.until(2) == ["one", "one"]  # in this journal it is still this node's
        keeper.open("one")
        assert await bench.channel.until(1) == ["echo: one"]


async def test_t2_shares_the_transaction_in_which_the_message_is_stored(tmp_path: Path) -> None:
    """In a chat that is idle."""
    async with turn_bench(tmp_path) as bench:
        with bench.dispatcher.hold_chats(["telegram/1/7/"]) as open_all:
            receive(bench.db, update(1, "hello"))
            assert bench.states() == []
            await bench.store.transact(_apply, open_all)
            assert bench.states() == ["running"]
        assert await bench.channel.until(1) == ["echo: hello"]


def _apply(db: Database, work: object) -> None:
    assert callable(work)
    work(db)


async def test_a_failure_while_messages_are_stored_leaves_the_chat_to_its_queue(
    tmp_path: Path,
) -> None:
    """What was committed is found there."""
    async with turn_bench(tmp_path) as bench:
        with suppress(OSError), bench.dispatcher.hold_chats(["telegram/1/7/"]):
            receive(bench.db, update(1, "hello"))
            raise OSError
        bench.dispatcher.wake()
        assert await bench.channel.until(1) == ["echo: hello"]


async def test_an_unbound_chat_is_refused_and_the_next_message_still_looked_at(
    tmp_path: Path,
) -> None:
    """Each message of a private chat gets the refusal."""
    async with turn_bench(tmp_path) as bench:
        file = bench.files[0]
        bench.files[0] = file.model_copy(update={"bindings": ()})
        bench.hears("one", "two")
        assert await bench.channel.until(2) == [chat_texts.NO_AGENT] * 2
        assert bench.states() == []


async def test_messages_of_a_paused_agent_wait_and_are_answered_when_it_goes_on(
    tmp_path: Path,
) -> None:
    """They stay in the inbox; the chat is sent a notice of the pause."""
    async with turn_bench(tmp_path) as bench:
        await bench.guard.change_pause("work", "operator", paused=True)
        bench.hears("hello")
        await bench.dispatcher.wait_idle()
        assert bench.inbox() == ["new"]
        await bench.guard.change_pause("work", "operator", paused=False)
        await bench.channel.until_sent("echo: hello")


async def test_nothing_is_admitted_once_the_daemon_stops(tmp_path: Path) -> None:
    """Messages stay for the next process."""
    async with turn_bench(tmp_path) as bench:
        bench.opener.admitting = False
        assert not bench.opener.admitting
        bench.hears("hello")
        await bench.dispatcher.wait_idle()
        assert bench.inbox() == ["new"]
        assert bench.states() == []


async def test_a_fault_in_one_chat_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again; the other chats are answered meanwhile."""
    monkeypatch.setattr(dispatcher, "STORAGE_RETRY", 0.0)
    with capture_logs():
        async with turn_bench(tmp_path) as bench:
            faults = ["one"]
            original = bench.dispatcher._run_turn

            async def faulty(opened: OpenTurn) -> bool | None:
                if faults:
                    raise KeyError(faults.pop())
                return await original(opened)

            bench.dispatcher._run_turn = faulty  # type: ignore[method-assign]  # the fault
            bench.hears("one")
            bench.hears("two", chat_id="8")
            assert sorted(await bench.channel.until(2)) == ["echo: one", "echo: two"]


def died_in(folder: Path, text: str) -> None:
    """Leave the crash record of a process that died."""
    (folder / "journal.db-job").write_bytes(text.encode().ljust(512, b"\0"))


@pytest.mark.parametrize("admitting", [False, True], ids=("new", "open"))
async def test_message_that_ended_the_daemon_three_times_is_given_up(
    tmp_path: Path, *, admitting: bool
) -> None:
    """Its chat is told, and its next message answered, whether the first had a turn or not."""
    async with turn_bench(tmp_path) as bench:
        keeper = Gatekeeper()
        bench.scripted(keeper.run)
        bench.opener.admitting = admitting
        bench.hears("poison", "fine")
        if admitting:
            await keeper.until(1)
        await bench.store.transact(lambda _: None)
    died_in(tmp_path, "3 _gather telegram/1/7/")
    with capture_logs() as logs:
        async with turn_bench(tmp_path) as bench:
            told, answer = await bench.channel.until(2)
            assert told.startswith("I am sorry: the agent died 3 times")
            assert answer == "echo: fine"
            assert bench.inbox() == ["dead", "done"]
            assert invariants.check_invariants(bench.db) == []
    (given_up,) = (entry for entry in logs if entry["event"] == "message_given_up")
    assert given_up["problem"] == "the daemon died 3 times in a row in its gather"


async def test_two_deaths_with_a_message_are_no_reason_to_give_it_up(tmp_path: Path) -> None:
    """A person may have killed the daemon."""
    died_in(tmp_path, "2 open_next telegram/1/7/")
    async with turn_bench(tmp_path) as bench:
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]


async def test_after_a_death_in_t1_messages_are_stored_before_they_are_read(
    tmp_path: Path,
) -> None:
    """T2 in the same transaction could end the daemon again before the message is stored."""
    died_in(tmp_path, "1 _ingest ")
    async with turn_bench(tmp_path) as bench:
        await bench.store.transact(lambda _: None)
        await bench.store.read(lambda _: None)  # the dispatcher has looked for the first time
        with bench.dispatcher.hold_chats(["telegram/1/7/"]) as open_all:
            receive(bench.db, update(1, "hello"))
            await bench.store.transact(_apply, open_all)
            assert bench.states() == []
        assert await bench.channel.until(1) == ["echo: hello"]


async def test_message_for_which_no_turn_can_be_opened_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was tried for ever, and its chat got no answer any more."""
    monkeypatch.setattr(dispatcher, "STORAGE_RETRY", 0.0)
    original = TurnOpening.open_next

    def faulty(opening: TurnOpening, db: Database, chat: str) -> object:
        row = inbox.find_oldest_new(db, chat)
        if row is not None and row.text == "poison":
            raise RecursionError
        return original(opening, db, chat)

    monkeypatch.setattr(TurnOpening, "open_next", faulty)
    with capture_logs():
        async with turn_bench(tmp_path) as bench:
            bench.hears("poison", "fine")
            told, answer = await bench.channel.until(2)
            assert told.startswith("I am sorry: the agent died 3 times")
            assert answer == "echo: fine"
            assert bench.inbox() == ["dead", "done"]


@pytest.mark.parametrize(
    ("interrupt", "look", "chat_id"),
    [
        (interrupt_read, dispatcher._scan_chats, "8"),
        (interrupt_transaction, step_commit._reply, "7"),
    ],
)
async def test_message_that_arrives_while_the_dispatcher_looks_is_answered(
    tmp_path: Path,
    interrupt: Callable[..., None],
    look: Callable[..., object],
    chat_id: str,
) -> None:
    """What was looked for at all chats, or at the end of a chat's turn, is outdated then."""
    async with turn_bench(tmp_path) as bench:

        async def happens(_: object) -> bool:
            bench.hears("second", chat_id=chat_id)
            return True

        interrupt(bench.store, look, happens)
        bench.hears("first")
        assert sorted(await bench.channel.until(2)) == ["echo: first", "echo: second"]
