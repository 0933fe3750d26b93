"""Directed courses: what each is about survives a crash at any failpoint; bugs are found."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from crash.mutants import Mutant, planted

from orchestrator.extensions.selftest.simulator.directed_courses import COURSES, add_crashes

pytestmark = pytest.mark.process
ALWAYS = [(name, "kill") for name in COURSES]
ALWAYS += [(name, "worker") for name in ("handoffs", "receipts", "steering")]
# What a course is there for, left out: the crash that it takes, and the check that finds it.
MUTANTS = (
    Mutant(
        "a call that was approved and cut off is refused",
        "allowed (18)",
        "toolcalls/approvals.py",
        '    if made.state == "used" or ',
        "    if ",
        ("approvals", "kill"),
    ),
    Mutant(
        "an answer counts for the first call of its question alone",
        "allowed (18)",
        "toolcalls/approvals.py",
        "or approvals.use_approval(db, call, now):\n",
        "or made.asked_with is None and approvals.use_approval(db, call, now):\n",
        ("plans", "kill"),
    ),
    Mutant(
        "an edit of a message that waits is a message of its own",
        "words",
        "journal/turns/corrections.py",
        "    if (waiting := _find_waiting(db, known)) is not None:\n",
        "    if (waiting := _find_waiting(db, known)) is not None and not message.text:\n",
        ("corrections", "kill"),
    ),
    Mutant(
        "an edit is lost behind another one of the same second",
        "confirmed (1)",
        "journal/turns/corrections.py",
        "    for row in same:\n",
        "    for row in same[:0]:\n",
        ("corrections", "kill"),
    ),
    Mutant(
        "an edit of agents.json is read and does not apply",
        "outdated",
        "configuration.py",
        "        self._adopt_loaded(loaded)\n        self.fallen_back = False\n",
        "        self.fallen_back = False\n",
        ("edits", "kill"),
    ),
    Mutant(
        "what is not for the bot is kept",
        "overheard",
        "journal/turns/inbox.py",
        '"text": message.text if refusal is None else "",',
        '"text": message.text,',
        ("groups", "kill"),
    ),
    Mutant(
        "a chat is handed over and its turn is not",
        "transcript (9)",
        "journal/turns/handoffs.py",
        '    db.execute("UPDATE turn SET agent_id = ? WHERE id = ?", (agent_id, turn_id))\n',
        "",
        ("handoffs", "kill"),
    ),
    Mutant(
        "the next worker is not told what joined the turn",
        "calls (8)",
        "journal/turns/sessions.py",
        "        if (seq := row.after_step) is not None:\n",
        "        if (seq := row.after_step) is not None and seq < 0:\n",
        ("steering", "worker"),
    ),
    Mutant(
        "an answer that went back to the model is in the history",
        "transcript (9)",
        "journal/turns/sessions.py",
        "        kept = step.finish != RETURNED\n",
        "        kept = True\n",
        ("receipts", "kill"),
    ),
    Mutant(
        "a model reads a notice as words of its own",
        "transcript (9)",
        "journal/turns/cancellations.py",
        "build_session_messages(db, turn_id, known)\n",
        'build_session_messages(db, turn_id, known, "(stopped)")\n',
        ("interruptions", "kill"),
    ),
    Mutant(
        "a full disk is said to have stored what it has not",
        "lost",
        "inbound/intake.py",
        "            await self._notify_storage_full(messages)\n            raise\n",
        "            return {}\n",
        ("storage", "kill"),
    ),
)


def reports(*arguments: str, path: Path | None = None) -> Iterator[dict[str, Any]]:
    """What a process of the simulator writes while it is read; the product may be elsewhere."""
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    if path is not None:
        environ["PYTHONPATH"] = str(path)
    command = [sys.executable, "-P", "-m", "orchestrator.extensions.selftest.simulator"]
    with subprocess.Popen([*command, *arguments], env=environ, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield from map(json.loads, process.stdout)
            assert process.wait() == 0
        finally:
            process.kill()


def violated(*arguments: str) -> dict[str, list[str]]:
    """The violations of a course with crashes, by the crash; all of it was run."""
    found = {
        next(iter(report["events"].values())): report["violations"]
        for report in reports(*arguments)
    }
    assert len(found) > 10
    return {crash: violations for crash, violations in found.items() if violations}


def test_crash_is_put_at_each_failpoint_once() -> None:
    """However often it is passed, unless every time is asked for."""
    trace = ("boot:before", "boot:after", "ready", "boot:before")
    assert len(list(add_crashes("handoffs", "kill", trace))) == 3
    every = list(add_crashes("handoffs", "kill", trace, every=True))
    assert [course.events[0].number for course in every] == [1, 2, 3, 4]
    assert {course.events[0].kind for course in every} == {"kill"}


@pytest.mark.parametrize(("name", "kind"), ALWAYS)
def test_crash_at_any_failpoint_breaks_no_promise(name: str, kind: str) -> None:
    """Nothing is lost, doubled, or done by an agent or a file that is out of date."""
    assert violated(name, kind) == {}


@pytest.mark.thorough(part="failpoints")
@pytest.mark.parametrize("kind", ["kill", "worker"])
@pytest.mark.parametrize("name", COURSES)
def test_crash_at_every_failpoint_breaks_no_promise(name: str, kind: str) -> None:
    """However often the daemon passes it."""
    assert violated(name, kind, "all") == {}


@pytest.mark.thorough(part="power")
@pytest.mark.parametrize("kind", ["power", "hang"])
@pytest.mark.parametrize("name", COURSES)
def test_power_cut_or_hang_at_every_failpoint_breaks_no_promise(name: str, kind: str) -> None:
    """Neither what the disk had not stored yet nor a worker that says nothing more."""
    assert violated(name, kind, "all") == {}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_course_finds_what_is_left_out(mutant: Mutant, tmp_path: Path) -> None:
    """One of its crashes breaks the promise, and the right check says so."""
    name, kind = mutant.histories
    checks = set[str]()
    for report in reports(name, kind, path=planted(mutant, tmp_path)):
        checks |= {text.partition(":")[0] for text in report["violations"]}
        if mutant.found_by in checks:
            return
    pytest.fail(f"{mutant.found_by} found nothing; violated were {checks}")
