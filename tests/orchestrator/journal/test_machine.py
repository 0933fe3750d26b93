"""The turn machine under every order of events that hypothesis can think of.

The rules are what supervisors, workers, platforms and operators do to the journal, with deaths
between any two transactions; after each the invariants of reference/reliability.md §4.8 hold.
"""

from collections import Counter, defaultdict

import pytest
from fakes.journal import job
from fakes.turn_machine import TurnMachine, chance
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from orchestrator.channel_api import ReplyPart
from orchestrator.errors import OrchestratorError
from orchestrator.journal.inspect import invariants, recent_turns, trace
from orchestrator.journal.turns import (
    cancellations,
    deadletters,
    inbox,
    internal_messages,
    outbox,
    sessions,
    turns,
)
from orchestrator.journal.turns.outbox import OutboxPart, OutboxRow
from thinker.protocol.messages import SideEffect

ENDS = ("ok", "ok", "ok", "not sent", "unknown", "gone", "blocked", "")
WHOLE = ("ok", "unknown", "")  # ends after which a chat shows what was sent in one call
EDITED = ("ok",)  # and what took the place of a placeholder
ONCE = (SideEffect.LOCAL_TX, SideEffect.NON_IDEMPOTENT)


class Journal(TurnMachine):
    """Delivery, the operator, and what must hold."""

    def __init__(self) -> None:
        self.visible: Counter[int] = Counter()  # times that a message was sent in one call
        # Turns and their parts as chats saw them.
        self.order: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        # Rows of each chat in the order of their first messages.
        self.places: defaultdict[str, list[int]] = defaultdict(list)
        self.ended: dict[tuple[object, ...], object] = {}  # results of finished steps
        super().__init__()

    # --- delivery ----------------------------------------------------------------------------

    @precondition(lambda self: self.open_turns())
    @rule(number=chance)
    def an_answer_is_streamed(self, number: int) -> None:
        """A preview, which is sent in its turn."""
        turn = self.pick(number)
        with job(self.db):
            address = inbox.list_opening_messages(self.db, turn.id)[0].build_address()
            outbox.start_preview(self.db, turn.id, address, OutboxPart("I think …"), self.now)

    @precondition(lambda self: self.due())
    @rule(ends=st.lists(st.tuples(chance, st.sampled_from(ENDS)), min_size=1, max_size=6))
    def messages_are_sent(self, ends: list[tuple[int, str]]) -> None:
        """T7, the platform, T8; the empty end is one that this process never hears of."""
        for number, end in ends:
            if due := self.due():
                self.send(due[number % len(due)], end)

    def due(self) -> list[OutboxRow]:
        """What this process may send now."""
        return [row for row in outbox.list_due_rows(self.db, "telegram") if row.id not in self.busy]

    def send(self, row: OutboxRow, end: str) -> None:
        """One row, once."""
        placeholder = not (row.is_whole or row.lost or row.ph_id)
        seen = end in (WHOLE if row.is_whole else EDITED)
        if seen and row.id not in self.places[row.chat_key]:
            self.places[row.chat_key].append(row.id)
        if not row.lost:
            with job(self.db):
                state = "ph_sending" if placeholder else "sending"
                outbox.mark_sending(self.db, row.id, state, self.now)
        if not placeholder and seen:
            self.visible[row.id] += row.is_whole
            answer = int((row.turn_id or "t0")[1:]), row.part
            if row.mode == "direct" or answer not in self.order[row.chat_key]:
                self.order[row.chat_key].append(answer)  # a repeated edit has its place already
        if not end:
            self.busy.add(row.id)
            return
        with job(self.db):
            self.settle(row, end, placeholder=placeholder)

    def settle(self, row: OutboxRow, end: str, *, placeholder: bool) -> None:
        """What `Delivery` writes when a platform call has ended."""
        if end == "ok" and placeholder:
            outbox.mark_placeholder_sent(self.db, row.id, f"p{row.id}")
        elif end == "ok":
            outbox.mark_delivered(self.db, row, row.ph_id or f"m{row.id}", self.now)
        elif end == "blocked":
            outbox.mark_refused(self.db, row.id, end, self.now)
        elif row.lost or (end == "unknown" and row.is_whole and row.mode == "edit"):
            outbox.delay_search(self.db, row.id, end, self.now)
        elif end == "unknown" and row.mode == "direct":
            outbox.end_row(self.db, row.id, "unknown", end, self.now)
        elif end == "gone":
            outbox.forget_placeholder(self.db, row.id)
        else:
            outbox.requeue(self.db, row.id, end, self.now)

    # --- people who do not wait --------------------------------------------------------------

    @precondition(lambda self: self.open_turns())
    @rule(number=chance)
    def what_was_said_enters_a_turn(self, number: int) -> None:
        """Between two steps; before the first there is nothing to steer."""
        turn = self.pick(number)
        with job(self.db):
            begun = bool(sessions.load_transcript(self.db, turn.id).steps)
            entered = (
                internal_messages.enter_new_messages(self.db, turn, lambda _: True) if begun else ()
            )
            told = [
                text
                for step in sessions.load_transcript(self.db, turn.id).steps
                for text in step.entered
            ]
        assert inbox.find_oldest_new(self.db, turn.chat_key) is None or not begun
        assert tuple(told[len(told) - len(entered) :]) == entered

    @precondition(lambda self: self.open_turns())
    @rule(number=chance, shown=st.booleans())
    def a_person_stops_a_turn(self, number: int, *, shown: bool) -> None:
        """The daemon may die before it closes the preview."""
        turn = self.pick(number)
        with job(self.db):
            assert cancellations.cancel_turn(self.db, turn.chat_key, "stopped", self.now) == turn.id
        if shown:
            with job(self.db):
                turns.close_preview(self.db, turn.id, ReplyPart("I think\n\n(stopped)"))

    # --- the operator ------------------------------------------------------------------------

    @rule(number=chance, again=st.booleans())
    def an_operator_decides(self, number: int, *, again: bool) -> None:
        """About a dead letter; about any other message there is nothing to decide."""
        change = deadletters.retry_dead_letter if again else deadletters.drop_dead_letter
        dead = [row.id for row in deadletters.list_dead_letters(self.db)]
        if dead:
            with job(self.db):
                change(self.db, dead[number % len(dead)], self.now)
        else:
            with pytest.raises(OrchestratorError), job(self.db):
                change(self.db, number, self.now)

    # --- what must hold ----------------------------------------------------------------------

    @invariant()
    def the_journal_keeps_its_promises(self) -> None:
        """What SQL can see."""
        assert invariants.check_invariants(self.db) == []

    @invariant()
    def the_world_sees_everything_once(self) -> None:
        """4, 6, 12 and 23; a keyed or pure tool may run again, with the same key."""
        assert [key for key, times in self.effects.items() if key[0] in ONCE and times > 1] == []
        assert [row for row, times in self.visible.items() if times > 1] == []
        assert [seen for seen in self.order.values() if seen != sorted(seen)] == []
        assert [rows for rows in self.places.values() if rows != sorted(rows)] == []

    @invariant()
    def what_has_ended_stays(self) -> None:
        """5 and 15: the same results, and every message that ever came."""
        for turn, seq, result in self.db.execute(
            "SELECT turn_id, seq, result FROM step WHERE state IN('done','failed','unknown')"
        ):
            assert self.ended.setdefault((turn, seq), result) == result
        assert sum(recent_turns.count_messages_by_state(self.db).values()) == len(self.updates)

    @invariant()
    def every_message_can_be_traced(self) -> None:
        """To the state that it is in."""
        for (number,) in self.db.execute("SELECT max(id) FROM inbox WHERE id > 0").fetchall():
            if number is not None:
                assert trace.load_trace(self.db, str(number)).events


TestJournal = Journal.TestCase
TestJournal.settings = settings(stateful_step_count=30)
