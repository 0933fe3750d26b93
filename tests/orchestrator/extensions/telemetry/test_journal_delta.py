"""Looks at the journal: each sees what is new, and nothing twice."""

from pathlib import Path

from fakes.ended_turn import began, called, delivered, lived, replied
from fakes.journal import address_of, booted, job

from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.telemetry import journal_delta
from orchestrator.extensions.telemetry.journal_delta import JournalDelta, JournalPlace
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import turns, usage
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.messages import Usage

NOW = 9_000_000_000_000  # after all that the triggers of the journal date
OLD = 10  # of model calls, which tests date


class Looking:
    """Looks from place to place."""

    def __init__(self, folder: Path, db: Database) -> None:
        self.path = address_of(folder)
        self.place: JournalPlace = journal_delta.find_journal_end(db, NOW)

    def on(self, now: int = NOW) -> JournalDelta:
        """Look once more."""
        found = journal_delta.load_delta(self.path, self.place, now)
        self.place = found.place
        return found

    def calls(self, now: int = OLD) -> list[tuple[str, int]]:
        """Outcome and prompt tokens of the calls that are new."""
        return [(one.outcome, one.prompt) for one in self.on(now).calls.tallies]

    def turns(self) -> int:
        """How many turns have ended since."""
        return sum(one.durations.times for one in self.on().turns)


def test_what_was_there_before_is_not_counted(tmp_path: Path) -> None:
    """And what is new, once."""
    with booted(tmp_path) as db:
        lived(db, 1)
        looking = Looking(tmp_path, db)
        assert looking.turns() == 0
        lived(db, 2)
        found = looking.on()
        assert [one.messages for one in found.messages] == [1]
        assert [(one.kind, one.steps) for one in found.steps] == [("model", 1), ("tool", 1)]
        assert [(one.outcome, one.usd) for one in found.calls.tallies] == [("answered", 0.25)]
        assert not found.more
        again = looking.on()
        assert (again.messages, again.turns, again.steps, again.calls.tallies) == ([], [], [], [])


def test_turn_that_was_seen_open_counts_when_it_ends(tmp_path: Path) -> None:
    """However often one looks meanwhile."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        turn = began(db, 1)
        assert looking.turns() == 0
        called(db, turn)
        assert (looking.turns(), looking.turns()) == (0, 0)
        replied(db, turn)
        assert (looking.turns(), looking.turns()) == (1, 0)
        delivered(db)
        assert looking.turns() == 0


def test_call_that_was_seen_open_counts_when_it_is_settled(tmp_path: Path) -> None:
    """Also if later calls were settled before."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        slow, quick = began(db, 1), began(db, 2)
        with job(db):
            usage.reserve_amount(db, "work", slow.id, "m", Amount(1), 3)
            usage.reserve_amount(db, "work", quick.id, "m", Amount(1), 4)
        assert looking.calls() == []
        with job(db):
            usage.settle_call(db, "work", quick.id, "m", Usage(prompt=2), None, 5)
        assert looking.calls() == [("answered", 2)]
        assert looking.calls() == []
        with job(db):
            usage.settle_call(db, "work", slow.id, "m", Usage(prompt=1), None, 6)
        assert looking.calls() == [("answered", 1)]
        assert looking.calls() == []


def test_number_of_a_call_that_was_not_made_is_given_again(tmp_path: Path) -> None:
    """The call that has it then counts, whether or not one looked in between."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        turn = began(db, 1)
        for between in (True, False):
            with job(db):
                usage.reserve_amount(db, "work", turn.id, "m", Amount(1), 3)
            assert looking.calls() == []
            with job(db):
                usage.release_reservation(db, turn.id)
            if between:
                assert looking.calls() == []
            with job(db):
                usage.record_usage(db, "work", turn.id, "m", Usage(prompt=3), None, 4)
            assert looking.calls() == [("answered", 3)]


def test_call_without_an_answer_is_lost_after_a_while(tmp_path: Path) -> None:
    """If a broker tells of it before, it was answered."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        died, found = began(db, 1), began(db, 2)
        with job(db):
            for turn in (died, found):
                usage.reserve_amount(db, "work", turn.id, "m", Amount(1), 3)
                usage.mark_reservation_lost(db, turn.id)
        assert looking.calls() == []
        with job(db):
            usage.delete_lost_reservation(db, found.id, 0)
            usage.record_usage(db, "work", found.id, "m", Usage(prompt=8), None, 4)
        assert looking.calls() == [("answered", 8)]
        assert looking.calls(4 + journal_delta.LOST_AFTER_MS) == [("lost", 0)]
        assert looking.calls(9 + journal_delta.LOST_AFTER_MS) == []


def test_erasure_takes_no_later_turn_along(tmp_path: Path) -> None:
    """The rows of the newest turns are gone, and new ones get their numbers."""
    with booted(tmp_path) as db:
        lived(db, 1)
        looking = Looking(tmp_path, db)
        for number in (2, 3):
            lived(db, number)
        assert looking.turns() == 2
        place = looking.place
        with job(db):
            erasure.forget(db, Subject(channel="telegram", chat="zebra3"), NOW)
            erasure.forget(db, Subject(channel="telegram", chat="zebra2"), NOW)
        db.execute("UPDATE transition SET at = 5")  # what was read was read long ago
        looking.place = place._replace(events=place.events._replace(at=4, read_at=6))
        for number in (4, 5, 6):
            lived(db, number)
        assert (looking.turns(), looking.turns()) == (3, 0)


def test_erasure_of_an_agent_takes_no_later_call_along(tmp_path: Path) -> None:
    """The calls of another one that get the numbers of its calls."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        with job(db):
            for agent in ("stays", "goes", "goes"):
                usage.record_usage(db, agent, None, "m", Usage(prompt=1), None, OLD)
        assert looking.calls(OLD) == [("answered", 2), ("answered", 1)]
        with job(db):
            erasure.forget(db, Subject(agent="goes"), OLD)
            for _ in range(4):
                usage.record_usage(db, "stays", None, "m", Usage(prompt=5), None, OLD + 1)
        assert looking.calls(OLD + 1) == [("answered", 20)]
        assert looking.calls(OLD + 1) == []


def test_long_way_is_gone_in_parts(tmp_path: Path) -> None:
    """Together they are the whole."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        with job(db):
            db.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                " INSERT INTO transition(at, kind, number, state) SELECT 1, 'turn', 0, 'x' FROM n",
                (journal_delta.MAX_ROWS,),
            )
        lived(db, 1)
        first, second = looking.on(), looking.on()
        assert (first.more, first.turns, second.more) == (True, [], False)
        assert [one.durations.times for one in second.turns] == [1]


def test_empty_journal_has_nothing_and_later_something(tmp_path: Path) -> None:
    """A look at it does not go astray."""
    with booted(tmp_path) as db:
        looking = Looking(tmp_path, db)
        assert (looking.turns(), looking.on().more) == (0, False)
        turn = began(db, 1)
        with job(db):
            turns.end_as_dead_letter(db, turn, "died thrice", "Sorry", 10)
        assert [(one.agent_id, one.stop_reason) for one in looking.on().turns] == [("work", "dead")]
