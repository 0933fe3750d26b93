"""The invariants of reference/reliability.md §4.8 and the promises to people, as pure checks.

Each takes the evidence of a history and yields one sentence per violation.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.selftest import authorization_checks
from orchestrator.selftest.evidence import OPEN_OUTBOX, TERMINAL, Evidence, Inbox, marks_of

Check: TypeAlias = Callable[[Evidence], Iterator[str]]
ENDED = ("done", "failed", "unknown")
MAX_DEATHS = 3  # processes that one message may take with it (reliability.md §4.6)
SENT = ("said", "word")  # events that have an update
HOLD = "may or may not have happened"  # stands in the result of an unknown outcome


@dataclass(frozen=True)
class Violation:
    """A broken promise: the check's name and what happened."""

    check: str
    sentence: str


def check(evidence: Evidence) -> list[Violation]:
    """All violations of a history."""
    return [
        Violation(name, sentence) for name, test in CHECKS.items() for sentence in test(evidence)
    ]


def _script_of(row: Inbox) -> str:
    return row.text.strip()


def _lost(evidence: Evidence) -> Iterator[str]:
    rows = {row.update_id: row for row in evidence.journal.inbox}
    for event in evidence.events:
        if event.kind not in SENT:
            continue
        row = rows.get(event.number)
        if row is None:
            yield f"{event.text}: has no inbox row"
        elif event.kind == "word" and row.state == "done":
            continue  # the daemon itself has answered it
        elif row.state not in TERMINAL:
            yield f"{event.text}: is {row.state} at the end"
        elif row.state == "done":
            yield from _unanswered(evidence, event.text)
        elif row.state == "cancelled" or row.claims < MAX_DEATHS:
            yield f"{event.text}: was given up ({row.state}) after {row.claims} deaths"


def _unanswered(evidence: Evidence, name: str) -> Iterator[str]:
    script = evidence.scenario[name]
    shown = evidence.marks(script.chat)
    for mark in (*script.notes, *script.marks):
        if mark in shown:
            continue
        rows = [row for row in evidence.journal.outbox if mark in row.body]
        quoted = any(mark in text for text in evidence.visible().get(script.chat, {}).values())
        if not (script.direct and (quoted or (rows and rows[-1].state == "unknown"))):
            yield f"{mark} is not visible; outbox: {[row.state for row in rows]}"


def _duplicates(evidence: Evidence) -> Iterator[str]:
    for chat in {script.chat for script in evidence.scenario.values()}:
        for mark, times in Counter(evidence.marks(chat)).items():
            if times > max(1, authorization_checks.runs_of(evidence, mark.partition("#")[0])):
                yield f"{mark} is visible {times} times"


def _rerun(evidence: Evidence) -> Iterator[str]:
    """5: a step that has ended stays as it is, and its effect comes before its end."""
    after = {(step.turn_id, step.seq): step for step in evidence.journal.steps}
    for death in evidence.deaths:
        for step in death.journal.steps:
            now = after.get((step.turn_id, step.seq))
            if step.state in ENDED and now != step:
                yield f"step {step.idem_key or step.seq} had ended and was changed: {now}"
    for step in evidence.journal.steps:
        for event in evidence.events:
            mine = event.kind in ("effect", "keyed") and event.text.split()[-1] in (step.args or "")
            if mine and step.t_end is not None and event.at > step.t_end:
                yield f"{step.name} {step.idem_key} ran again after its end"


def _double_effects(evidence: Evidence) -> Iterator[str]:
    """6: whatever key a call came with, what it names happened once."""
    effects = [event for event in evidence.events if event.kind in ("effect", "keyed")]
    for name, times in Counter(event.text.split()[-1] for event in effects).items():
        if times > 1:
            yield f"{name} happened {times} times"


def _unordered(evidence: Evidence) -> Iterator[str]:
    """4: replies of a chat become visible in the order of its messages."""
    for chat in {script.chat for script in evidence.scenario.values()}:
        said = [e.text for e in evidence.events if e.kind == "said" and e.chat == chat]
        wanted = [mark for name in said for mark in (evidence.scenario[name].marks)]
        first: list[str] = []
        for event in evidence.events:
            if event.kind == "shown" and event.chat == chat:
                first += [mark for mark in marks_of(event.text) if mark not in first]
        shown = [mark for mark in first if mark in wanted]
        if shown != [mark for mark in wanted if mark in shown]:
            yield f"chat {chat} showed {shown} for {said}"


def _untold(evidence: Evidence) -> Iterator[str]:
    for step in evidence.unknown():
        for row in evidence.journal.inbox:
            if row.turn_id == step.turn_id and row.state == "done":
                shown = evidence.visible().get(int(row.chat_id), {}).values()
                if not any("couldn't confirm" in text and step.name in text for text in shown):
                    yield f"{step.name} {step.idem_key} is unknown and {row.text} does not say so"
        if HOLD not in (step.result or ""):
            yield f"{step.name} {step.idem_key} is unknown and the model was not told"


def _strays(evidence: Evidence) -> Iterator[str]:
    """A kill leaves one placeholder at most in each chat, as a chat's messages go out in turn."""
    for chat, strays in evidence.strays().items():
        if strays > evidence.kills:
            yield f"{strays} placeholders were left in chat {chat} by {evidence.kills} kills"


def _confirmed(evidence: Evidence) -> Iterator[str]:
    """1."""
    confirmed = max((e.number for e in evidence.events if e.kind == "confirm"), default=0)
    moments = [(death.journal, death.confirmed) for death in evidence.deaths]
    for journal, offset in [*moments, (evidence.journal, confirmed)]:
        known = {row.update_id for row in journal.inbox}
        for event in evidence.events:
            if event.kind in SENT and event.number < offset and event.number not in known:
                yield f"update {event.number} ({event.text}) was confirmed and not stored"
        if journal.offset and any((row.update_id or 0) >= journal.offset for row in journal.inbox):
            yield f"the offset {journal.offset} is behind the inbox"


def _intended(evidence: Evidence) -> Iterator[str]:
    """7: every effect has a step that meant it, before it happened."""
    for event in evidence.events:
        if event.kind not in ("effect", "keyed"):
            continue
        name = event.text.split()[-1]
        steps = [step for step in evidence.journal.steps if name in (step.args or "")]
        if not steps:
            yield f"{event.text} happened and no step meant it"
        elif event.kind == "effect" and not any(
            step.t_intent is not None and step.t_intent <= event.at for step in steps
        ):
            yield f"{event.text} happened before its intent was stored"


def _dropped_calls(evidence: Evidence) -> Iterator[str]:
    """8, and every call that the model was scripted to make has its row."""
    ended = {t.id for t in evidence.journal.turns if t.state in ("replied", "closed", "dead")}
    for step in evidence.journal.steps:
        if step.turn_id in ended and step.state not in ENDED:
            yield f"{step.name} {step.idem_key} is {step.state} although its turn has ended"
    for row in evidence.journal.inbox:
        if row.state == "done" and row.turn_id is not None:
            tools = [
                step.name
                for step in sorted(evidence.journal.steps, key=lambda step: step.seq)
                if step.turn_id == row.turn_id and step.kind == "tool"
            ]
            wanted = [tool for step in evidence.scenario[_script_of(row)].steps for tool in step]
            if tools != wanted:
                yield f"{row.text} called {tools} and not {wanted}"


def _forgotten(evidence: Evidence) -> Iterator[str]:
    """A done call of a tool whose effect is in the journal has had it."""
    for step in evidence.journal.steps:
        if step.name == "store_fact" and step.state == "done":
            fact = json.loads(step.args or "{}")["fact"]
            if fact not in evidence.journal.facts:
                yield f"{step.idem_key} is done and the fact {fact!r} is not stored"


def _malformed(evidence: Evidence) -> Iterator[str]:
    """9."""
    yield from (event.text for event in evidence.events if event.kind == "broken")


def _outbox_ended(evidence: Evidence) -> Iterator[str]:
    """11."""
    for row in evidence.journal.outbox:
        if row.state in OPEN_OUTBOX:
            yield f"outbox row {row.id} ({row.body[:30]}) is {row.state} at the end"
        if row.state == "failed_permanent":  # this world refuses nothing for good
            yield f"outbox row {row.id} ({row.body[:30]}) was given up"


def _model_calls(evidence: Evidence) -> Iterator[str]:
    """13."""
    asked = Counter((e.text, e.number) for e in evidence.events if e.kind == "asked")
    for (name, number), times in asked.items():
        if times > max(1, authorization_checks.runs_of(evidence, name)) + evidence.kills:
            yield f"{name}: the model was asked {times} times for step {number}"
    for step in evidence.journal.steps:
        if step.kind == "model" and not step.usage:
            yield f"model call {step.turn_id}:{step.seq} has no usage"


def _waiting(evidence: Evidence) -> Iterator[str]:
    """16."""
    for row in evidence.journal.inbox:
        if row.state == "new":
            yield f"{row.text} still waits although its agent is healthy"


def _starts(evidence: Evidence) -> Iterator[str]:
    if evidence.journal.epoch != evidence.boots:
        yield f"the epoch is {evidence.journal.epoch} after {evidence.boots} starts"


def _claims(evidence: Evidence) -> Iterator[str]:
    """Deaths are counted, and the third is the last (reliability.md §4.6)."""
    counted = sum(row.claims for row in evidence.journal.inbox)
    if counted < evidence.worker_deaths:
        yield f"{counted} deaths of workers were counted of {evidence.worker_deaths}"
    for row in evidence.journal.inbox:
        if row.claims >= MAX_DEATHS and row.state != "dead":
            yield f"{row.text} is {row.state} after {row.claims} deaths"


def _journal(evidence: Evidence) -> Iterator[str]:
    """Check 2, 3, 5, 7, 8, 9, 10, 11, 14 and 15, which the journal has in SQL."""
    yield from evidence.journal.violations
    for number, death in enumerate(evidence.deaths, 1):
        yield from (f"after death {number}: {text}" for text in death.journal.violations)


def _recoveries_differ(evidence: Evidence) -> Iterator[str]:
    """20."""
    for number, death in enumerate(evidence.deaths, 1):
        if len(set(death.plans)) > 1:
            yield f"two recoveries of the journal after death {number} differ"


CHECKS: Mapping[str, Check] = {
    "lost": _lost,
    "duplicate (12)": _duplicates,
    "re-run (5)": _rerun,
    "double effect (6)": _double_effects,
    "order (4)": _unordered,
    "unknown not told": _untold,
    "strays": _strays,
    "confirmed (1)": _confirmed,
    "intent (7)": _intended,
    "calls (8)": _dropped_calls,
    "forgotten": _forgotten,
    "transcript (9)": _malformed,
    "outbox (11)": _outbox_ended,
    "model calls (13)": _model_calls,
    "starts (14)": _starts,
    "claims": _claims,
    "waiting (16)": _waiting,
    "recovery (20)": _recoveries_differ,
    "journal (2-15)": _journal,
    "fired (17)": authorization_checks.fired,
    "allowed (18)": authorization_checks.allowed,
}
ELSEWHERE: Mapping[str, str] = {
    "19": "tests/orchestrator/journal/test_golden.py, with journals of every older version",
    "22": "tests/orchestrator/journal/test_forgetting.py, with rows of every table",
}
