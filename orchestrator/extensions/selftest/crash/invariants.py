"""Check a history's evidence for the journal's invariants and the promises to people.

The invariants are listed in the manual's page about the journal. Each check yields one sentence
per violation.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.extensions.selftest.crash import authorization_checks
from orchestrator.extensions.selftest.crash.answerable import list_messages
from orchestrator.extensions.selftest.crash.evidence import (
    OPEN_OUTBOX,
    TERMINAL,
    Evidence,
    parse_marks,
)
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent, find_confirmed_offset
from orchestrator.extensions.selftest.crash.scenario import AGENTS, HANDOVER

Check: TypeAlias = Callable[[Evidence], Iterator[str]]
ENDED = ("done", "failed", "unknown")
MAX_DEATHS = 3  # processes that may die during a message's turn before it is given up
SENT = ("said", "edited", "decision")  # kinds of events that have an update
HOLD = "may or may not have happened"  # part of the result of a call with unknown outcome


@dataclass(frozen=True)
class Violation:
    """A violation: the check's name and what happened."""

    check: str
    sentence: str


def check_evidence(evidence: Evidence) -> list[Violation]:
    return [
        Violation(name, sentence) for name, test in CHECKS.items() for sentence in test(evidence)
    ]


def _check_lost_messages(evidence: Evidence) -> Iterator[str]:
    rows = {row.update_id: row for row in evidence.journal.inbox}
    decisions = [event for event in evidence.events if event.kind == "decision"]
    for event in (*list_messages(evidence), *decisions):
        row = rows.get(event.number)
        if row is None:
            yield f"{event.text}: has no inbox row"
        elif event.kind == "decision" and row.state == "done":
            continue  # the daemon itself answered this command
        elif row.state not in TERMINAL:
            yield f"{event.text}: is {row.state} at the end"
        elif row.state == "done" and evidence.scenario[event.text].stopped:
            yield f"{event.text}: was answered to its end, although its sender stopped it"
        elif row.state == "done":
            yield from _check_answer(evidence, event.text)
        elif row.state == "cancelled" and _is_ended_by_person(evidence, event):
            continue
        elif row.state == "cancelled" or row.claims < MAX_DEATHS:
            yield f"{event.text}: was given up ({row.state}) after {row.claims} deaths"


def _is_ended_by_person(evidence: Evidence, event: LedgerEvent) -> bool:
    """Return whether its sender, or a newer message, may have ended the turn of a message."""
    script = evidence.scenario.get(event.text)
    if script is not None and script.stopped:
        return True
    return evidence.interrupts and any(
        newer.chat == event.chat and newer.number > event.number
        for newer in list_messages(evidence)
    )


def _check_answer(evidence: Evidence, name: str) -> Iterator[str]:
    script = evidence.scenario[name]
    shown = evidence.list_marks(script.chat)
    for mark in (*script.notes, *script.marks):
        if mark in shown:
            continue
        rows = [row for row in evidence.journal.outbox if mark in row.body]
        quoted = any(mark in text for text in evidence.visible_texts.get(script.chat, {}).values())
        if not (script.is_direct and (quoted or (rows and rows[-1].state == "unknown"))):
            yield f"{mark} is not visible; outbox: {[row.state for row in rows]}"


def _check_words(evidence: Evidence) -> Iterator[str]:
    """Check that each message is read and answered in its last words, and no others are."""
    rows = {row.update_id: row for row in evidence.journal.inbox}
    for event in list_messages(evidence):
        row = rows.get(event.number)
        if row is not None and row.state == "done" and row.text.strip() != event.text:
            yield f"{event.text}: was read as {row.text}"
    names = {event.text for event in list_messages(evidence)}
    written = {event.text for event in evidence.events if event.kind in ("said", "edited")}
    asked = {event.text for event in evidence.events if event.kind == "asked"}
    seen = {
        mark.partition("#")[0]
        for chat in evidence.visible_texts
        for mark in evidence.list_marks(chat)
    }
    for name in sorted((written - names) & (asked | seen)):
        yield f"{name}: is answered, although other words replaced it or it was answered before"


def _check_duplicates(evidence: Evidence) -> Iterator[str]:
    for chat in {script.chat for script in evidence.scenario.values()}:
        for mark, times in Counter(evidence.list_marks(chat)).items():
            if times > max(
                1, authorization_checks.count_expected_runs(evidence, mark.partition("#")[0])
            ):
                yield f"{mark} is visible {times} times"


def _check_reruns(evidence: Evidence) -> Iterator[str]:
    """Check invariant 5: an ended step does not change, and its effect comes before its end.

    The effect of a call that was given up as unknown may come when the machine wakes that began it,
    or as the tool goes on after a newer message has ended the turn.
    """
    after = {(step.turn_id, step.seq): step for step in evidence.journal.steps}
    for death in evidence.deaths:
        for step in death.journal.steps:
            now = after.get((step.turn_id, step.seq))
            if step.state in ENDED and now != step:
                yield f"step {step.idem_key or step.seq} had ended and was changed: {now}"
    effects = [event for event in evidence.events if event.kind in ("effect", "keyed")]
    for step in evidence.journal.steps:
        if (evidence.sleeps or evidence.interrupts) and step.state == "unknown":
            continue
        for event in effects:
            caused = event.text.split()[-1] in (step.args or "")
            if caused and step.t_end is not None and event.at > step.t_end:
                yield f"{step.name} {step.idem_key} ran again after its end"


def _check_double_effects(evidence: Evidence) -> Iterator[str]:
    """Check invariant 6: each effect happened once, with any idempotency key."""
    effects = [event for event in evidence.events if event.kind in ("effect", "keyed")]
    for name, times in Counter(event.text.split()[-1] for event in effects).items():
        if times > 1:
            yield f"{name} happened {times} times"


def _check_reply_order(evidence: Evidence) -> Iterator[str]:
    """Check invariant 4: replies of a chat become visible in the order of its messages."""
    for chat in {script.chat for script in evidence.scenario.values()}:
        messages = [e.text for e in list_messages(evidence) if e.chat == chat]
        expected = [mark for name in messages for mark in evidence.scenario[name].marks]
        first: list[str] = []
        for event in evidence.events:
            if event.kind == "shown" and event.chat == chat:
                first += [mark for mark in parse_marks(event.text) if mark not in first]
        shown = [mark for mark in first if mark in expected]
        if shown != [mark for mark in expected if mark in shown]:
            yield f"chat {chat} showed {shown} for {messages}"


def _check_places(evidence: Evidence) -> Iterator[str]:
    """Check invariant 23 by the platform's numbers: messages stand as queued, replies as asked."""
    for chat, shown in evidence.visible_texts.items():
        places = {mark: number for number, text in shown.items() for mark in parse_marks(text)}
        rows = [row.body for row in evidence.journal.outbox if row.chat_id == str(chat)]
        asked = [e.text for e in list_messages(evidence) if e.chat == chat]
        queued = [mark for body in rows for mark in parse_marks(body)]
        expected = [mark for name in asked for mark in evidence.scenario[name].marks]
        for name, order in (("queued", queued), ("asked for", expected)):
            once = [mark for mark in order if mark in places and order.count(mark) == 1]
            stand = sorted(once, key=places.__getitem__)
            if stand != once:
                yield f"chat {chat} shows {stand}, {name} were {once}"


def _check_unknown_reports(evidence: Evidence) -> Iterator[str]:
    for step in evidence.list_unknown_steps():
        for row in evidence.journal.inbox:
            if row.turn_id == step.turn_id and row.state == "done":
                chat = int(row.chat_id)
                texts = [
                    *evidence.visible_texts.get(chat, {}).values(),
                    *evidence.list_unconfirmed_texts(chat),
                ]
                if not any("couldn't confirm" in text and step.name in text for text in texts):
                    yield f"{step.name} {step.idem_key} is unknown and {row.text} does not say so"
        if HOLD not in (step.result or ""):
            yield f"{step.name} {step.idem_key} is unknown and its result does not say so"


def _check_strays(evidence: Evidence) -> Iterator[str]:
    """Check that a kill leaves at most one placeholder in each chat, which sends in order.

    A message whose arrival the platform does not confirm may also leave one.
    """
    for chat, strays in evidence.count_strays().items():
        scripts = (script for script in evidence.scenario.values() if script.chat == chat)
        lost = sum(script.faults.count("lost") for script in scripts)
        if strays > evidence.kills + lost:
            yield f"{strays} placeholders were left in chat {chat} by {evidence.kills} kills"


def _check_confirmed_updates(evidence: Evidence) -> Iterator[str]:
    """Check invariant 1: confirmed updates are stored."""
    moments = [(death.journal, death.confirmed) for death in evidence.deaths]
    for journal, offset in [*moments, (evidence.journal, find_confirmed_offset(evidence.events))]:
        known = {row.update_id for row in journal.inbox}
        for event in evidence.events:
            if event.kind in SENT and event.number < offset and event.number not in known:
                yield f"update {event.number} ({event.text}) was confirmed and not stored"
        if journal.offset and any((row.update_id or 0) >= journal.offset for row in journal.inbox):
            yield f"the offset {journal.offset} is behind the inbox"


def _check_intents(evidence: Evidence) -> Iterator[str]:
    """Check invariant 7: every effect has a step, whose intent was stored before it happened."""
    for event in evidence.events:
        if event.kind not in ("effect", "keyed"):
            continue
        name = event.text.split()[-1]
        steps = [step for step in evidence.journal.steps if name in (step.args or "")]
        if not steps:
            yield f"{event.text} happened without a step"
        elif event.kind == "effect" and not any(
            step.t_intent is not None and step.t_intent <= event.at for step in steps
        ):
            yield f"{event.text} happened before its intent was stored"


def _check_calls(evidence: Evidence) -> Iterator[str]:
    """Check invariant 8, and that every scripted call has its row."""
    ended = {t.id for t in evidence.journal.turns if t.state in ("replied", "closed", "dead")}
    for step in evidence.journal.steps:
        if step.turn_id in ended and step.state not in ENDED:
            yield f"{step.name} {step.idem_key} is {step.state} although its turn has ended"
    tools_of: defaultdict[str, list[str]] = defaultdict(list)
    for step in sorted(evidence.journal.steps, key=lambda step: step.seq):
        if step.kind == "tool":
            tools_of[step.turn_id].append(HANDOVER if step.name in AGENTS else step.name)
    messages_of: defaultdict[str, list[str]] = defaultdict(list)  # several if they join a turn
    for row in sorted(evidence.journal.inbox, key=lambda row: row.id):
        if row.state == "done" and row.turn_id is not None:
            messages_of[row.turn_id].append(row.text.strip())
    for turn_id, names in messages_of.items():
        steps = [step for name in names for step in evidence.scenario[name].steps]
        scripted = [tool for step in steps for tool in step]
        if tools_of[turn_id] != scripted:
            yield f"{', '.join(names)} called {tools_of[turn_id]} and not {scripted}"


def _check_handovers(evidence: Evidence) -> Iterator[str]:
    """Check that a chat is answered by the agent that it was last handed to."""
    holders: dict[str, str] = {}
    for turn in evidence.journal.turns:
        if turn.recipe != "interactive" or turn.state == "cancelled":
            continue
        calls = [
            step
            for step in sorted(evidence.journal.steps, key=lambda step: step.seq)
            if step.turn_id == turn.id and step.name in AGENTS
        ]
        for step in calls:
            if step.state == "done":
                holders[turn.chat_key] = step.name
            else:
                yield f"the call of {step.name} in {turn.id} is {step.state}: {step.result}"
        holder = holders.get(turn.chat_key, turn.agent_id)
        if turn.agent_id != holder:
            yield f"{turn.id} was answered by {turn.agent_id} in a chat of {holder}"


def _check_overheard_talk(evidence: Evidence) -> Iterator[str]:
    """Check that nothing is kept of group messages that are not to the bot."""
    rows = {row.update_id: row for row in evidence.journal.inbox}
    for event in evidence.events:
        row = rows.get(event.number) if event.kind == "murmured" else None
        if row is not None and (row.text, row.state) != ("", "cancelled"):
            yield f"the {event.text} was overheard: {row}"


def _check_outdated_steps(evidence: Evidence) -> Iterator[str]:
    """Check that a valid edit of agents.json applies soon, and an invalid one never."""
    yield from (event.text for event in evidence.events if event.kind == "outdated")


def _check_facts(evidence: Evidence) -> Iterator[str]:
    """Check that finished calls of ``store_fact`` have stored their facts."""
    for step in evidence.journal.steps:
        if step.name == "store_fact" and step.state == "done":
            fact = json.loads(step.args or "{}")["fact"]
            if fact not in evidence.journal.facts:
                yield f"{step.idem_key} is done and the fact {fact!r} is not stored"


def _check_transcripts(evidence: Evidence) -> Iterator[str]:
    """Check invariant 9: models received well-formed transcripts."""
    yield from (event.text for event in evidence.events if event.kind == "broken")


def _check_outbox(evidence: Evidence) -> Iterator[str]:
    """Check invariant 11: every outbox row has ended."""
    for row in evidence.journal.outbox:
        if row.state in OPEN_OUTBOX:
            yield f"outbox row {row.id} ({row.body[:30]}) is {row.state} at the end"
        if row.state == "failed_permanent":  # the fake Bot API refuses nothing permanently
            yield f"outbox row {row.id} ({row.body[:30]}) was given up"


def _check_model_calls(evidence: Evidence) -> Iterator[str]:
    """Check invariant 13: a kill repeats at most one model call, and every call has usage."""
    calls = Counter((e.text, e.number) for e in evidence.events if e.kind == "asked")
    for (name, number), times in calls.items():
        most = 1 + evidence.kills
        if times > most and times > most - 1 + authorization_checks.count_expected_runs(
            evidence, name
        ):
            yield f"{name}: the model was called {times} times for step {number}"
    for step in evidence.journal.steps:
        if step.kind == "model" and not step.usage:
            yield f"model call {step.turn_id}:{step.seq} has no usage"


def _check_waiting_messages(evidence: Evidence) -> Iterator[str]:
    """Check invariant 16: no message waits for a healthy agent."""
    for row in evidence.journal.inbox:
        if row.state == "new":
            yield f"{row.text} still waits although its agent is healthy"


def _check_starts(evidence: Evidence) -> Iterator[str]:
    if evidence.journal.epoch != evidence.boots:
        yield f"the epoch is {evidence.journal.epoch} after {evidence.boots} starts"


def _check_claims(evidence: Evidence) -> Iterator[str]:
    """Check that deaths are counted and that the third ends a message."""
    counted = sum(row.claims for row in evidence.journal.inbox)
    calls = sum(step.kind == "tool" for step in evidence.journal.steps)  # a death during a call
    if counted + calls < evidence.worker_deaths:
        yield f"{counted} deaths of workers were counted of {evidence.worker_deaths}"
    for row in evidence.journal.inbox:
        if row.claims >= MAX_DEATHS and row.state != "dead":
            yield f"{row.text} is {row.state} after {row.claims} deaths"


def _check_journal(evidence: Evidence) -> Iterator[str]:
    """Report the violations of invariants 2 to 15 that the journal checks in SQL."""
    yield from evidence.journal.violations
    for number, death in enumerate(evidence.deaths, 1):
        yield from (f"after death {number}: {text}" for text in death.journal.violations)


def _check_recoveries(evidence: Evidence) -> Iterator[str]:
    """Check invariant 20: recovery is deterministic."""
    for number, death in enumerate(evidence.deaths, 1):
        if len(set(death.plans)) > 1:
            yield f"two recoveries of the journal after death {number} differ"


CHECKS: Mapping[str, Check] = {
    "lost": _check_lost_messages,
    "words": _check_words,
    "duplicate (12)": _check_duplicates,
    "re-run (5)": _check_reruns,
    "double effect (6)": _check_double_effects,
    "order (4)": _check_reply_order,
    "places (23)": _check_places,
    "unknown not told": _check_unknown_reports,
    "strays": _check_strays,
    "confirmed (1)": _check_confirmed_updates,
    "intent (7)": _check_intents,
    "calls (8)": _check_calls,
    "handed over": _check_handovers,
    "overheard": _check_overheard_talk,
    "outdated": _check_outdated_steps,
    "forgotten": _check_facts,
    "transcript (9)": _check_transcripts,
    "outbox (11)": _check_outbox,
    "model calls (13)": _check_model_calls,
    "starts (14)": _check_starts,
    "claims": _check_claims,
    "waiting (16)": _check_waiting_messages,
    "recovery (20)": _check_recoveries,
    "journal (2-15)": _check_journal,
    "fired (17)": authorization_checks.check_fired_tasks,
    "allowed (18)": authorization_checks.check_approvals,
}
ELSEWHERE: Mapping[str, str] = {
    "19": "tests/orchestrator/journal/test_golden.py, with journals of every released version",
    "22": "tests/orchestrator/extensions/erasure/test_erasure.py, with rows of every table",
}
