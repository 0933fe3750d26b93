"""What is looked at beside the jails."""

from pathlib import Path

import pytest
from fakes.agents_file import validate_file
from fakes.installed_extensions import install_extensions
from pydantic import SecretStr

from orchestrator import installed as installed_extensions
from orchestrator.control.agent_report import AgentReport
from orchestrator.control.protocol import StatusReport
from orchestrator.extension import Command, Extension, Finding
from orchestrator.extensions.doctor import examination
from orchestrator.extensions.doctor.examination import (
    build_probe_targets,
    list_extensions,
    list_findings,
)
from orchestrator.installed import InstalledExtensions
from orchestrator.journal.db.journal_file import mark_file_failed
from orchestrator.settings import Settings


def found(home: Path, environ: dict[str, str] | None = None) -> dict[str, Finding]:
    every = list_findings(Settings(home=home), None, environ or {}, None)
    return {one.subject: one for one in every}


def test_home_that_others_may_read_is_a_problem_with_its_correction(tmp_path: Path) -> None:
    """A private one is fine, a missing one a warning."""
    tmp_path.chmod(0o700)
    assert found(tmp_path)["home"].verdict == "ok"
    tmp_path.chmod(0o750)
    problem = found(tmp_path)["home"]
    assert (problem.verdict, "chmod 700" in problem.text) == ("problem", True)
    assert found(tmp_path / "none")["home"].verdict == "warning"


def test_keys_are_named_and_not_shown(tmp_path: Path) -> None:
    """An empty variable is no key."""
    environ = {"GROQ_API_KEY": "gsk-4711", "TELEGRAM_BOT_TOKEN": "1:a", "OPENAI_API_KEY": ""}
    keys = found(tmp_path, environ)["keys"]
    assert keys.text == "GROQ_API_KEY, TELEGRAM_BOT_TOKEN"


def test_what_a_running_daemon_wants_to_be_known_is_a_warning(tmp_path: Path) -> None:
    """Such as a collector that takes nothing."""
    note = "the collector at c:4318 has not accepted traces for 6 minutes"
    report = StatusReport(
        ready=True,
        version="1",
        home=str(tmp_path),
        config_file="agents.json",
        agents=(),
        channels=(),
        config_errors=(),
        open_turns=0,
        inbox={},
        notes=(note,),
    )
    every = list_findings(Settings(home=tmp_path), None, {}, report)
    assert ("daemon", "warning", note) in [(one.subject, one.verdict, one.text) for one in every]


def test_nothing_is_written(tmp_path: Path) -> None:
    """Not even where writing is tried."""
    before = tmp_path.stat().st_mtime_ns
    assert found(tmp_path)["writing"].verdict == "ok"
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mtime_ns == before


@pytest.mark.parametrize("count", [0, 1, 2])
def test_probe_takes_the_first_agents_place(tmp_path: Path, count: int) -> None:
    """It tries the second one's files; without agents there is still a home to try."""
    agents = [{"agent_id": f"a{number}", "llm_provider": "demo"} for number in range(count)]
    file = validate_file({"agents": agents}) if agents else None
    (tmp_path / "agents.json").touch()  # without it the bundled one is in force, which is no secret
    aimed = build_probe_targets(Settings(home=tmp_path), file, 1)
    assert {"home", "agents.json", "journal", "control socket"} <= aimed.paths.keys()
    assert ("another agent's folder" in aimed.paths) == (count == 2)
    assert (tmp_path / "agents" / "a0" in aimed.own) == (count > 0)


def test_journal_is_in_its_file_by_default(tmp_path: Path) -> None:
    """Nothing is asked of a server."""
    place = Finding("journal", f"in the file {tmp_path / 'journal.db'}")
    assert found(tmp_path)["journal"] == place


def test_journal_that_ended_the_last_daemon_is_a_problem(tmp_path: Path) -> None:
    """The daemon cannot say it: it has ended."""
    mark_file_failed(tmp_path / "journal.db", "the journal is damaged; restore a backup")
    told = Finding("journal", "the journal is damaged; restore a backup", "problem")
    assert found(tmp_path)["journal"] == told


def test_journal_that_no_extension_keeps_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to install is named."""
    for module in (installed_extensions, examination):
        monkeypatch.setattr(module, "find_installed", lambda: InstalledExtensions({}, {}, {}, {}))
    settings = Settings(home=tmp_path, store=SecretStr("postgresql://localhost/j"))
    (place,) = [one for one in list_findings(settings, None, {}, None) if one.subject == "journal"]
    assert place.verdict == "problem"
    assert "pip install 'orchestrator-daemon[postgresql]'" in place.text


def test_each_extension_is_named_with_what_keeps_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other distributions say how to use them; ours may have been deleted."""
    shipped = {"page": False, "matrix": True, "telegram": False}
    monkeypatch.setattr(examination, "list_shipped", lambda: shipped)
    pigeon, owl = Extension(), Extension()
    some = InstalledExtensions(
        own={"page": Extension()},
        foreign={"pigeon": pigeon, "owl": owl},
        channels={"matrix": Path("/matrix")},
        broken={"raven": "ImportError: no feather"},
    )
    agents = [{"agentId": "work", "llmProvider": "demo"}]
    file = validate_file({"agents": agents, "extensions": {"owl": {}}})
    assert [*list_extensions(some, file)] == [
        Finding("extensions", "matrix, page"),
        Finding("extensions", "not installed: telegram"),
        Finding(
            "extension pigeon",
            'not in use; to use it, name it: "extensions": {"pigeon": {}} in agents.json',
        ),
        Finding("extension owl", "installed"),
        Finding(
            "extension raven",
            "left out: ImportError: no feather; repair or uninstall it",
            "problem",
        ),
    ]


class Talkative(Extension):
    """An extension with a verdict of its own."""

    name = "talkative"

    def list_findings(self, *_: object) -> list[Finding]:
        return [Finding("clock", "right"), Finding("sky", "blue", "fine")]  # type: ignore[arg-type]  # the fault


def test_verdict_that_does_not_exist_is_a_problem_of_its_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it found otherwise is shown."""
    some = InstalledExtensions(own={}, foreign={"talkative": Talkative()}, channels={}, broken={})
    monkeypatch.setattr(examination, "find_installed", lambda: some)
    agents = [{"agentId": "work", "llmProvider": "demo"}]
    install_extensions(monkeypatch, foreign=(Talkative(),))
    file = validate_file({"agents": agents, "extensions": {"talkative": {}}})
    lines = [*list_findings(Settings(home=tmp_path), file, {}, None)]
    assert Finding("clock", "right") in lines
    assert "sky" not in {line.subject for line in lines}
    problem = "has the verdict 'fine'; write ok, warning or problem"
    assert Finding("extension talkative", problem, "problem") in lines


class Raven(Extension):
    """Adds commands that cannot be called."""

    name = "raven"

    def list_commands(self) -> dict[str, Command]:
        return {
            "status": Command("Birds", "Replace one of the core.", "json"),
            "caw": Command("Birds", "Say caw.", "no_such_forest"),
            "fly": Command("Birds", "Fly.", "json"),
        }


def test_commands_of_a_stranger_that_cannot_be_called_are_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command by itself is said to be unknown, or ends in a fault."""
    install_extensions(monkeypatch, foreign=(Raven(),))
    file = validate_file({"agents": [{"agentId": "work", "llmProvider": "demo"}]})
    found = InstalledExtensions(own={}, foreign={"raven": Raven()}, channels={}, broken={})
    lines = [one for one in list_extensions(found, file) if one.subject == "extension raven"]
    assert [one.verdict for one in lines] == ["problem", "problem"]
    assert "its command 'status' has a name that is taken" in lines[0].text
    assert "its command 'caw' has no module no_such_forest" in lines[1].text


def test_stranger_is_a_problem_while_agents_json_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody knows whether it is named."""
    found = InstalledExtensions(own={}, foreign={"talkative": Talkative()}, channels={}, broken={})
    install_extensions(monkeypatch, foreign=(Talkative(),))
    (line,) = [one for one in list_extensions(found, None) if "talkative" in one.subject]
    assert line.verdict == "problem"
    assert "agents.json cannot be used" in line.text


def test_windows_that_are_only_assumed_are_a_warning_once_the_agent_has_run(tmp_path: Path) -> None:
    """Before that its server may still tell them."""
    agents = [
        {"agentId": "known", "llmProvider": "anthropic", "model": "claude-haiku-4-5"},
        {"agentId": "unknown", "llmProvider": "openai", "model": "unheard-of"},
    ]
    file = validate_file({"agents": agents})
    settings = Settings(home=tmp_path)
    before = {one.subject: one for one in list_findings(settings, file, {}, None)}
    assert before["window of known"].text == "200,000 (the built-in table) tokens"
    assert before["window of unknown"].verdict == "ok"
    ran = AgentReport(
        agent_id="unknown",
        state="running",
        pid=1,
        restarts=0,
        provider="openai",
        model="unheard-of",
        window="32,768 (assumed)",
    )
    report = StatusReport(
        ready=True,
        version="1",
        home=str(tmp_path),
        config_file="agents.json",
        agents=(ran,),
        channels=(),
        config_errors=(),
        open_turns=0,
        inbox={},
    )
    after = {one.subject: one for one in list_findings(settings, file, {}, report)}
    assert after["window of unknown"].verdict == "warning"
    assert "contextTokens" in after["window of unknown"].text
