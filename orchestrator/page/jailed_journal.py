"""Enter the page's jail with an open journal."""

import os
from pathlib import Path

from orchestrator.journal_address import DatabaseServer
from orchestrator.page.page_reads import PageReads, open_reads
from orchestrator.page_wire import STORE_VARIABLE
from orchestrator.processes.page_jail import confine
from thinker.jail.environment_block import take_secrets
from thinker.jail.hardening import harden
from thinker.protocol.sandbox import SandboxReport


def enter_jail(journal: Path) -> tuple[PageReads, SandboxReport]:
    """Close the jail around this process, and return the journal and what holds of the jail.

    A file is opened from inside; see `page_jail`. The connection to a database server, whose
    address the environment has, must be there before: the jail has no network.

    Raises:
        JournalError: it cannot be read.
    """
    if not os.environ.get(STORE_VARIABLE):
        sandbox = confine(journal)
        return open_reads(journal), sandbox
    harden()
    store = take_secrets([STORE_VARIABLE])[STORE_VARIABLE]
    reads = open_reads(DatabaseServer(store, journal))
    return reads, confine(journal)
