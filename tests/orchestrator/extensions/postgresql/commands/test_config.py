"""``orchestrator config``: what is checked, pushed, refused and shown."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fakes.control_server import command
from fakes.postgresql import database_of, needs_server, sqlite_only
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.cli.config_examination import ExaminedConfig, examine_config
from orchestrator.errors import ExitCode
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.shared_config import pushed_config
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal_address import DatabaseServer

AGENTS = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}
KEY = "sk-a-key-that-must-stay-here"


def write(folder: Path, agents: object = AGENTS) -> Path:
    """A folder with an agents.json."""
    folder.mkdir(exist_ok=True)
    (folder / "agents.json").write_text(json.dumps(agents, indent=1), "utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with keys, a token and a skill."""
    home = write(tmp_path / "home")
    for name in ("keys.env", "http-token", "journal.db", "daemon.log"):
        (home / name).write_text(f"OPENAI_API_KEY={KEY}\n", "utf-8")
        (home / name).chmod(0o600)
    (home / "hooks").mkdir()
    (home / "hooks/x.py").write_text("", "utf-8")
    return home


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatabaseServer:
    """The journal that the environment names."""
    url = database_of(tmp_path / "server")
    monkeypatch.setenv("ORCHESTRATOR_STORE", url)
    monkeypatch.setattr("fakes.control_server.store_of", lambda _: {"ORCHESTRATOR_STORE": url})
    return DatabaseServer(url, tmp_path / "journal.db")


@needs_server
def test_home_is_pushed_without_its_secrets(home: Path, server: DatabaseServer) -> None:
    """Once; the second time nothing is new."""
    done = command(home, "config", "push")
    assert done.exit_code == 0, done.stderr
    assert "pushed version 1: 2 files" in done.stdout
    again = command(home, "config", "push")
    assert "version 1 already has these files; nothing was pushed" in again.stdout
    assert again.exit_code == 0
    with open_for_reading(server) as db:
        files = pushed_config.list_version_files(db, 1)
        assert [file.name for file in files] == ["agents.json", "hooks/x.py"]
        assert not any(KEY.encode() in file.data for file in files)


@needs_server
def test_error_is_told_with_its_line_and_nothing_is_pushed(
    home: Path, server: DatabaseServer
) -> None:
    """As `orchestrator check` tells it."""
    write(home, {"agents": [{"agentId": "work", "llmProvider": "demo", "modell": "x"}]})
    checked = command(home, "check")
    done = command(home, "config", "push")
    assert done.exit_code == checked.exit_code == ExitCode.CONFIG
    assert done.stdout.splitlines()[0] == checked.stdout.splitlines()[0]
    assert "agents.json:" in done.stdout
    assert "nothing was pushed: 1 error; correct and push again" in done.stderr
    with open_for_reading(server) as db:
        assert pushed_config.find_newest_version(db) is None


@needs_server
def test_other_folder_is_checked_with_the_keys_of_this_home(
    home: Path, tmp_path: Path, server: DatabaseServer
) -> None:
    """As of a checkout, which has no keys; hidden files are named."""
    agents = {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "mcpServers": {"x": {"command": "true", "env": {"TOKEN": "${OPENAI_API_KEY}"}}},
    }
    folder = write(tmp_path / "checkout", agents)
    (folder / "skills/.git").mkdir(parents=True)
    done = command(home, "config", "push", str(folder))
    assert done.exit_code == 0, (done.stdout, done.stderr)
    assert "left out: skills/.git" in done.stdout
    (home / "keys.env").unlink()
    assert "OPENAI_API_KEY" in command(home, "config", "push", str(folder)).stdout
    with open_for_reading(server) as db:
        assert KEY.encode() not in pushed_config.list_version_files(db, 1)[0].data


@needs_server
@pytest.mark.usefixtures("server")
def test_secret_in_agents_json_is_told(home: Path) -> None:
    """It is pushed, as it is part of the file."""
    servers = {"x": {"command": "true", "env": {"API_TOKEN": KEY}}}
    write(home, AGENTS | {"mcpServers": servers})
    done = command(home, "config", "push")
    assert done.exit_code == 0, done.stderr
    assert "agents.json holds secrets" in done.stdout
    assert "keys.env of each machine" in done.stdout
    assert KEY not in done.stdout


@needs_server
@pytest.mark.usefixtures("server")
def test_wrong_folder_is_told_with_what_to_do(home: Path, tmp_path: Path) -> None:
    """Whatever is wrong with it."""
    assert (
        "has no agents.json; give a folder" in command(home, "config", "push", str(tmp_path)).stderr
    )
    missing = command(home, "config", "push", str(tmp_path / "missing"))
    assert (missing.exit_code, "has no agents.json" in missing.stderr) == (78, True)
    empty = command(tmp_path / "server-home", "config", "push")
    assert "make one with: orchestrator init" in empty.stderr
    (home / "prompts").mkdir()
    (home / "prompts/x.md").symlink_to("/etc/hostname")
    assert "this link leads out of" in command(home, "config", "push").stderr
    env = {"ORCHESTRATOR_HOME": str(home), "ORCHESTRATOR_CONFIG": str(tmp_path / "x.json")}
    named = CliRunner().invoke(app, ["config", "push"], env=env)
    assert "unset it, or give the folder" in named.stderr


@needs_server
def test_edit_during_the_check_is_refused(
    home: Path, server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is what was checked."""

    def edited(*arguments: Any) -> ExaminedConfig:
        (home / "hooks/y.py").touch()
        return examine_config(*arguments)

    monkeypatch.setattr("orchestrator.extensions.postgresql.commands.config.examine_config", edited)
    assert "was changed while it was checked; push again" in command(home, "config", "push").stderr
    with open_for_reading(server) as db:
        assert pushed_config.find_newest_version(db) is None


@needs_server
@pytest.mark.usefixtures("server")
def test_versions_are_shown_and_written_to_a_folder(home: Path, tmp_path: Path) -> None:
    """The newest one, or an earlier one to push it again."""
    assert "nothing was pushed yet" in command(home, "config", "show").stdout
    nothing = json.loads(command(home, "config", "show", "--json").stdout)
    assert (nothing["version"], nothing["files"]) == (None, [])
    command(home, "config", "push")
    write(home, {"agents": [{"agentId": "other", "llmProvider": "demo"}]})
    command(home, "config", "push")
    shown = command(home, "config", "show").stdout
    assert "version 2, pushed " in shown
    assert "this home has no pushed version yet" in shown
    assert "hooks/x.py" in shown
    report = json.loads(command(home, "config", "show", "--json").stdout)
    assert (report["version"], report["applied"]) == (2, None)
    assert [file["name"] for file in report["files"]] == ["agents.json", "hooks/x.py"]
    folder = tmp_path / "before"
    written = command(home, "config", "show", "--version", "1", "--to", str(folder))
    assert "push them again with" in written.stdout
    assert "pushed version 3" in command(home, "config", "push", str(folder)).stdout
    unknown = command(home, "config", "show", "--version", "9")
    assert (unknown.exit_code, "version 9 is not stored" in unknown.stderr) == (64, True)


@needs_server
def test_journal_without_the_program_s_tables_is_told(home: Path, server: DatabaseServer) -> None:
    """As for every command."""
    with closing(PostgresConnection(server.url)) as db:
        db.execute("DROP TABLE schema_version")
    done = command(home, "config", "push")
    assert (done.exit_code, "start the daemon" in done.stderr) == (ExitCode.IO, True)


@sqlite_only
@pytest.mark.parametrize("arguments", [("push",), ("show",)])
def test_journal_in_a_file_has_no_other_machines(home: Path, arguments: tuple[str, ...]) -> None:
    """The message says what the configuration is then, and how it may be shared."""
    done = command(home, "config", *arguments)
    assert done.exit_code == ExitCode.CONFIG
    assert "the files of this machine are the configuration" in done.stderr
    assert "orchestrator help postgresql" in done.stderr


def test_server_that_is_away_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to check."""
    url = "postgresql://127.0.0.1:1/x"
    monkeypatch.setattr("fakes.control_server.store_of", lambda _: {"ORCHESTRATOR_STORE": url})
    done = command(home, "config", "push")
    assert done.exit_code == ExitCode.IO
    assert "check the server and ORCHESTRATOR_STORE" in done.stderr
