"""Changes of the journal that need no daemon: a running one makes them, else we do."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

import apsw

from orchestrator.cli._client import ask
from orchestrator.control.protocol import Ack
from orchestrator.errors import NotRunningError
from orchestrator.journal.db.store import open_database, reading
from orchestrator.settings import Settings
from orchestrator.system.homelock import locked
from thinker.protocol.peer import Params

S = TypeVar("S")


def change(
    where: Settings,
    method: str,
    params: Params,
    make: Callable[[apsw.Connection, S, int], None],
    subject: S,
) -> None:
    """Ask the daemon; where none runs, ``make`` the change ourselves, as the only owner.

    ``make`` gets the journal, its ``subject`` and the time in milliseconds.

    Raises:
        OrchestratorError: there is no journal (none is made), or the change is refused.
    """
    try:
        ask(where, method, params, Ack)
    except NotRunningError:
        journal = where.paths.journal
        with reading(journal):  # says so where there is none
            pass
        with locked(where), closing(open_database(journal)) as db, db:
            make(db, subject, time.time_ns() // 1_000_000)
