"""Read and change the journal, with or without a running daemon.

Separate from `client`, because most commands need no database.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from orchestrator.cli.other_user import require_owner
from orchestrator.errors import JournalError, NotRunningError
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading, open_for_writing
from orchestrator.journal.turns import chat_moves
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock

if TYPE_CHECKING:
    from thinker.protocol.peer import Params

R = TypeVar("R", bound=BaseModel)
S = TypeVar("S")


def load_moved_chats(settings: Settings) -> Mapping[str, Mapping[str, str]]:
    """Return the first ids of moved chats, keyed by new id; empty without a journal."""
    with suppress(JournalError), open_for_reading(settings.journal) as db:
        return chat_moves.load_all_moves(db)
    return {}


def ask_or_read(
    settings: Settings, method: str, result: type[R], read: Callable[[Database], R]
) -> R:
    """Return a list from the daemon, or ``read`` it from the journal without a daemon.

    Raises:
        JournalError: there is no journal.
    """
    from orchestrator.cli.client import ask_daemon  # noqa: PLC0415 - `check` needs no daemon

    try:
        return ask_daemon(settings, method, None, result)
    except NotRunningError:
        with open_for_reading(settings.journal) as db:
            return read(db)


def change_journal(
    settings: Settings,
    method: str,
    params: "Params",
    apply: Callable[[Database, S, int], None],
    subject: S,
) -> None:
    """Have the daemon make a change; without a daemon, lock the home and ``apply`` it here.

    ``apply`` gets the journal, ``subject`` and the time in milliseconds since the epoch.

    Raises:
        OrchestratorError: there is no journal (none is created), or the change is refused.
    """
    from orchestrator.cli.client import send_order  # noqa: PLC0415 - as above

    try:
        send_order(settings, method, params)
    except NotRunningError:
        require_owner(settings.home)  # its daemon could not write to files that this one makes
        with open_for_reading(settings.journal):
            pass  # it raises without a journal, which `open_for_writing` would create
        with hold_lock(settings), open_for_writing(settings.journal) as db:
            apply(db, subject, time.time_ns() // 1_000_000)
