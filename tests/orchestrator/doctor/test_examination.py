"""What is looked at beside the jails."""

import socket
from pathlib import Path

import pytest

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.protocol import StatusReport
from orchestrator.doctor.examination import findings, targets
from orchestrator.doctor.findings import Finding
from orchestrator.settings import Settings


def found(home: Path, environ: dict[str, str] | None = None) -> dict[str, Finding]:
    every = findings(Settings(home=home), None, environ or {}, None)
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


def test_taken_port_of_an_agent_is_a_problem_before_the_start(tmp_path: Path) -> None:
    """A running daemon has it itself."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agent = {"agentId": "work", "llmProvider": "demo", "port": port}
        file = AgentsFile.model_validate({"agents": [agent]})
        seen = {one.subject: one for one in findings(Settings(home=tmp_path), file, {}, None)}
        assert seen["port of work"].verdict == "problem"
        assert f"port {port} of agent 'work' is taken by another" in seen["port of work"].text
    seen = {one.subject: one for one in findings(Settings(home=tmp_path), file, {}, None)}
    assert seen["port of work"].verdict == "ok"


def test_taken_port_of_the_endpoints_is_a_problem_once_a_token_opens_them(tmp_path: Path) -> None:
    """Without a token the daemon does not listen there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agent = {"agentId": "work", "llmProvider": "demo"}
        file = AgentsFile.model_validate({"agents": [agent], "channels": {"api": {"port": port}}})
        settings = Settings(home=tmp_path)
        assert "channel api" not in {one.subject for one in findings(settings, file, {}, None)}
        settings.paths.api_token.write_text("digest", "utf-8")
        seen = {one.subject: one for one in findings(settings, file, {}, None)}
        assert seen["channel api"].verdict == "problem"
        assert f"port {port}: " in seen["channel api"].text
        assert "channels.api.port in agents.json" in seen["channel api"].text
    assert "channel api" not in {one.subject for one in findings(settings, file, {}, None)}


def test_what_a_running_daemon_wants_to_be_known_is_a_warning(tmp_path: Path) -> None:
    """Such as a collector that takes nothing."""
    note = "the collector at c:4318 has not taken traces for 6 minutes"
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
    every = findings(Settings(home=tmp_path), None, {}, report)
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
    file = AgentsFile.model_validate({"agents": agents}) if agents else None
    (tmp_path / "agents.json").touch()  # without it the bundled one is in force, which is no secret
    aimed = targets(Settings(home=tmp_path), file, 1)
    assert {"home", "agents.json", "journal", "control socket"} <= aimed.paths.keys()
    assert ("another agent's folder" in aimed.paths) == (count == 2)
    assert (tmp_path / "agents" / "a0" in aimed.own) == (count > 0)


@pytest.mark.parametrize(
    ("web", "verdict", "words"),
    [
        ({}, "ok", "for this machine alone, by 127.0.0.1:8485"),
        ({"socket": True}, "ok", "by its socket"),
        ({"names": ["agents.example.org"]}, "warning", "all who reach the proxy"),
        ({"behindProxy": True}, "warning", "any program on this machine"),
    ],
)
def test_page_says_who_can_reach_it(
    tmp_path: Path, web: dict[str, object], verdict: str, words: str
) -> None:
    """Each opening is a warning."""
    agent = {"agentId": "work", "llmProvider": "demo"}
    file = AgentsFile.model_validate({"agents": [agent], "channels": {"web": web}})
    seen = {one.subject: one for one in findings(Settings(home=tmp_path), file, {}, None)}
    assert seen["web page"].verdict == verdict
    assert words in seen["web page"].text


def test_taken_port_of_the_page_is_a_problem_once_it_is_on(tmp_path: Path) -> None:
    """Before `orchestrator dashboard` the daemon does not listen there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        agent = {"agentId": "work", "llmProvider": "demo"}
        file = AgentsFile.model_validate({"agents": [agent], "channels": {"web": {"port": port}}})
        settings = Settings(home=tmp_path)
        told = [one.text for one in findings(settings, file, {}, None)]
        assert not any(text.startswith(f"port {port}: ") for text in told)
        settings.paths.page_on.touch()
        told = [one.text for one in findings(settings, file, {}, None)]
        assert any(text.startswith(f"port {port}: ") for text in told)
