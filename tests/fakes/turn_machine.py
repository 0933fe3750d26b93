"""What supervisors and workers do to a journal, as rules: messages, steps, deaths, clock jumps."""

import shutil
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fakes.journal import CLASSES, job, receive, step, update
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import inbox, steps, turns
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from thinker.protocol.messages import SideEffect, ToolResult

CHATS = ("1", "2", "3")
TOOLS = ("read", "note", "pay", "mail")  # pure, local_tx, keyed, non_idempotent
MAX_DEATHS = 3
DONE = ("done", None)
chance = st.integers(0, 1_000)  # picks one of what there is


def result_of(call: Call, *, ok: bool) -> ToolResult:
    """What a tool answers."""
    return ToolResult(call_id=call.call_id, name=call.name, content="42", is_error=not ok)


def rows(db: Database) -> list[object]:
    """The whole journal but for the times that SQLite took."""
    queries = (
        "SELECT * FROM inbox",
        "SELECT * FROM turn",
        "SELECT * FROM step",
        "SELECT * FROM outbox",
        "SELECT * FROM message",
        "SELECT * FROM audit",
        "SELECT * FROM meta",
        "SELECT kind, number, turn_id, state, note FROM transition ORDER BY id",
    )
    return [db.execute(query).fetchall() for query in queries]


class TurnMachine(RuleBasedStateMachine):
    """One journal, the process that owns it at the moment, and what the world saw."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="orchestrator-"))
        self.db = open_database(self.folder / "journal.db")
        self.db.execute("PRAGMA synchronous=OFF")  # no power fails here
        self.now = 1_000_000
        self.updates: list[str] = []  # chat of each update
        self.turns = 0
        self.effects: Counter[tuple[str, str]] = Counter()  # executions by class and key
        self.stale: list[tuple[Turn, Call | None]] = []  # what dead processes still hold
        self.start()
        for number, chat in enumerate(CHATS):  # so that there is something to go wrong at once
            self.a_message_comes(chat, "new")
            self.a_chat_admits(0)
            self.a_model_answers(number, [*reversed(TOOLS[number:])], wrong=False)

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.db.close()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """T0, and what every chat queue does first."""
        self.running: dict[tuple[str, int], Call] = {}  # calls that this process has dispatched
        self.busy: set[int] = set()  # outbox rows in its hands
        with job(self.db):
            self.epoch = turns.boot(self.db, self.now)
        for turn in self.open_turns():
            self.take_over(turn)

    def open_turns(self) -> list[Turn]:
        """The turns that a worker may have."""
        found = [turns.find_open_turn(self.db, f"telegram/1/{chat}/") for chat in CHATS]
        return [turn for turn in found if turn is not None]

    def pick(self, number: int) -> Turn:
        """One open turn."""
        found = self.open_turns()
        return found[number % len(found)]

    def take_over(self, turn: Turn) -> None:
        """What a turn's next worker is sent."""
        running = frozenset(seq for owner, seq in self.running if owner == turn.id)
        with job(self.db):
            turns.load_stored_turn(self.db, turn.id, running, 50, self.now)

    def waiting(self, turn: Turn) -> list[Call]:
        """The calls of a turn that can be dispatched."""
        seqs = self.db.execute(
            "SELECT seq FROM step WHERE turn_id = ? AND state = 'planned'", (turn.id,)
        )
        found = [steps.find_call(self.db, turn.id, seq) for (seq,) in list(seqs)]
        return [call for call in found if call is not None]

    # --- messages ----------------------------------------------------------------------------

    @rule(chat=st.sampled_from(CHATS), kind=st.sampled_from(["new", "new", "refused", "again"]))
    def a_message_comes(self, chat: str, kind: str) -> None:
        """T1, also of what is refused, and of what Telegram repeats."""
        if kind == "again":
            number = len(self.updates)
            again = update(number, chat_id=self.updates[-1])
            assert receive(self.db, again, now=self.now) == []
            return
        self.updates.append(chat)
        message = update(len(self.updates), chat_id=chat)
        arrival = Arrival(message, "not paired" if kind == "refused" else None)
        with job(self.db):
            admitted = inbox.ingest(self.db, [arrival], None, self.now)
        assert len(admitted) == (kind == "new")

    @precondition(lambda self: recent_turns.count_messages_by_state(self.db)["new"] > 0)
    @rule(number=chance)
    def a_chat_admits(self, number: int) -> None:
        """T2."""
        new = [inbox.find_oldest_new(self.db, chat) for chat in inbox.list_chats_with_work(self.db)]
        found = [row for row in new if row is not None]
        row = found[number % len(found)]
        busy = turns.find_open_turn(self.db, row.chat_key) is not None
        self.turns += 1
        with job(self.db):
            admission = TurnAdmission(f"t{self.turns}", "work", self.epoch, 15, "1")
            turn = turns.admit_message(self.db, row, admission, self.now)
        assert (turn is None) == busy

    # --- steps -------------------------------------------------------------------------------

    @precondition(lambda self: self.open_turns())
    @rule(number=chance, tools=st.lists(st.sampled_from(TOOLS), max_size=3), wrong=st.booleans())
    def a_model_answers(self, number: int, tools: list[str], *, wrong: bool) -> None:
        """T3, once the calls of the step before have ended."""
        turn = self.pick(number)
        if self.db.execute(
            "SELECT 1 FROM step WHERE turn_id = ? AND state IN('planned','intent')", (turn.id,)
        ).get:
            return
        commit = step(turn.id, *tools, content="hm", rejected="no such tool" if wrong else None)
        with job(self.db):
            steps.plan(self.db, commit, CLASSES, self.epoch, self.now)

    @precondition(lambda self: any(map(self.waiting, self.open_turns())))
    @rule(number=chance, happens=st.booleans())
    def a_tool_is_dispatched(self, number: int, *, happens: bool) -> None:
        """T4 and, unless death comes first, the effect."""
        calls = [call for turn in self.open_turns() for call in self.waiting(turn)]
        call = calls[number % len(calls)]
        if call.side_effect is SideEffect.LOCAL_TX:
            with job(self.db):
                steps.finish_local(
                    self.db, call, lambda _: result_of(call, ok=happens), self.epoch, self.now
                )
            self.effects[call.side_effect, call.idem_key] += 1
            return
        with job(self.db):
            steps.mark_intent(self.db, call.turn_id, call.seq, self.epoch, self.now)
        self.running[call.turn_id, call.seq] = call
        if happens:
            self.effects[call.side_effect, call.idem_key] += 1

    @precondition(lambda self: self.running)
    @rule(number=chance, ok=st.booleans())
    def a_tool_answers(self, number: int, *, ok: bool) -> None:
        """T5, also for a turn that has ended."""
        key = sorted(self.running)[number % len(self.running)]
        call = self.running.pop(key)
        row = steps.find_call(self.db, *key)
        assert row is not None
        if row.state == "intent":
            with job(self.db):
                steps.finish(self.db, call, result_of(call, ok=ok), self.now)
        else:
            with pytest.raises(FencedError), job(self.db):
                steps.finish(self.db, call, result_of(call, ok=ok), self.now)

    @precondition(lambda self: self.open_turns())
    @rule(number=chance, parts=st.integers(1, 3), mode=st.sampled_from(["edit", "direct"]))
    def a_turn_replies(self, number: int, parts: int, mode: str) -> None:
        """T6, whatever its calls do."""
        turn = self.pick(number)
        with job(self.db):
            texts = [OutboxPart(f"{turn.id} part {part}") for part in range(parts)]
            turns.end_with_reply(self.db, turn, texts, mode, DONE, self.now)

    # --- deaths ------------------------------------------------------------------------------

    @precondition(lambda self: self.open_turns())
    @rule(number=chance)
    def a_worker_dies(self, number: int) -> None:
        """The tools that it asked for go on; the third death buries the message."""
        turn = self.pick(number)
        with job(self.db):
            deaths = turns.count_process_death(self.db, turn.id)
            if deaths >= MAX_DEATHS:
                turns.end_as_dead_letter(self.db, turn, "signal 11", "I gave it up.", self.now)
        if deaths < MAX_DEATHS:
            self.take_over(turn)

    @rule(pause=st.sampled_from([1, 3_600_000, -3_600_000, 31_536_000_000]))
    def the_supervisor_dies(self, pause: int) -> None:
        """Everything that it had in hand is gone; two recoveries are the same (invariant 20).

        The clock goes on meanwhile, or back.
        """
        self.now = max(0, self.now + pause)
        for turn in self.open_turns():
            calls = [call for (owner, _), call in self.running.items() if owner == turn.id]
            self.stale.append((turn, calls[0] if calls else None))
        with closing(apsw.Connection(":memory:")) as copy:
            with copy.backup("main", self.db, "main") as backup:
                backup.step()
            self.start()
            with copy:
                turns.boot(copy, self.now)
                for turn in self.open_turns():
                    turns.load_stored_turn(copy, turn.id, frozenset(), 50, self.now)
            assert rows(copy) == rows(self.db)

    @precondition(lambda self: self.stale)
    @rule(number=chance)
    def a_dead_process_writes_late(self, number: int) -> None:
        """An old epoch changes nothing (invariant 14)."""
        turn, call = self.stale[number % len(self.stale)]
        before = rows(self.db)
        with pytest.raises(FencedError), job(self.db):
            steps.plan(self.db, step(turn.id, "mail"), CLASSES, turn.epoch, self.now)
        with pytest.raises(FencedError), job(self.db):
            turns.end_with_reply(self.db, turn, [OutboxPart("late")], "direct", DONE, self.now)
        with pytest.raises(FencedError), job(self.db):
            turns.end_as_dead_letter(self.db, turn, "late", "late", self.now)
        if call is not None:
            with pytest.raises(FencedError), job(self.db):
                steps.finish(self.db, call, result_of(call, ok=True), self.now)
        assert rows(self.db) == before
