"""Enter the page's jail with an open journal."""

import os
from pathlib import Path

from orchestrator.extensions.page.page_reads import open_reads
from orchestrator.extensions.page.page_wire import STORE_VARIABLE
from orchestrator.journal.engine import PageReads
from orchestrator.journal_address import DatabaseServer
from orchestrator.processes.journal_jail import confine_to_journal
from thinker.jail.environment_block import take_secrets
from thinker.jail.hardening import harden_process
from thinker.protocol.sandbox import SandboxReport


def enter_jail(journal: Path) -> tuple[PageReads, SandboxReport]:
    """Jail this process; return the journal and what was enforced.

    A file is opened from inside; see `journal_jail`. A database server, whose address is in the
    environment, must be connected before: the jail has no network.

    Raises:
        JournalError: the journal cannot be read.
    """
    if not os.environ.get(STORE_VARIABLE):
        sandbox = confine_to_journal(journal)
        return open_reads(journal), sandbox
    harden_process()
    store = take_secrets([STORE_VARIABLE])[STORE_VARIABLE]
    reads = open_reads(DatabaseServer(store, journal))
    return reads, confine_to_journal(journal)
