"""The jail of a process that shows the journal, such as the page's.

It has no network, cannot run programs, and sees only its code and the journal.

SQLite opens the write-ahead log and its index for writing where it can, so the journal is opened
from inside the jail, which lets its files be read.
"""

from pathlib import Path

from thinker.jail.worker_jail import prepare_jail
from thinker.protocol.sandbox import SandboxReport


def confine_to_journal(journal: Path) -> SandboxReport:
    """Jail this process, and return what was enforced."""
    journal = journal.resolve()
    parts = (journal.with_name(f"{journal.name}-{part}") for part in ("wal", "shm"))
    return prepare_jail(serves=True).close_jail([journal, *parts], Path.cwd()).report
