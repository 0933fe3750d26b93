"""The jail of the page's process: no network, no program, no file but its code and the journal.

SQLite opens the write-ahead log and its index for writing where it can, so the journal is opened
from inside the jail, which lets its files be read.
"""

from pathlib import Path

from thinker.jail.worker_jail import prepare
from thinker.protocol.sandbox import SandboxReport


def confine(journal: Path) -> SandboxReport:
    """Close the jail around this process, and return what holds of it."""
    journal = journal.resolve()
    beside = (journal.with_name(f"{journal.name}-{part}") for part in ("wal", "shm"))
    return prepare(serves=True).close([journal, *beside], Path.cwd()).report
