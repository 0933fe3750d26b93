"""Courses of several nodes in virtual time: they hold what is promised, and find seeded bugs."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from crash.mutants import ROOT, Mutant, planted

from orchestrator.extensions.selftest.simulator.seeds import SEVERAL_NODES, SeedReport

pytestmark = pytest.mark.process
SESSION = "extensions/postgresql/writing_session.py"
SEEDS = 30  # as many as are tried for a bug
LIVES_MUTANTS = (
    Mutant(
        "the writer does not look whose rows it writes",
        "guard",
        "extensions/postgresql/pg_storage.py",
        "        if not job.owner or self._session.owns(job.owner):\n            return None\n",
        "        return None\n",
        (),
    ),
    Mutant(
        "a node takes groups back although others have worked for them",
        "fence",
        "extensions/postgresql/group_locks.py",
        "if group in locked and now[group] == epoch)",
        "if group in locked)",
        (),
    ),
    Mutant(
        "a given group keeps its lock",
        "settled",
        SESSION,
        "        self._given |= groups\n",
        "",
        (),
    ),
    Mutant(
        "a daemon that was away trusts its old proof",
        "effect",
        SESSION,
        "return in_time and db is not None and not db.is_hung_up",
        "return db is not None",
        (),
    ),
    Mutant(
        "a new session is thought to have the names of the one before",
        "guard",
        SESSION,
        "        self.names.clear()\n",
        "",
        (),
    ),
    Mutant(
        "an unanswered commit counts as stored",
        "fence",
        SESSION,
        "return None if found == GONE else bool(found == mark)",
        "return True",
        (),
    ),
    Mutant(
        "an unanswered commit counts as lost",
        "fence",
        SESSION,
        "return None if found == GONE else bool(found == mark)",
        "return False",
        (),
    ),
)


def run_courses(first: int, last: int, environ: Mapping[str, str]) -> Iterator[SeedReport]:
    """What the courses of these seeds show, each as soon as it has ended."""
    command = (sys.executable, "-P", "-m", SEVERAL_NODES, str(first), str(last), "1")
    with Popen(command, env={**os.environ, "PYTHONHASHSEED": "0", **environ}, stdout=PIPE) as found:
        assert found.stdout is not None
        try:
            yield from (SeedReport(**json.loads(line)) for line in found.stdout)
        finally:
            found.kill()


def test_no_course_breaks_a_promise() -> None:
    """No commit without the lock or from what is old; at the end each agent goes on."""
    found = list(run_courses(0, 4, {}))
    assert [course.seed for course in found] == [*range(4)]
    assert [course.violations for course in found] == [[]] * 4
    happened = " ".join(line for course in found for line in course.scripts)
    assert all(kind in happened for kind in ("kill", "away", "session", "ended", "denied"))


def test_course_repeats_itself() -> None:
    """Alone as well as after others."""
    *_, after = run_courses(1, 3, {})
    assert [after] == list(run_courses(2, 3, {}))


def test_seeded_bugs_fit_the_source() -> None:
    """A change to the code that a bug replaces has to adapt the bug."""
    for mutant in LIVES_MUTANTS:
        source = (ROOT / "orchestrator" / mutant.file).read_text("utf-8")
        assert source.count(mutant.before) == 1, mutant.name


@pytest.mark.thorough(part="fences")
@pytest.mark.parametrize("mutant", LIVES_MUTANTS, ids=lambda mutant: mutant.name)
def test_seeded_bug_is_found_by_a_course(mutant: Mutant, tmp_path: Path) -> None:
    """By the check that is there for it."""
    environ = {"PYTHONPATH": str(planted(mutant, tmp_path))}
    assert any(
        violation.startswith(mutant.found_by)
        for course in run_courses(0, SEEDS, environ)
        for violation in course.violations
    )
