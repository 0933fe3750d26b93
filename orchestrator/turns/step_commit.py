"""Commit a step of a turn (T3), with the reply (T6) if it is the last one.

Everything here runs inside transactions, on plain data that the event loop gathered before and
does not change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox, steps
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources
from orchestrator.journal.turns.sessions import TurnTranscript
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.toolcalls.authorization import CallAuthorizer
from orchestrator.turns.completion import EndedTurn, Ending, end_turn
from thinker.protocol.messages import SideEffect
from thinker.protocol.methods import RETURNED, RecordedStep, StepCommit, StepCommitted, StopReason
from thinker.toolcalls.markup import remove_markup


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step to commit, with the messages at the beginning of its turn.

    Without calls there is no ``authorizer``.
    """

    ending: Ending
    commit: StepCommit
    rules: SpendingRules
    opening: tuple[InboxRow, ...] = ()
    sources: PromptSources = NO_SOURCES
    classes: Mapping[str, SideEffect] = field(default_factory=dict)
    authorizer: CallAuthorizer | None = None


@dataclass(frozen=True)
class PlannedStep:
    """What T3 committed, ``at`` a time in milliseconds.

    ``pause`` is the one in which the turn must wait, ``notified`` whether chats may have been sent
    a notice, ``ended`` the end of the turn if it has ended.
    """

    committed: StepCommitted
    pause: Pause | None
    notified: bool
    at: int
    ended: EndedTurn | None = None


def read_words(commit: StepCommit) -> str:
    """Return what a step says to people."""
    return remove_markup(commit.response.content)


async def commit_step(store: Store, step: Step) -> PlannedStep:
    """Commit T3, and T6 with a step that ends the turn.

    Raises:
        JournalError: nothing was committed; the turn may be run by another process.
    """
    return await store.transact(_plan if step.commit.ends is None else _reply, step)


def _build_transcript(db: Database, step: Step) -> TurnTranscript | None:
    """Return the journal's content of a one-step turn, unless other messages have joined."""
    commit, opening = step.commit, step.opening
    if inbox.count_turn_messages(db, commit.turn_id, opening[0]) != len(opening):
        return None
    answer = RecordedStep(seq=1, response=commit.response, finish=commit.finish, usage=commit.usage)
    return TurnTranscript(opening, (answer,))


def _plan(db: Database, step: Step) -> PlannedStep:
    """Commit T3, and run the first calls that need only the journal."""
    turn, commit, now = step.ending.turn, step.commit, step.rules.clock()
    committed = steps.plan(db, commit, step.classes, turn.epoch, now, step.sources)
    pause, notified = step.rules.settle_step(db, turn, commit, committed.seq, now)
    if pause is not None and commit.finish == RETURNED:  # an answer must not wait for its end
        pause, committed = None, committed.model_copy(update={"stands": True})
    notified |= step.ending.report_degradations(db, commit.degraded, committed.seq, now)
    if pause is None and step.authorizer is not None:
        results = step.authorizer.run_local_calls(db, committed.call_seqs)
        committed = committed.model_copy(update={"results": results})
    return PlannedStep(committed, pause, notified, now)


def _reply(db: Database, step: Step) -> PlannedStep:
    """Commit T3 and T6 together."""
    planned, commit, last = _plan(db, step), step.commit, step.commit.ends
    if last is None:
        raise AssertionError(commit.turn_id)
    first = planned.committed.seq == 1 and not commit.calls
    known = _build_transcript(db, step) if first else None
    used = commit.usage
    settled = used.prompt or used.completion or last.stop_reason is StopReason.DEADLINE
    ended = end_turn(db, step.ending, last, known, planned.at, release=not settled)
    return PlannedStep(planned.committed, None, planned.notified, planned.at, ended)
