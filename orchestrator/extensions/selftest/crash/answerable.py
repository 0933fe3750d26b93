"""Which messages are to be answered, and in which words, when people edit theirs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from orchestrator.extensions.selftest.crash.evidence import Evidence
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import Scenario


def list_messages(evidence: Evidence) -> tuple[LedgerEvent, ...]:
    """Return what people wrote and is to be answered, in order, each in its last words.

    New words replace those that wait. Of a message whose turn has begun, or that ended without an
    answer, they are a message of their own. Of an answered one they are none. What is not stored
    keeps the words in which it was sent.
    """
    written = {event.number: event for event in evidence.events if event.kind in ("said", "edited")}
    if all(event.kind == "said" for event in written.values()):
        return tuple(written.values())
    updates = {row.id: row.update_id for row in evidence.journal.inbox if row.update_id in written}
    states: dict[int, str] = {}  # by update
    for row, state in evidence.journal.message_states:
        number = updates.get(row)
        if number is None:
            continue
        if written[number].kind == "edited" and number not in states:
            waits, answered = _find_place(evidence.scenario, written[number], written, states)
            if waits is not None:
                written[waits] = replace(written[waits], text=written[number].text)
            if waits is not None or answered:
                del updates[row], written[number]
                continue
        states[number] = state
    return tuple(written.values())


def _find_place(
    scenario: Scenario,
    edited: LedgerEvent,
    written: Mapping[int, LedgerEvent],
    states: Mapping[int, str],
) -> tuple[int | None, bool]:
    """Return the update that waits with older words, if any, and whether they were answered."""
    earlier = tuple(_list_wordings(scenario, edited, written, states))
    waiting = [number for number in earlier if states[number] == "new"]
    now = {states[number] for number in earlier}
    return (waiting[-1] if waiting else None), "done" in now and "claimed" not in now


def _list_wordings(
    scenario: Scenario,
    edited: LedgerEvent,
    written: Mapping[int, LedgerEvent],
    states: Mapping[int, str],
) -> Iterator[int]:
    """Yield the updates of a message's stored wordings, in order."""
    root = scenario[edited.text].corrects
    for number in states:
        name = written[number].text
        if root in (name, scenario[name].corrects):
            yield number
