"""What runs by plan or by a person's leave: invariants 17 and 18, as pure checks.

They are of reference/reliability.md §4.8, like those of `orchestrator.selftest.invariants`.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping

from orchestrator.selftest import timetable
from orchestrator.selftest.evidence import ApprovalRow, Evidence, RunRow, StepRow
from orchestrator.selftest.scenario import SERVER, Script

BEGUN = ("intent", "done", "unknown")  # states of a call that may have had its effect
RAN = ("done", "unknown")


def planned_by(evidence: Evidence) -> Mapping[str, StepRow]:
    """The call that has planned each script which runs by plan."""
    return {
        json.loads(step.args or "{}")["name"]: step
        for step in evidence.journal.steps
        if step.name == "schedule_task" and step.state == "done"
    }


def runs_of(evidence: Evidence, name: str) -> int:
    """How often a script was to be followed: once, unless it runs by plan."""
    fired = [run for run in evidence.journal.runs if run.name == name and run.inbox_id is not None]
    return len(fired) if name in planned_by(evidence) else 1


def fired(evidence: Evidence) -> Iterator[str]:
    """17: each instant counts once, and of those that passed together the newest runs.

    An instant that had passed when the plan was made was never due.
    """
    planned_at = {task.name: task.created_at for task in evidence.journal.tasks}
    for name, step in planned_by(evidence).items():
        schedule = json.loads(step.args or "{}")["schedule"]
        runs = [run for run in evidence.journal.runs if run.name == name]
        wanted = [at for at in timetable.instants(schedule) if at > planned_at.get(name, 0)]
        found = [run.scheduled_at for run in runs]
        if sorted(found) != wanted:
            yield f"{name} was due at {wanted}, and the journal has {found}"
        (mark,) = evidence.scenario[name].marks
        seen = evidence.marks(evidence.scenario[name].chat).count(mark)
        ran = sum(run.inbox_id is not None for run in runs)
        if seen != ran:
            yield f"{name} was fired {ran} times and its outcome is visible {seen} times"
        yield from _caught_up(name, runs)


def _caught_up(name: str, runs: list[RunRow]) -> Iterator[str]:
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


def allowed(evidence: Evidence) -> Iterator[str]:
    """18: an approval is used once, for the call that it was asked for, and never given back."""
    approvals = {(row.turn_id, row.seq): row for row in evidence.journal.approvals}
    for death in evidence.deaths:
        for row in death.journal.approvals:
            now = approvals.get((row.turn_id, row.seq))
            if row.state in ("used", "denied") and now != row:
                yield f"the approval of {row.turn_id}:{row.seq} was {row.state} and is now {now}"
    for step in evidence.journal.steps:
        script = evidence.scenario.get((step.args or "").partition('"name":"')[2].split(".")[0])
        if script is not None and script.word and step.name.startswith(SERVER):
            yield from _left_to(script, step, approvals.get((step.turn_id, step.seq)), evidence)


def _left_to(
    script: Script, step: StepRow, approval: ApprovalRow | None, evidence: Evidence
) -> Iterator[str]:
    name = json.loads(step.args or "{}")["name"]
    effects = [e for e in evidence.events if e.kind in ("effect", "keyed") and name in e.text]
    state = approval.state if approval else "never asked for"
    if (step.state in BEGUN or effects) and state != "used":
        yield f"{name} is {step.state} and happened {len(effects)} times; its approval is {state}"
    if script.word == "approve" and step.state not in RAN:
        yield f"{name} was approved and is {step.state}: {step.result}"
    if script.word == "deny" and state != "denied":
        yield f"{name} was denied and its approval is {state}"
