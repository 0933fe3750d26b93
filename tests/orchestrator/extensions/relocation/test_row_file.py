"""An agent's rows in another journal: all of them, under ids that are free there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fakes.journal import job, opened
from fakes.lived import Life
from fakes.postgresql import POSTGRESQL

from orchestrator.extensions.relocation import row_file
from orchestrator.extensions.relocation.agent_tables import (
    DERIVED,
    OF_AGENT,
    OF_HOME,
    SHARED,
    TABLES,
    AgentRows,
    list_busy,
)
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import turns

ZEBRA, OTTER = "zebra", "otter"
CHAT, OTHER = "471147114711", "581258125812"
NAMES = (
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    if POSTGRESQL
    else "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
)
OF_THE_DATABASE = "sqlite_ said_words fact_words fact_grams config_ schema_version last_commit"


@contextmanager
def two_journals(folder: Path) -> Iterator[tuple[Connection, Connection]]:
    """Two journals with an agent each, `work` and `home`, whose ids are the same."""
    for name in ("here", "there"):
        (folder / name).mkdir()
    with opened(folder / "here") as here, opened(folder / "there") as there:
        for db, agent, chat, mark in ((here, "work", CHAT, ZEBRA), (there, "home", OTHER, OTTER)):
            with job(db):
                turns.boot(db, 0)
            Life(db, agent, chat, mark).live()
        yield here, there


def write(db: Database, path: Path) -> dict[str, row_file.TableDigest]:
    """Write what the agent `work` has to a file."""
    with job(db):
        return row_file.write_rows(path, AgentRows(db, "work"))


def test_every_table_is_the_agents_or_shared_or_the_homes(tmp_path: Path) -> None:
    """A new table must be sorted into one of the lists, or a move would forget it in silence."""
    with opened(tmp_path) as db:
        tables = {
            str(name)
            for (name,) in db.execute(NAMES)
            if not str(name).startswith(tuple(OF_THE_DATABASE.split()))
        }
    sorted_out = [*OF_AGENT, *SHARED, *DERIVED, *OF_HOME]
    assert sorted(sorted_out) == sorted(tables)
    assert TABLES.keys() == OF_AGENT.keys() | SHARED.keys()


def test_agent_is_busy_with_its_own_turns_and_messages_only(tmp_path: Path) -> None:
    """A turn that waits may leave; what another agent has under way does not hold it."""
    with two_journals(tmp_path) as (here, _), job(here):
        assert list_busy(here, "work", live=True) == []
        here.execute("UPDATE outbox SET state = 'queued'")
        unsent = here.execute("SELECT count(*) FROM outbox WHERE turn_id IS NOT NULL").get
        (told,) = list_busy(here, "work", live=False)
        assert told == f"{unsent} messages are not delivered"
        here.execute("UPDATE turn SET state = 'waiting' WHERE recipe = 'subagent'")
        assert list_busy(here, "work", live=True) == [told]
        here.execute("UPDATE turn SET state = 'running' WHERE recipe = 'subagent'")
        assert list_busy(here, "work", live=True) == ["1 turns are not at rest", told]
        assert list_busy(here, "work", live=False) == [told]
        assert list_busy(here, "home", live=True) == []


def test_all_rows_arrive_beside_those_of_another_agent(tmp_path: Path) -> None:
    """Every table has rows, each arrives once, and the target's own stay as they were."""
    with two_journals(tmp_path) as (here, there):
        with job(here):
            here.execute(
                "INSERT INTO call_verdict SELECT turn_id, seq, 1, 'operator', 9 FROM step LIMIT 1"
            )
        sent = write(here, tmp_path / "rows")
        assert set(TABLES) - set(sent) == set()
        with job(there):
            before = AgentRows(there, "home").count_rows()
            file = row_file.check_file(tmp_path / "rows")
            assert file.digests == sent
            shifts = row_file.store_rows(there, file, "work")
            assert shifts["message"] > 0
            assert AgentRows(there, "home").count_rows() == before
            arrived = AgentRows(there, "work").count_rows()
        assert arrived == {table: one.rows for table, one in sent.items()}
        assert invariants.check_invariants(there) == []
