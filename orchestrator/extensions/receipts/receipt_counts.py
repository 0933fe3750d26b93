"""Count what receipts doubt, and what of it people have confirmed."""

import time
from contextlib import suppress

from orchestrator.errors import JournalError
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.turns.receipts import count_claims
from orchestrator.journal_address import JournalAddress

DAYS = 30
DAY_MS = 86_400_000


def describe_counts(journal: JournalAddress) -> str:
    """Return the counts of the last days in words; empty if no claim was doubted."""
    with suppress(JournalError), open_for_reading(journal) as db:
        found = count_claims(db, round(time.time() * 1000) - DAYS * DAY_MS)
        if found.doubted:
            return (
                f"in {DAYS} days the calls did not show {found.doubted} claims of answers;"
                f" people say that {found.confirmed} of these were true"
            )
    return ""
