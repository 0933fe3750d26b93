"""Golden journals: what released versions left behind, with turns in every state."""

from contextlib import closing
from pathlib import Path

import apsw

FILES = sorted((Path(__file__).parent.parent / "golden").glob("*.sql"))


def restore(path: Path, golden: Path = FILES[0]) -> None:
    """Write a golden journal to ``path`` as the version that made it would have left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(golden.read_text("utf-8"))
