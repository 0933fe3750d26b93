"""Say where the journal is, and whether its server keeps what a daemon was promised."""

from collections.abc import Iterator

from orchestrator.doctor.findings import Finding
from orchestrator.errors import ConfigError, JournalError
from orchestrator.journal.opening import require_driver
from orchestrator.journal_address import DatabaseServer, JournalAddress

NO_STANDBY = (
    "what was answered can be lost with the server's disk; for no loss it needs a standby that"
    " synchronous_standby_names names"
)
ALONE = "no other daemon stands by; while the one that works is down, no message is answered"
NOT_SAFE = "synchronous_commit is off, so a crash of the server loses what was answered; set it on"


def journal_findings(address: JournalAddress) -> Iterator[Finding]:
    """Yield what is to be known of the journal's place."""
    if not isinstance(address, DatabaseServer):
        yield Finding(subject="journal", verdict="ok", text=f"in the file {address}")
        return
    try:
        require_driver()
        from orchestrator.journal.postgresql import pg_facts  # noqa: PLC0415 - optional

        facts = pg_facts.facts(address)
    except (ConfigError, JournalError) as error:
        yield Finding(subject="journal", verdict="problem", text=str(error))
        return
    yield Finding(subject="journal", verdict="ok", text=f"in {address}, PostgreSQL {facts.version}")
    if not facts.safe:
        yield Finding(subject="journal", verdict="problem", text=NOT_SAFE)
    elif not facts.standbys:
        yield Finding(subject="journal", verdict="warning", text=NO_STANDBY)
    works = ", ".join(one.name for one in facts.sharing if one.works) or "no daemon"
    waits = [one.name for one in facts.sharing if not one.works]
    if waits:
        text = f"{works} works, {', '.join(waits)} stands by"
        yield Finding(subject="nodes", verdict="ok", text=text)
    else:
        yield Finding(subject="nodes", verdict="ok", text=ALONE)
