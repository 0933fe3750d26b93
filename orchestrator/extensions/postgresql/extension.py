"""The extension for PostgreSQL: the journal, and a configuration shared by machines."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part
from orchestrator.journal_address import DatabaseServer, JournalAddress

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.control.protocol import StatusReport
    from orchestrator.journal.engine import Engine
    from orchestrator.settings import Settings

COMMANDS = "orchestrator.extensions.postgresql.commands"


class PostgresqlExtension(Extension):
    """Keeps the journal in a database; the settings name it (ORCHESTRATOR_STORE)."""

    name = "postgresql"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "config": Command(
                group="Set up",
                summary="Push the configuration to all machines that share a journal.",
                module=f"{COMMANDS}.config",
            ),
            "nodes": Command(
                group="Set up",
                summary="List the machines that share a journal, or drain one.",
                module=f"{COMMANDS}.nodes",
            ),
            "migrate": Command(
                group="Data",
                summary="Move the journal to PostgreSQL, or back to a file.",
                module=f"{COMMANDS}.migrate",
            ),
        }

    def build_engine(self, address: JournalAddress) -> "Engine | None":
        """Return the engine, if the driver is installed."""
        if not isinstance(address, DatabaseServer) or find_spec("psycopg") is None:
            return None
        from orchestrator.extensions.postgresql.pg_engine import PostgresqlEngine

        return PostgresqlEngine(address)

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterator[Finding]:
        """Report the guarantees of the journal's server."""
        del file, status
        server = settings.journal
        if isinstance(server, DatabaseServer) and self.build_engine(server) is not None:
            from orchestrator.extensions.postgresql.pg_facts import examine_server

            yield from examine_server(server)

    def prepare_home(self, settings: "Settings") -> None:
        """Update the home to the newest shared configuration."""
        server = settings.journal
        if isinstance(server, DatabaseServer):
            from orchestrator.extensions.postgresql.shared_config import config_follower

            config_follower.update_home(settings, server)

    def build_part(self, daemon: DaemonView) -> Part | None:
        """Follow the shared configuration; with a journal in a file there is none."""
        if not isinstance(daemon.store.address, DatabaseServer):
            return None
        from orchestrator.extensions.postgresql.shared_config.config_follower import ConfigFollower

        return ConfigFollower(daemon)
