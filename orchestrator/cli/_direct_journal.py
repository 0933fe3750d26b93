"""Lists and changes of the journal that work with and without a running daemon.

Apart from `_client`, because most commands need no database.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel

from orchestrator.cli._client import ask, order
from orchestrator.cli._other_user import require_owner
from orchestrator.errors import JournalError, NotRunningError
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import reading, writing
from orchestrator.journal.turns import chat_moves
from orchestrator.settings import Settings
from orchestrator.system.homelock import locked
from thinker.protocol.peer import Params

R = TypeVar("R", bound=BaseModel)
S = TypeVar("S")


def moved_chats(settings: Settings) -> Mapping[str, str]:
    """Return the first ids of Telegram's moved chats by their new ids; none without a journal."""
    with suppress(JournalError), reading(settings.journal) as db:
        return chat_moves.every(db, "telegram")
    return {}


def paired_chats(settings: Settings) -> frozenset[tuple[str, str]]:
    """Return the channels and ids of the chats that are admitted; none without a journal."""
    with suppress(JournalError), reading(settings.journal) as db:
        return pairing.approved(db)
    return frozenset()


def ask_or_read(
    settings: Settings, method: str, result: type[R], read: Callable[[Database], R]
) -> R:
    """Ask the daemon for a list; without a daemon, ``read`` it in the journal.

    Raises:
        JournalError: there is no journal.
    """
    try:
        return ask(settings, method, None, result)
    except NotRunningError:
        with reading(settings.journal) as db:
            return read(db)


def change(
    settings: Settings,
    method: str,
    params: Params,
    apply: Callable[[Database, S, int], None],
    subject: S,
) -> None:
    """Ask the daemon for a change; without a daemon, lock the home and ``apply`` it here.

    ``apply`` gets the journal, ``subject`` and the time in milliseconds since the epoch.

    Raises:
        OrchestratorError: there is no journal (none is created), or the change is refused.
    """
    try:
        order(settings, method, params)
    except NotRunningError:
        require_owner(settings.home)  # its daemon could not write to files that this one makes
        with reading(settings.journal):  # raises without a journal, which `writing` would create
            pass
        with locked(settings), writing(settings.journal) as db:
            apply(db, subject, time.time_ns() // 1_000_000)
