"""Settings from the environment, and the files of a home."""

from pathlib import Path

import pytest

from orchestrator.errors import ConfigError
from orchestrator.home_paths import Paths, find_bundled_path
from orchestrator.settings import DefaultPrompt, Settings
from thinker.protocol.providers import list_key_variables


def test_defaults_hold_in_an_empty_environment() -> None:
    """An empty variable counts as not set."""
    for environ in ({}, {"ORCHESTRATOR_HOME": "", "TELEGRAM_API_URL": ""}):
        settings = Settings.read_environ(environ)
        assert settings.home == Path.home() / ".orchestrator"
        assert settings.telegram_api_url == "https://api.telegram.org"
        assert settings.telegram_bot_token is None
        assert settings.drain_seconds == 20


def test_every_variable_is_read(tmp_path: Path) -> None:
    """By its name."""
    settings = Settings.read_environ(
        {
            "ORCHESTRATOR_HOME": str(tmp_path),
            "ORCHESTRATOR_CONFIG": "~/mine.json",
            "ORCHESTRATOR_LOG_LEVEL": "debug",
            "ORCHESTRATOR_DRAIN_SECONDS": "2.5",
            "ORCHESTRATOR_SPAWN": "exec",
            "TELEGRAM_BOT_TOKEN": "1:canary",
            "TELEGRAM_API_URL": "http://127.0.0.1:8081",
        }
    )
    assert settings.home == tmp_path
    assert settings.find_agents_file() == Path.home() / "mine.json"
    assert (settings.log_level, settings.drain_seconds) == ("debug", 2.5)
    assert settings.telegram_api_url == "http://127.0.0.1:8081"
    assert settings.telegram_bot_token is not None
    assert settings.telegram_bot_token.get_secret_value() == "1:canary"
    assert "canary" not in repr(settings)


def test_template_of_the_keys_names_every_secret() -> None:
    """A key that is not shown cannot be found."""
    text = (find_bundled_path("config") / "keys.env").read_text("utf-8")
    for name in (*list_key_variables(), "TELEGRAM_BOT_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS"):
        assert f"\n#{name}=\n" in text


def test_dotenv_of_the_working_directory_is_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor this process's own environment, when another one is given."""
    (tmp_path / ".env").write_text("ORCHESTRATOR_DRAIN_SECONDS=1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_DRAIN_SECONDS", "3")
    assert Settings.read_environ({}).drain_seconds == 20


def test_unusable_value_is_refused_by_its_variables_name() -> None:
    """All of them at once; a value that may be a secret is not repeated."""
    environ = {"ORCHESTRATOR_DRAIN_SECONDS": "canary", "TELEGRAM_API_URL": "canary"}
    with pytest.raises(ConfigError) as caught:
        Settings.read_environ(environ)
    text = str(caught.value)
    assert "ORCHESTRATOR_DRAIN_SECONDS: must" in text
    assert "TELEGRAM_API_URL: " in text
    assert "canary" not in text


def test_own_agents_file_is_preferred_to_the_bundled_one(tmp_path: Path) -> None:
    """`orchestrator init` writes it."""
    settings = Settings.read_environ({"ORCHESTRATOR_HOME": str(tmp_path)})
    assert settings.find_agents_file() == find_bundled_path("config") / "agents.json"
    (tmp_path / "agents.json").touch()
    assert settings.find_agents_file() == tmp_path / "agents.json"


def test_default_prompt_comes_from_the_environment_then_the_home_then_the_program(
    tmp_path: Path,
) -> None:
    """Personas too, but for the program's, which has none."""
    environ = {"ORCHESTRATOR_HOME": str(tmp_path)}
    bare = Settings.read_environ(environ)
    assert bare.find_default_prompt().source == "bundled"
    assert bare.find_default_prompt().path.is_file()
    assert bare.personas == tmp_path / "agents"
    own = tmp_path / "prompts" / "default-system-prompt.md"
    own.parent.mkdir()
    own.symlink_to("nothing")  # which is told, not passed over
    assert bare.find_default_prompt() == DefaultPrompt(own, "home")
    named = {"THINKER_DEFAULT_SYSTEM_PROMPT_PATH": "/d.md", "THINKER_PERSONA_DIR": "/p"}
    chosen = Settings.read_environ(environ | named)
    assert chosen.find_default_prompt() == DefaultPrompt(Path("/d.md"), "environment")
    assert chosen.personas == Path("/p")


def test_home_is_prepared_for_its_owner_alone(tmp_path: Path) -> None:
    """Also when it was there before with wider rights."""
    paths = Settings.read_environ({"ORCHESTRATOR_HOME": str(tmp_path / "deep" / "home")}).paths
    paths.create_directories()
    paths.home.chmod(0o755)
    paths.create_directories()
    folders = [paths.home, paths.control_socket.parent, paths.agent_prompts, paths.personas]
    folders += [paths.skills, paths.prompts]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * len(folders)
    assert {p.parent for p in (paths.journal, paths.lock, paths.last_good)} == {paths.home}


def test_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """With the variable to change."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="ORCHESTRATOR_HOME"):
        Paths(tmp_path / "file").create_directories()


def test_home_too_long_for_a_socket_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """Linux allows 107 bytes; bytes count, not characters."""
    room = 107 - len("/run/control.sock")
    assert len(bytes(Paths(Path("/" + "x" * (room - 1))).control_socket)) == 107
    paths = Paths(tmp_path / ("é" * 60))
    with pytest.raises(ConfigError, match="bytes too long"):
        paths.create_directories()
    assert not paths.home.exists()
