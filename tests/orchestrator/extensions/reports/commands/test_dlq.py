"""``orchestrator dlq``: with a daemon through it, without one in the journal."""

import fcntl
import json
from pathlib import Path

import pytest
from fakes.control_server import Answer, ask, command, serving
from fakes.golden import restore_in
from fakes.journal import connection_in, reading_in
from fakes.postgresql import sqlite_only

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from thinker.protocol.peer import FAILED, RpcError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one dead letter, number 10, of a turn that was given up."""
    restore_in(tmp_path)
    connection_in(tmp_path).close()
    return tmp_path


def row(home: Path) -> tuple[object, ...]:
    """Return the stored message."""
    with reading_in(home) as db:
        query = "SELECT state, claims, turn_id, error FROM inbox WHERE id = 10"
        found = db.execute(query).fetchone()
    assert found is not None
    return tuple(found)


def audited(home: Path) -> str:
    """The newest decision."""
    with reading_in(home) as db:
        return str(db.execute("SELECT act FROM audit ORDER BY id DESC LIMIT 1").get)


def test_dead_letters_are_listed_and_shown(home: Path) -> None:
    """With why they are dead and what they say."""
    listed = " ".join(command(home, "dlq", "list").stdout.split())
    assert "10 2026-01-01 00:00 telegram:110 work 3 signal 11" in listed
    (letter,) = json.loads(command(home, "dlq", "list", "--json").stdout)["letters"]
    assert (letter["id"], letter["chatId"], letter["turnId"]) == (10, "110", "turn-dead")
    shown = command(home, "dlq", "show", "10").stdout
    assert "Ann (110)" in shown
    assert "orchestrator trace 10\n\nquestion 10\n" in shown
    assert json.loads(command(home, "dlq", "show", "10", "--json").stdout) == letter


def test_retried_letter_is_new_again_and_the_decision_is_audited(home: Path) -> None:
    """Its deaths are forgotten, its first turn is not."""
    done = command(home, "dlq", "retry", "10")
    assert (done.exit_code, done.stdout) == (0, "message 10 is queued again\n")
    assert row(home) == ("new", 0, None, None)
    assert audited(home) == "dead letter put back"
    assert command(home, "dlq", "list").stdout == "no messages were given up\n"
    assert "urn-dead" in command(home, "trace", "10").stdout


def test_dropped_letter_stays_in_its_trace(home: Path) -> None:
    """With who dropped it."""
    assert command(home, "dlq", "drop", "10").exit_code == 0
    assert row(home) == ("cancelled", 3, "turn-dead", "dropped by the operator")
    assert audited(home) == "dead letter dropped"
    assert "dropped by the operator" in command(home, "trace", "10").stdout


def test_message_that_is_not_dead_is_left_alone(home: Path) -> None:
    """Each command says where to look."""
    for verb in ("show", "retry", "drop"):
        refused = command(home, "dlq", verb, "1")
        assert refused.exit_code == ExitCode.USAGE
        assert refused.stderr.startswith("message 1 is no")
    assert command(home, "dlq", "retry", str(2**63)).exit_code != 0
    assert command(home, "dlq", "retry", "--", "-1").exit_code != 0


async def test_running_daemon_makes_the_change(home: Path) -> None:
    """It has the journal, and has to wake its dispatcher."""
    refusal = RpcError(FAILED, "no such letter")
    answers: dict[str, Answer] = {protocol.DLQ_RETRY: Ack(), protocol.DLQ_DROP: refusal}
    async with serving(home, answers) as server:
        retried = await ask(home, "dlq", "retry", "10")
        dropped = await ask(home, "dlq", "drop", "11")
    assert retried.exit_code == 0
    assert server.params(protocol.DLQ_RETRY) == [{"id": 10}]
    assert (dropped.exit_code, dropped.stderr) == (1, "no such letter\n")
    assert row(home)[0] == "dead"


def test_journal_of_a_daemon_that_starts_or_stops_is_not_touched(home: Path) -> None:
    """It holds the lock and has no socket."""
    with (home / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refused = command(home, "dlq", "retry", "10")
    assert refused.exit_code == ExitCode.ALREADY_RUNNING
    assert row(home)[0] == "dead"


@sqlite_only
def test_without_a_journal_there_is_nothing_to_decide(tmp_path: Path) -> None:
    """And none is made."""
    for arguments in (["list"], ["retry", "1"]):
        assert command(tmp_path, "dlq", *arguments).exit_code == ExitCode.IO
    assert list(tmp_path.iterdir()) == []
