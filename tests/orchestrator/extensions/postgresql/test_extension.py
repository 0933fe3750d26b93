"""What PostgreSQL adds, as the core asks for it."""

from importlib import import_module
from pathlib import Path

import pytest
from fakes.postgresql import database_of, needs_server
from pydantic import SecretStr

from orchestrator.extensions.postgresql import extension
from orchestrator.extensions.postgresql.extension import PostgresqlExtension
from orchestrator.extensions.postgresql.shared_config import (
    config_placing,
    pushed_config,
)
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile
from orchestrator.installed import find_installed
from orchestrator.journal.opening import open_for_writing, open_journal
from orchestrator.journal_address import DatabaseServer
from orchestrator.settings import Settings

A = PushedFile("agents.json", executable=False, data=b"{}")


def test_extension_is_found_by_its_entry_point() -> None:
    """As that of a stranger would be."""
    assert isinstance(find_installed().own["postgresql"], PostgresqlExtension)


def test_each_command_has_an_application() -> None:
    """It is imported when the command runs."""
    for command in PostgresqlExtension().list_commands().values():
        assert callable(import_module(command.module).app)
        assert command.summary.endswith(".")


def test_journal_in_a_file_has_no_engine_here(tmp_path: Path) -> None:
    """The core keeps it."""
    assert PostgresqlExtension().build_engine(tmp_path / "journal.db") is None


def test_engine_needs_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the core says what to install."""
    server = DatabaseServer("postgresql://localhost/j", tmp_path / "journal.db")
    assert PostgresqlExtension().build_engine(server) is not None
    monkeypatch.setattr(extension, "find_spec", lambda _: None)
    assert PostgresqlExtension().build_engine(server) is None


@needs_server
def test_home_gets_the_shared_configuration_before_the_daemon_reads_it(tmp_path: Path) -> None:
    """One with a journal in a file has its own."""
    settings = Settings(home=tmp_path, store=SecretStr(database_of(tmp_path)))
    open_journal(settings.journal).close()
    with open_for_writing(settings.journal) as db:
        pushed_config.store_version(db, [A], "one", 1)
    PostgresqlExtension().prepare_home(Settings(home=tmp_path))
    assert not (tmp_path / "agents.json").exists()
    PostgresqlExtension().prepare_home(settings)
    assert (tmp_path / "agents.json").read_bytes() == b"{}"
    assert config_placing.load_applied_version(settings.paths).version == 1
