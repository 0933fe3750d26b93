"""The audit log: whatever is changed afterwards shows."""

from pathlib import Path

import pytest
from fakes.journal import opened

from orchestrator.journal.db import audit


@pytest.mark.parametrize(
    ("tampering", "first_broken"),
    [
        ("SELECT 1", None),
        ("UPDATE audit SET act = 'allowed' WHERE id = 2", 2),
        ("UPDATE audit SET at = 99 WHERE id = 3", 3),
        ("DELETE FROM audit WHERE id = 2", 3),
        ("DELETE FROM audit WHERE id = 1", 2),
        ("UPDATE audit SET actor = 'a', act = 'b|refused' WHERE id = 1", 1),
        ("UPDATE audit SET act = 'refused|x', object = '1' WHERE id = 1", 1),
    ],
)
def test_changed_or_missing_entry_breaks_the_chain(
    tmp_path: Path, tampering: str, first_broken: int | None
) -> None:
    """The first entry that does not fit is named."""
    with opened(tmp_path) as db:
        for number in range(1, 5):
            audit.record_decision(db, "policy", "refused", f"x|{number}", number)
        db.execute(tampering)
        assert audit.find_broken_entry(db) == first_broken
