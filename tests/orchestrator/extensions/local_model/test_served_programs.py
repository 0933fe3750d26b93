"""When the servers of this machine's models are needed, and why they cannot start."""

from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import parsed

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.local_model import served_programs
from orchestrator.extensions.local_model.extension import LocalModelExtension
from orchestrator.extensions.local_model.llama_server import ADDRESS
from orchestrator.extensions.local_model.model_settings import LocalModelSettings
from orchestrator.extensions.local_model.served_programs import (
    EmbeddingProgram,
    LlamaProgram,
    find_port,
)
from orchestrator.settings import Settings
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.providers import PROVIDERS

LOCAL = {"agentId": "home", "llmProvider": "local"}
OTHER = {"agentId": "home", "llmProvider": "ollama", "model": "m"}


def loaded(*agents: dict[str, Any], **rest: Any) -> AgentsFile:
    """An agents.json without errors."""
    found = parsed(*agents, **rest)
    assert not found.errors
    return found.file


@pytest.mark.parametrize(
    ("agent", "used"),
    [
        (LOCAL | {"model": "smollm2-135m"}, True),
        (LOCAL | {"model": "smollm2-135m", "enabled": False}, False),
        (OTHER, False),
        (OTHER | {"fallbackModels": ["local/smollm2-135m"]}, True),
        (OTHER | {"smallModel": "local/smollm2-135m"}, True),
    ],
)
def test_server_runs_only_while_an_agent_may_call_it(agent: dict[str, Any], *, used: bool) -> None:
    """As its model, a fallback or the model for summaries."""
    assert LlamaProgram().is_needed(loaded(agent)) is used


@pytest.mark.parametrize(
    ("fields", "used"),
    [
        ({"provider": "local-embeddings"}, True),
        ({"provider": "local-embeddings", "baseUrl": "http://127.0.0.1:1/v1"}, False),
        ({"provider": "ollama"}, False),
        (None, False),
    ],
)
def test_embeddings_are_served_only_while_an_agent_uses_them(
    fields: dict[str, str] | None, *, used: bool
) -> None:
    """Those of another address are served by others."""
    embeddings = {} if fields is None else {"embeddings": {"model": "e", **fields}}
    assert EmbeddingProgram().is_needed(loaded(OTHER | embeddings)) is used


def test_missing_engine_of_embeddings_is_told_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command that checks a home, too."""
    monkeypatch.setattr(served_programs, "ENGINE", "not_there_at_all")
    file = loaded(OTHER | {"embeddings": {"model": "e", "provider": "local-embeddings"}})
    (finding,) = LocalModelExtension().list_findings(Settings(home=tmp_path), file, None)
    assert finding.subject == "local embeddings"
    assert finding.text.startswith("not_there_at_all is not installed; run: ")
    assert finding.text.endswith("install 'orchestrator-daemon[meaning]'")
    assert finding.verdict == "warning"


def test_check_warns_of_a_missing_engine_of_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do, of agents that use it and are enabled."""
    monkeypatch.setattr(served_programs, "ENGINE", "not_there_at_all")
    used = OTHER | {"embeddings": {"model": "e", "provider": "local-embeddings"}}
    found = parsed(used, used | {"agentId": "off", "enabled": False}).problems
    (problem,) = (one for one in found if "vectors" in one.message)
    assert problem.severity == "warning"
    assert "agent 'home': no vectors are made, because not_there_at_all" in problem.message
    assert problem.message.endswith("[meaning]'; then run: orchestrator reload")
    monkeypatch.setattr(served_programs, "ENGINE", "json")
    assert not any("vectors" in one.message for one in parsed(used).problems)


def test_missing_model_is_told_with_its_remedy(tmp_path: Path) -> None:
    """By the command that checks a home, too."""
    file = loaded(LOCAL | {"model": "smollm2-135m"})
    problem = LlamaProgram().find_problem(file, tmp_path)
    assert problem.endswith("run: orchestrator local-model")
    findings = LocalModelExtension().list_findings(Settings(home=tmp_path), file, None)
    assert [finding.text for finding in findings] == [problem]
    assert not [*LocalModelExtension().list_findings(Settings(home=tmp_path), loaded(OTHER), None)]


def test_file_of_the_operator_is_found_in_the_home_or_anywhere(tmp_path: Path) -> None:
    """Threads are those of the machine, but one."""
    settings = {"extensions": {"local_model": {"file": "own.gguf", "threads": 3}}}
    found = loaded(LOCAL | {"model": "own"}, **settings).extensions.get_settings(LocalModelSettings)
    assert found.find_file(tmp_path) == tmp_path / "models" / "own.gguf"
    assert found.used_threads == 3
    assert LocalModelSettings(file="/data/m.gguf").find_file(tmp_path) == Path("/data/m.gguf")
    assert LocalModelSettings().used_threads >= 1


def test_server_is_reached_from_this_machine_alone() -> None:
    """It asks for no key."""
    for provider in ("local", "local-embeddings"):
        url = PROVIDERS[provider].base_url
        assert url == f"http://{ADDRESS}:{find_port(provider)}/v1"
        assert is_local_address(url)
    assert find_port("local") != find_port("local-embeddings")
