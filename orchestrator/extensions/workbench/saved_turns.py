"""Sets of turns that are kept as tests: rows that name a turn, and hold no copy of it.

Retention leaves a saved turn alone, with the messages and pictures that it was sent with.
"""

import hashlib
from typing import NamedTuple

from orchestrator.control.trials import SavedSets, SavedTurn
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.workbench.checks import parse_checks
from orchestrator.extensions.workbench.recorded_turns import find_turn_id
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database

MAX_TURNS = 1000  # of one set
SHOWN = 200  # characters of a question
SUBJECT = "set {name}, turn {turn}"
OF_SET = """SELECT set_name, turn_id, checks, by_user, at,
  (SELECT text FROM inbox WHERE inbox.turn_id = saved_turn.turn_id ORDER BY id LIMIT 1)
FROM saved_turn JOIN turn ON turn.id = turn_id
WHERE ?1 IN('', set_name) ORDER BY set_name, started_at, turn_id"""

# The agents and the prompt definition that a turn ran with.
USED = """SELECT coalesce(turn_prompt.agent_id, turn.agent_id),
  (SELECT json_extract(body, '$.name') FROM prompt_part WHERE digest = definition)
FROM turn JOIN turn_prompt ON turn_prompt.turn_id = turn.id WHERE turn.id = ?"""
NEWEST = """SELECT turn.id, turn.agent_id FROM turn
WHERE state IN('closed','cancelled','failed') AND EXISTS(SELECT 1 FROM turn_prompt
  LEFT JOIN prompt_part ON digest = definition WHERE turn_prompt.turn_id = turn.id
  AND (coalesce(turn_prompt.agent_id, turn.agent_id) = ?1
    OR json_extract(prompt_part.body, '$.name') = ?1))
ORDER BY started_at DESC, turn.rowid DESC LIMIT ?2"""


class OwnedTest(NamedTuple):
    """A saved turn and the agent that ran it."""

    agent_id: str
    saved: SavedTurn


def list_saved_turns(db: Database, set_name: str = "") -> SavedSets:
    """Return the turns of a set, or of all sets, in the order in which they happened."""
    return SavedSets(
        turns=tuple(
            SavedTurn(
                set_name=name,
                turn=turn,
                checks=checks,
                by=by,
                at=at,
                question=(asked or "")[:SHOWN],
            )
            for name, turn, checks, by, at, asked in db.execute(OF_SET, (set_name,))
        )
    )


def require_saved_set(db: Database, set_name: str) -> tuple[SavedTurn, ...]:
    """Return the turns of a set.

    Raises:
        UnknownNameError: no turn is in it.
    """
    found = list_saved_turns(db, set_name).turns
    if not found:
        rows = db.execute("SELECT DISTINCT set_name FROM saved_turn ORDER BY set_name")
        known = ", ".join(str(name) for (name,) in rows)
        advice = f"there are: {known}" if known else "make one with: orchestrator sets add SET TURN"
        raise UnknownNameError(f"no set is called {set_name!r}; {advice}")
    return found


def list_owned_tests(db: Database, set_name: str, name: str = "") -> tuple[OwnedTest, ...]:
    """Return the turns of a set, or those that an agent or a prompt definition had a part in.

    Raises:
        UnknownNameError: the set does not exist.
    """
    found = []
    for saved in require_saved_set(db, set_name):
        used = db.execute(USED, (saved.turn,)).fetchall()
        agent = db.execute("SELECT agent_id FROM turn WHERE id = ?", (saved.turn,)).get
        if not name or name == agent or any(name in row for row in used):
            found.append(OwnedTest(str(agent), saved))
    return tuple(found)


def list_last_tests(db: Database, name: str, count: int) -> tuple[OwnedTest, ...]:
    """Return the newest turns of an agent or a prompt definition, oldest first.

    Each must make the same calls again.
    """
    rows = db.execute(NEWEST, (name, count)).fetchall()
    return tuple(
        OwnedTest(
            str(agent),
            SavedTurn(set_name="last", turn=str(turn), question=_read_question(db, turn)),
        )
        for turn, agent in reversed(rows)
    )


def add_saved_turn(db: Database, saved: SavedTurn, by: str, now: int) -> SavedTurn:
    """Save a turn as a test, or give it other checks; return it with its whole id.

    Raises:
        CheckError: a line is no check.
        UnknownNameError: no turn has the name, or several have.
    """
    parse_checks(saved.checks)
    turn_id = find_turn_id(db, saved.turn)
    count = "SELECT count(*) FROM saved_turn WHERE set_name = ? AND turn_id <> ?"
    if db.execute(count, (saved.set_name, turn_id)).get >= MAX_TURNS:
        raise UnknownNameError(f"the set {saved.set_name} is full: it has {MAX_TURNS} turns")
    db.execute(
        "INSERT INTO saved_turn(set_name, turn_id, checks, by_user, at) VALUES(?,?,?,?,?)"
        " ON CONFLICT(set_name, turn_id) DO UPDATE SET checks = excluded.checks,"
        " by_user = excluded.by_user, at = excluded.at",
        (saved.set_name, turn_id, saved.checks, by, now),
    )
    digest = hashlib.sha256(saved.checks.encode()).hexdigest()[:12]
    subject = SUBJECT.format(name=saved.set_name, turn=turn_id)
    audit.record_decision(db, by, "saved a turn as a test", f"{subject}, checks {digest}", now)
    return _find_saved_turn(db, saved.set_name, turn_id)


def remove_saved_turn(db: Database, saved: SavedTurn, by: str, now: int) -> SavedTurn:
    """Remove a turn from a set, which the turn itself does not notice; return what was removed.

    Raises:
        UnknownNameError: it is not in the set.
    """
    found = _find_saved_turn(db, saved.set_name, saved.turn)
    place = (found.set_name, found.turn)
    db.execute("DELETE FROM saved_turn WHERE set_name = ? AND turn_id = ?", place)
    subject = SUBJECT.format(name=found.set_name, turn=found.turn)
    audit.record_decision(db, by, "removed a test", subject, now)
    return found


def _read_question(db: Database, turn_id: str) -> str:
    text = db.execute(
        "SELECT text FROM inbox WHERE turn_id = ? ORDER BY id LIMIT 1", (turn_id,)
    ).get
    return str(text or "")[:SHOWN]


def _find_saved_turn(db: Database, set_name: str, name: str) -> SavedTurn:
    saved = require_saved_set(db, set_name)
    found = [one for one in saved if one.turn.endswith(name) or one.turn.startswith(name)]
    exact = [one for one in found if one.turn == name] or found
    if len(exact) != 1:
        what = "several turns fit" if exact else "no turn fits"
        raise UnknownNameError(f"{what} {name!r} in the set {set_name}; see: sets show {set_name}")
    return exact[0]
