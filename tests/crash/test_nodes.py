"""Several daemons on one journal, among faults of machines, network and server."""

from pathlib import Path

import pytest
from crash.mutants import ROOT, Mutant, planted
from fakes.postgresql import needs_programs

from orchestrator.extensions.selftest.nodes.node_trial import NodeTrial, TrialResult

pytestmark = [pytest.mark.process, pytest.mark.long, needs_programs]
MESSAGES, SLEEP = 16, 6.0
PATIENCE = 20.0  # seconds for a bug to show that a node does not do what takes four
SESSION = "extensions/postgresql/writing_session.py"
# What keeps daemons apart, left out; the faults that show it; and the checks of which one finds it.
NODE_MUTANTS = (
    Mutant(
        "a daemon works without the lock",
        "one at a time",
        "extensions/postgresql/pg_schema.py",
        'TRY_LOCK = f"SELECT pg_try_advisory_lock({LOCK})"',
        'TRY_LOCK = "SELECT true"',
        ("kill",),
    ),
    Mutant(
        "the server keeps a session that is silent",
        "settled",
        SESSION,
        "    def _keep_alive(self, db: PostgresConnection) -> None:\n",
        "    def _keep_alive(self, db: PostgresConnection) -> None:\n"
        "        self.holder = db.execute(HOLDER).get\n"
        "        return\n",
        ("freeze",),
    ),
    Mutant(
        "a node takes groups back although others have worked for them",
        "fence",
        "extensions/postgresql/group_locks.py",
        "if group in locked and now[group] == epoch)",
        "if group in locked)",
        ("all-retake",),
    ),
    Mutant(
        "a node writes by the sessions of a pool",
        "guard",
        "extensions/postgresql/pg_storage.py",
        "                self._commit_once(self._session.ensure_session(), group)\n",
        "                held, number = self._session.ensure_session(), next(self._numbers)\n"
        "                other = PostgresConnection(self._session._server.url)\n"
        "                self._commit_once(other if number % 8 == 5 else held, group)\n"
        "                other.close()\n",
        ("all-kill",),
    ),
    Mutant(
        "each node receives the messages of a bot",
        "two pollers",
        "extensions/postgresql/nodes/placer.py",
        "        return account in self._held\n",
        "        return True\n",
        ("all-kill",),
    ),
    Mutant(
        "a daemon that lost its session takes no notice of the one that has the lock",
        "fence",
        SESSION,
        "        if not locked or not ended or (lost and not self.shares):\n",
        "        if locked is None:\n",
        ("freeze",),
    ),
)


@pytest.mark.thorough(part="nodes")
@pytest.mark.parametrize("fault", ["kill", "freeze", "session", "failover"])
async def test_nodes_that_stand_by_lose_and_repeat_nothing(fault: str, tmp_path: Path) -> None:
    """Each message is answered once and in order, and no effect happens twice unmarked."""
    trial = NodeTrial(tmp_path / "nodes", 3, MESSAGES, SLEEP)
    _require_all_done(await trial.run(fault, lambda _: None))


@pytest.mark.thorough(part="sharing")
@pytest.mark.parametrize(
    "fault",
    [
        *("all-kill", "all-freeze", "all-upgrade", "all-failover", "all-drain", "all-retake"),
        *("all-lack", "all-budget"),
    ],
)
async def test_nodes_that_all_work_lose_and_repeat_nothing(fault: str, tmp_path: Path) -> None:
    """As those that stand by."""
    trial = NodeTrial(tmp_path / "nodes", 3, MESSAGES, SLEEP)
    _require_all_done(await trial.run(fault, lambda _: None))


def _require_all_done(result: TrialResult) -> None:
    assert result.violations == []
    assert result.messages >= MESSAGES
    assert len(result.takeovers) >= 1


def test_what_keeps_daemons_apart_is_where_it_is_left_out() -> None:
    """A change to the code that a bug replaces has to adapt the bug."""
    for mutant in NODE_MUTANTS:
        source = (ROOT / "orchestrator" / mutant.file).read_text("utf-8")
        assert source.count(mutant.before) == 1, mutant.name


@pytest.mark.thorough(part="fences")
@pytest.mark.parametrize("mutant", NODE_MUTANTS, ids=lambda mutant: mutant.name)
async def test_nodes_that_are_not_kept_apart_are_found(mutant: Mutant, tmp_path: Path) -> None:
    """The self-test sees lock, lease and fence."""
    (fault,) = mutant.histories
    environ = {"PYTHONPATH": str(planted(mutant, tmp_path / "product"))}
    trial = NodeTrial(tmp_path / "nodes", 3, MESSAGES, SLEEP, environ, PATIENCE)
    result = await trial.run(fault, lambda _: None)
    assert mutant.found_by in {violation.check for violation in result.violations}
