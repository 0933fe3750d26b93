"""Stamps of screens: values of indexed queries that differ after each change of what is shown."""

from typing import TypeAlias

from orchestrator.extensions.page.screen_request import ScreenRequest, Stamp
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import turns

Newest: TypeAlias = tuple[int | None, ...]

# Each state of a message, turn, step or answer is a row of `transition`.
_NEWEST = (
    "SELECT (SELECT max(id) FROM transition), (SELECT max(id) FROM model_call),"
    " (SELECT max(id) FROM pause)"
)
_TURN = (
    "SELECT (SELECT max(id) FROM transition WHERE turn_id = ?1),"
    " (SELECT max(id) FROM model_call WHERE turn_id = ?1),"
    " (SELECT max(id) FROM approval WHERE turn_id = ?1 AND decided_at IS NULL),"
    " (SELECT count(*) FROM call_verdict WHERE turn_id = ?1),"
    " (SELECT length(receipt) FROM turn WHERE id = ?1)"
)
_OPEN_TURNS = f"SELECT id, state FROM turn INDEXED BY one_open_turn WHERE {turns.OPEN} LIMIT 100"
_CHAT = (
    "SELECT (SELECT max(id) FROM inbox INDEXED BY inbox_new WHERE chat_key = ?1 AND state = 'new'),"
    " (SELECT max(id) FROM outbox WHERE chat_key = ?1 AND (turn_id IS NULL OR aside = 1)),"
    " (SELECT max(transition.id) FROM transition JOIN turn ON turn.id = transition.turn_id"
    f"   WHERE turn.chat_key = ?1 AND turn.{turns.OPEN})"
)
_TRIALS = "SELECT (SELECT max(id) FROM trial), (SELECT count(*) FROM trial WHERE state = 'running')"
_SETS = "SELECT (SELECT max(at) FROM saved_turn), (SELECT count(*) FROM saved_turn)"
_TRIAL = (
    "SELECT state, ended_at, (SELECT count(*) FROM trial_turn WHERE trial_id = ?1),"
    " (SELECT count(*) FROM trial_turn WHERE trial_id = ?1 AND trial_turn.state = 'done')"
    " FROM trial WHERE id = ?1"
)


async def read_nothing(request: ScreenRequest) -> Stamp:
    """Return the stamp of a screen that does not change by itself."""
    del request
    return Stamp(later=None)


async def read_newest_work(request: ScreenRequest) -> Stamp:
    """Return the stamp of screens about all turns and calls."""
    return Stamp(later=await request.journal(_read_newest))


async def read_open_turns(request: ScreenRequest) -> Stamp:
    """Return the stamp of a screen about what runs: turns that begin and end are seen at once."""
    return Stamp(soon=await request.journal(_read_open_turns))


async def read_turn(request: ScreenRequest) -> Stamp:
    """Return the stamp of a screen about the turn in its path."""
    return Stamp(soon=await request.journal(_read_turn, request.path["turn"]), later=None)


async def read_chat(request: ScreenRequest) -> Stamp:
    """Return the stamp of the chat in the path: its own changes are seen at once."""
    return Stamp(soon=await request.journal(_read_chat, request.path["key"]))


async def read_trials(request: ScreenRequest) -> Stamp:
    """Return the stamp of the list of trials."""
    return Stamp(soon=await request.journal(_read_trials), later=None)


async def read_sets(request: ScreenRequest) -> Stamp:
    """Return the stamp of the sets of tests, with how they did."""
    kept = await request.journal(_read_sets)
    return Stamp(soon=kept, later=await request.journal(_read_trials))


async def read_trial(request: ScreenRequest) -> Stamp:
    """Return the stamp of the trial in the path: each run that ends is seen at once."""
    return Stamp(soon=await request.journal(_read_trial, request.path["trial"]), later=None)


def _read_newest(db: Database) -> Newest:
    return tuple(db.execute(_NEWEST).fetchone())


def _read_open_turns(db: Database) -> tuple[tuple[str, str], ...]:
    return tuple((str(turn), str(state)) for turn, state in db.execute(_OPEN_TURNS))


def _read_turn(db: Database, turn_id: str) -> Newest:
    return tuple(db.execute(_TURN, (turn_id,)).fetchone())


def _read_chat(db: Database, key: str) -> Newest:
    return tuple(db.execute(_CHAT, (key,)).fetchone())


def _read_sets(db: Database) -> tuple[object, ...]:
    return tuple(db.execute(_SETS).fetchone())


def _read_trials(db: Database) -> tuple[object, ...]:
    return tuple(db.execute(_TRIALS).fetchone())


def _read_trial(db: Database, number: str) -> tuple[object, ...]:
    found = db.execute(_TRIAL, (int(number),)).fetchone() if number.isdigit() else None
    return () if found is None else tuple(found)
