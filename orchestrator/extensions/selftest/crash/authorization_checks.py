"""Check what runs by schedule or after an approval: invariants 17 and 18."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping

from orchestrator.extensions.selftest.crash import timetable
from orchestrator.extensions.selftest.crash.evidence import ApprovalRow, Evidence, RunRow, StepRow
from orchestrator.extensions.selftest.crash.scenario import SERVER, Script

STARTED = ("intent", "done", "unknown")  # states of a call that may have had its effect
RAN = ("done", "unknown")


def find_scheduling_steps(evidence: Evidence) -> Mapping[str, StepRow]:
    """Return the call that scheduled each script that runs as a task, by the script's name."""
    return {
        json.loads(step.args or "{}")["name"]: step
        for step in evidence.journal.steps
        if step.name == "schedule_task" and step.state == "done"
    }


def count_expected_runs(evidence: Evidence, name: str) -> int:
    """Return the number of times that a script should run: once, unless it runs as a task."""
    fired = [run for run in evidence.journal.runs if run.name == name and run.inbox_id is not None]
    return len(fired) if name in find_scheduling_steps(evidence) else 1


def check_fired_tasks(evidence: Evidence) -> Iterator[str]:
    """Check invariant 17: each instant counts once; of several missed ones only the newest runs.

    An instant that had passed when the task was created was never due.
    """
    created_at = {task.name: task.created_at for task in evidence.journal.tasks}
    for name, step in find_scheduling_steps(evidence).items():
        schedule = json.loads(step.args or "{}")["schedule"]
        runs = [run for run in evidence.journal.runs if run.name == name]
        due = [at for at in timetable.parse_instants(schedule) if at > created_at.get(name, 0)]
        found = [run.scheduled_at for run in runs]
        if sorted(found) != due:
            yield f"{name} was due at {due}, and the journal has {found}"
        (mark,) = evidence.scenario[name].marks
        seen = evidence.list_marks(evidence.scenario[name].chat).count(mark)
        ran = sum(run.inbox_id is not None for run in runs)
        if seen != ran:
            yield f"{name} was fired {ran} times and its outcome is visible {seen} times"
        yield from _check_catch_up(name, runs)


def _check_catch_up(name: str, runs: list[RunRow]) -> Iterator[str]:
    together: dict[int, list[RunRow]] = defaultdict(list)
    for run in runs:
        together[run.created_at].append(run)
    for now, passed in together.items():
        ran = [run.scheduled_at for run in passed if run.inbox_id is not None]
        busy = any(
            run.inbox_id is not None and run.created_at < now < (run.ended_at or now + 1)
            for run in runs
        )
        newest = max(run.scheduled_at for run in passed)
        if ran != ([] if busy else [newest]):
            yield f"{name}: of {len(passed)} instants until {newest}, {ran} ran at {now}"


def check_approvals(evidence: Evidence) -> Iterator[str]:
    """Check invariant 18: an approval is used once, for its own call, and is never restored."""
    approvals = {(row.turn_id, row.seq): row for row in evidence.journal.approvals}
    for death in evidence.deaths:
        for row in death.journal.approvals:
            now = approvals.get((row.turn_id, row.seq))
            if row.state in ("used", "denied") and now != row:
                yield f"the approval of {row.turn_id}:{row.seq} was {row.state} and is now {now}"
    for step in evidence.journal.steps:
        script = evidence.scenario.get((step.args or "").partition('"name":"')[2].split(".")[0])
        if script is not None and script.decision and step.name.startswith(SERVER):
            yield from _check_decision(
                script, step, approvals.get((step.turn_id, step.seq)), evidence
            )


def _check_decision(
    script: Script, step: StepRow, approval: ApprovalRow | None, evidence: Evidence
) -> Iterator[str]:
    name = json.loads(step.args or "{}")["name"]
    effects = [e for e in evidence.events if e.kind in ("effect", "keyed") and name in e.text]
    state = approval.state if approval else "never requested"
    if (step.state in STARTED or effects) and state != "used":
        yield f"{name} is {step.state} and happened {len(effects)} times; its approval is {state}"
    if script.decision == "approve" and step.state not in RAN:
        yield f"{name} was approved and is {step.state}: {step.result}"
    if script.decision == "deny" and state != "denied":
        yield f"{name} was denied and its approval is {state}"
