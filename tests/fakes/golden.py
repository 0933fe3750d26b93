"""Golden journals: what released versions left behind, with turns in every state."""

from contextlib import closing
from pathlib import Path

import apsw
from fakes.journal import address_of

from orchestrator.journal import moving
from orchestrator.journal_address import DatabaseServer

FILES = sorted((Path(__file__).parent.parent / "golden").glob("*.sql"))


def restore(path: Path, golden: Path = FILES[0]) -> None:
    """Write a golden journal to ``path`` as the version that made it would have left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(golden.read_text("utf-8"))


def restore_in(folder: Path) -> None:
    """Let a folder have the oldest golden journal, wherever the journals of this run are."""
    restore(folder / "journal.db")
    address = address_of(folder)
    if isinstance(address, DatabaseServer):
        moving.move_to_server(address)
