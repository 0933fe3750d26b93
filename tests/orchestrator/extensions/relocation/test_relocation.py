"""An agent on its way between two homes: it works in one of them, whatever is interrupted."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from fakes.journal import receive, update
from fakes.lived import Life
from fakes.postgresql import POSTGRESQL, needs_server
from fakes.two_homes import HERE, THERE, TwoHomes, make_home

from orchestrator import failpoints
from orchestrator.channel_api import Attachment
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extensions.relocation import move_plan, row_file
from orchestrator.extensions.relocation.agent_tables import AgentRows
from orchestrator.failpoints import FailpointInjector
from orchestrator.journal.db.database import Connection
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import pauses, shown_texts
from orchestrator.spending.spending_rules import SpendingRules

STEPS = ("left", "expected", "placed", "sent", "departed")
DAY = 86_400_000
NEW = "SELECT count(*) FROM inbox WHERE state = 'new' AND text = 'for work'"


class Killed(BaseException):
    """The process is gone."""


class Killer(FailpointInjector):
    """Kills at the first passing of one failpoint."""

    def __init__(self, place: str) -> None:
        super().__init__({})
        self.armed, self._place = True, f"relocation:{place}"

    def reach(self, name: str) -> None:
        if name == self._place:
            raise Killed(name)


@pytest.fixture(autouse=True)
def _failpoints() -> Iterator[None]:
    """Each test leaves no failpoint."""
    yield
    failpoints.set_observer(FailpointInjector({}))


@pytest.fixture
def homes(tmp_path: Path) -> TwoHomes:
    """Two homes with a history, and a message that waits for the agent `work`."""
    found = TwoHomes(make_home(tmp_path / "here", HERE), make_home(tmp_path / "there", THERE))
    found.live()
    (tmp_path / "here" / "workspaces" / "work").mkdir(parents=True)
    (tmp_path / "here" / "workspaces" / "work" / "notes.txt").write_text("milk")
    found.change(found.here, _write_message)
    return found


def _write_message(db: Connection) -> None:
    receive(db, replace(update(900, "for work", "42"), channel="telegram"))


def _check_invariants(homes: TwoHomes) -> None:
    for home in (homes.here, homes.there):
        with home.read_journal() as db:
            assert invariants.check_invariants(db) == []


def test_agent_moves_with_history_files_and_waiting_messages(homes: TwoHomes) -> None:
    """It works at the new home, and is kept at the old one, where nothing can resume it."""
    plan = homes.plan()
    assert plan.refused == ()
    assert plan.waiting == 1
    digests = homes.journey().move(plan)
    assert {name: one.rows for name, one in digests.items()} == plan.rows
    assert (homes.works(homes.here), homes.works(homes.there)) == (False, True)
    assert homes.read(homes.there, NEW) == 1
    notes = homes.there.settings.home / "workspaces" / "work" / "notes.txt"
    assert notes.read_text() == "milk"
    bound = [one.place for one in homes.there.load_agents().bindings]
    assert bound == ["telegram:*", "console:office"]
    refused: list[str | None] = []
    rules = SpendingRules(homes.here.load_agents(), {}, lambda: 99, 0)
    homes.change(homes.here, lambda db: refused.append(rules.resume_agent(db, "work", "operator")))
    assert "moves between" in str(refused[0])
    assert not homes.works(homes.here)
    _check_invariants(homes)


@pytest.mark.parametrize("place", STEPS)
def test_killed_move_goes_on_with_the_next_run(homes: TwoHomes, place: str) -> None:
    """Never do both homes work, and no row or message is there twice."""
    plan = homes.plan()
    failpoints.set_observer(Killer(place))
    with pytest.raises(Killed):
        homes.journey().move(plan)
    assert not (homes.works(homes.here) and homes.works(homes.there))
    failpoints.set_observer(FailpointInjector({}))
    again = homes.plan()
    assert again.refused == ()
    homes.journey().move(again)
    assert (homes.works(homes.here), homes.works(homes.there)) == (False, True)
    assert homes.read(homes.there, NEW) == 1
    assert homes.journey().confirm() == 0
    _check_invariants(homes)


@pytest.mark.parametrize("place", STEPS)
def test_killed_move_can_be_undone(homes: TwoHomes, place: str) -> None:
    """The old home has its agent back, and the new one nothing of it; then it can move again."""
    before, file = homes.plan(), homes.there.agents_path.read_text()
    failpoints.set_observer(Killer(place))
    with pytest.raises(Killed):
        homes.journey().move(before)
    failpoints.set_observer(FailpointInjector({}))
    homes.journey().undo()
    assert homes.works(homes.here)
    assert homes.there.load_agents().find_agent("work") is None
    assert homes.there.agents_path.read_text() == file
    assert (
        homes.read(
            homes.there,
            "SELECT count(*) FROM message JOIN session"
            " ON session.id = session_id WHERE agent_id = 'work'",
        )
        == 0
    )
    assert homes.read(homes.there, NEW) == 0
    assert not (homes.there.settings.home / "workspaces" / "work").exists()
    assert not (homes.there.settings.home / "arrivals").exists()
    after = homes.plan()
    assert after.refused == ()
    assert after.rows.keys() == before.rows.keys()
    homes.journey().move(after)
    _check_invariants(homes)


@pytest.mark.parametrize("place", ["withdrawn", "cleared"])
def test_killed_undo_goes_on_with_the_next_one(homes: TwoHomes, place: str) -> None:
    """Until it is done the agent works nowhere."""
    homes.journey().move(homes.plan())
    failpoints.set_observer(Killer(place))
    with pytest.raises(Killed):
        homes.journey().undo()
    assert not homes.works(homes.here)
    failpoints.set_observer(FailpointInjector({}))
    homes.journey().undo()
    assert homes.works(homes.here)
    assert homes.there.load_agents().find_agent("work") is None


@pytest.mark.parametrize("place", ["", "forwarded", "removed"])
def test_late_message_follows_once(homes: TwoHomes, place: str) -> None:
    """What came to the old home after the move is answered at the new one, after all else."""
    homes.journey().move(homes.plan())
    homes.change(homes.here, lambda db: receive(db, update(901, "for work", "42")))
    failpoints.set_observer(Killer(place))
    if place:
        with pytest.raises(Killed):
            homes.journey().confirm()
        failpoints.set_observer(FailpointInjector({}))
    assert homes.journey().confirm() in (1, 0)
    assert homes.read(homes.there, NEW) == 2
    assert homes.read(homes.here, NEW) == 0
    assert homes.here.load_agents().find_agent("work") is None
    assert [one.place for one in homes.here.load_agents().bindings] == ["console:*"]
    assert homes.journey().find_move() is None
    _check_invariants(homes)


def test_late_message_brings_its_files(homes: TwoHomes) -> None:
    """One was downloaded here already, so the new home does not try to."""
    homes.journey().move(homes.plan())
    picture = Attachment("file-9", "photo")

    def write(db: Connection) -> None:
        receive(db, replace(update(901, "for work", "42"), attachments=(picture,)))
        late = int(db.execute("SELECT max(id) FROM inbox").get)
        db.execute("INSERT INTO media VALUES('d1', 'image/png', ?, 9)", (b"png",))
        kept = "UPDATE attachment SET state = 'kept', media_id = 'd1' WHERE inbox_id = ?"
        db.execute(kept, (late,))

    homes.change(homes.here, write)
    assert homes.journey().confirm() == 1
    files = "SELECT count(*) FROM attachment JOIN media ON id = media_id WHERE id = 'd1'"
    assert homes.read(homes.there, files) == 1
    _check_invariants(homes)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE turn SET started_at = 1 << 50 WHERE agent_id = 'work'",
        "UPDATE turn SET ended_at = 1 << 50 WHERE agent_id = 'work'",
        "UPDATE step SET t_plan = 1 << 50",
        "UPDATE step SET t_intent = 1 << 50",
        "UPDATE step SET t_end = 1 << 50",
        "UPDATE model_call SET at = 1 << 50 WHERE agent_id = 'work'",
    ],
)
def test_agent_that_has_worked_elsewhere_is_not_taken_back(homes: TwoHomes, change: str) -> None:
    """A turn was begun or went on there: its old home would answer or call a tool again."""
    homes.journey().move(homes.plan())
    homes.change(homes.there, lambda db: db.execute(change))
    with pytest.raises(OrchestratorError, match="keep the move with --confirm"):
        homes.journey().undo()
    assert homes.works(homes.there)


def test_pipe_in_a_workspace_stays_and_is_named(homes: TwoHomes) -> None:
    """All else is copied: a program's pipe or socket has no content to move."""
    folder = homes.here.settings.home / "workspaces" / "work"
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("notes.txt")
    plan = homes.plan()
    assert plan.file_count == 2
    assert [one for one in plan.stays if one.startswith("workspaces/work/pipe is neither")]
    homes.journey().move(plan)
    there = homes.there.settings.home / "workspaces" / "work"
    assert sorted(one.name for one in there.iterdir()) == ["link", "notes.txt"]
    assert (there / "link").readlink() == Path("notes.txt")


def test_busy_agent_works_on_and_the_reason_is_told(homes: TwoHomes) -> None:
    """A reply that is not delivered yet would be sent by both homes, or by none."""
    homes.change(
        homes.here,
        lambda db: db.execute("UPDATE outbox SET state = 'queued' WHERE turn_id IS NOT NULL"),
    )
    with pytest.raises(OrchestratorError, match=r"messages are not delivered\. It works on"):
        homes.journey().move(homes.plan())
    assert homes.works(homes.here)


@pytest.mark.parametrize("kind", ["operator", "anomaly"])
def test_agent_that_a_person_must_resume_is_paused_after_all(homes: TwoHomes, kind: str) -> None:
    """A move, an undo or one that waits too long lifts no such pause."""
    homes.change(
        homes.here, lambda db: pauses.begin_pause(db, "work", kind, "too much", "budgets", 1)
    )
    homes.journey().move(homes.plan())
    assert not homes.works(homes.there)
    homes.journey().undo()
    assert not homes.works(homes.here)
    why = "SELECT reason FROM pause WHERE agent_id = 'work' AND ended_at IS NULL"
    assert homes.read(homes.here, why) == "too much"
    homes.change(
        homes.here,
        lambda db: db.execute("UPDATE outbox SET state = 'queued' WHERE turn_id IS NOT NULL"),
    )
    with pytest.raises(OrchestratorError, match="It stays paused"):
        homes.journey().move(homes.plan())
    assert homes.read(homes.here, why) == "too much"


def test_home_is_made_where_there_is_none(homes: TwoHomes, tmp_path: Path) -> None:
    """A folder without an agents.json gets one with this agent alone; undoing takes it away."""
    homes.there = make_home(tmp_path / "new", None)
    homes.journey().move(homes.plan())
    assert [one.agent_id for one in homes.there.load_agents().agents] == ["work"]
    assert homes.works(homes.there)
    homes.journey().undo()
    assert not homes.there.agents_path.exists()
    assert homes.works(homes.here)


def test_fact_is_forgotten_where_another_agent_moved_in(homes: TwoHomes) -> None:
    """The older messages that came with the newest ids hide none of what the target had."""
    body = orjson.dumps(
        {"role": "tool", "call_id": "c", "name": "t", "content": "Likes stew with rice"}
    )
    old = "INSERT INTO message(session_id, turn_id, body, at) SELECT id, 't', ?, ? FROM session"
    homes.change(homes.there, lambda db: db.execute("UPDATE message SET at = ?", (9 * DAY,)))
    homes.change(homes.there, lambda db: db.execute(old, (body.decode(), 9 * DAY)))
    homes.change(homes.here, lambda db: db.executemany(old, [("{}", 5)] * 20))
    homes.journey().move(homes.plan())
    homes.change(
        homes.there,
        lambda db: shown_texts.blank_shown_texts(
            db, "other", ["Likes stew with rice"], since=8 * DAY
        ),
    )
    assert homes.read(homes.there, "SELECT count(*) FROM message WHERE body LIKE '%stew%'") == 0


@needs_server
@pytest.mark.parametrize("stored", [(False, True), (True, False), (True, True)])
def test_agent_moves_between_files_and_databases(tmp_path: Path, stored: tuple[bool, bool]) -> None:
    """All rows arrive, the way is confirmed, and what comes next has an id of its own."""
    here, there = stored
    homes = TwoHomes(
        make_home(tmp_path / "here", HERE, stored=here),
        make_home(tmp_path / "there", THERE, stored=there),
    )
    homes.live()
    homes.change(homes.here, _write_message)
    plan = homes.plan()
    digests = homes.journey().move(plan)
    assert {name: one.rows for name, one in digests.items()} == plan.rows
    homes.change(homes.here, lambda db: receive(db, update(901, "for work", "42")))
    assert homes.journey().confirm() == 1
    assert homes.read(homes.there, NEW) == 2
    _check_invariants(homes)


def test_damaged_file_of_rows_stores_nothing(
    homes: TwoHomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that was changed on the way ends the step, and the next run sends all of them anew."""
    failpoints.set_observer(Killer("placed"))
    with pytest.raises(Killed):
        homes.journey().move(homes.plan())
    failpoints.set_observer(FailpointInjector({}))
    write = row_file.write_rows

    def write_and_damage(path: Path, rows: AgentRows) -> object:
        digests = write(path, rows)
        path.write_bytes(path.read_bytes().replace(b"zebra", b"zobra", 1))
        return digests

    monkeypatch.setattr(row_file, "write_rows", write_and_damage)
    with pytest.raises(JournalError, match="damaged"):
        homes.journey().move(homes.plan())
    monkeypatch.setattr(row_file, "write_rows", write)
    assert homes.read(homes.there, "SELECT count(*) FROM turn WHERE agent_id = 'work'") == 0
    homes.journey().move(homes.plan())
    assert homes.works(homes.there)


def test_agent_comes_back_from_a_home_that_is_out_of_reach(homes: TwoHomes, tmp_path: Path) -> None:
    """What that home has of it stays paused, and is replaced when the agent moves there again."""
    failpoints.set_observer(Killer("sent"))
    with pytest.raises(Killed):
        homes.journey().move(homes.plan())
    failpoints.set_observer(FailpointInjector({}))
    there = homes.there
    broken = make_home(tmp_path / "gone", None, stored=False)
    broken.settings.paths.journal.write_text("not a journal")
    homes.there = broken
    homes.journey().undo()
    assert homes.works(homes.here)
    assert "out of reach" in homes.told[-1] or "keeps what it has" in homes.told[-1]
    assert not homes.works(there)
    homes.there = there
    homes.journey().move(move_plan.make_plan(homes.here, there, "work", arriving=True))
    assert (homes.works(homes.here), homes.works(there)) == (False, True)
    assert homes.read(there, NEW) == 1
    _check_invariants(homes)


def test_data_of_an_earlier_agent_is_not_mixed_with_the_new_ones(homes: TwoHomes) -> None:
    """Nothing is begun: the agent works on."""
    homes.change(homes.there, lambda db: Life(db, "work", "99", "weasel").live())
    plan = homes.plan()
    if not POSTGRESQL:
        assert "has data of an earlier agent 'work'" in plan.refused[0]
    with pytest.raises(OrchestratorError, match="orchestrator forget agent work"):
        homes.journey().move(plan)
    assert homes.works(homes.here)
