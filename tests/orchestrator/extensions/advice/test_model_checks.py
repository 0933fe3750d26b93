"""Missing keys of models, and names that are nearly a provider's, are told."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK

from orchestrator.agentsfile import parse_agents_file

PLACE = {"model": "x", "provider": "openai"}


def told(environ: dict[str, str], agent: dict[str, Any]) -> list[str]:
    """The warnings about a file with the agent ``work``, which has these fields."""
    file = {"agents": [{**WORK, "llmProvider": "demo", "asTool": "handoff", **agent}]}
    loaded = parse_agents_file(json.dumps(file).encode(), environ=environ, home=Path("/h"))
    assert not loaded.errors
    return [problem.message for problem in loaded.problems]


def test_missing_key_is_warned_about() -> None:
    """The agent's own env counts; a custom address may need no key; auto looks for itself."""
    agents = [
        WORK,
        WORK | {"agentId": "own", "env": {"GROQ_API_KEY": "x"}},
        WORK | {"agentId": "proxied", "baseUrl": "http://127.0.0.1:1/v1"},
        {"agentId": "free", "llmProvider": "auto"},
    ]
    data = json.dumps({"agents": agents, "fallbackAgentId": "work"}).encode()
    warned = [
        p.agent_id
        for p in parse_agents_file(data, environ={}).problems
        if "GROQ_API_KEY" in p.message
    ]
    assert warned == ["work"]
    assert not any(
        "API_KEY" in p.message
        for p in parse_agents_file(data, environ={"GROQ_API_KEY": "x"}).problems
    )


@pytest.mark.parametrize(
    ("agent", "field"),
    [
        ({"llmProvider": "groq", "model": "m"}, "cannot answer"),
        ({"fallbackModels": ["groq/m"]}, 'cannot use its "fallbackModels"'),
        ({"smallModel": "groq/m"}, 'cannot use its "smallModel"'),
    ],
)
def test_missing_key_of_a_model_is_told_with_its_file(agent: dict[str, object], field: str) -> None:
    """Set in the environment or for the agent alone, it is there."""
    (message,) = told({}, agent)
    assert message == (
        f"agent 'work' {field}, because GROQ_API_KEY is not set;"
        " put GROQ_API_KEY=… into /h/keys.env and run: orchestrator reload"
    )
    assert told({"GROQ_API_KEY": "k"}, agent) == []


def test_embeddings_need_a_key_and_for_budgets_a_price() -> None:
    """Each is said with the agent and the field; a server of one's own needs no key."""

    def said(environ: dict[str, str], **embeddings: str) -> str:
        agent = {"llmProvider": "ollama", "embeddings": embeddings, "budget": {"usdPerDay": 1}}
        return " ".join(told(environ, agent))

    assert "because OPENAI_API_KEY is not set" in said({}, model="e", provider="openai")
    assert "openai/e has no price" in said({}, model="e", provider="openai")
    assert "_KEY" not in said({"OPENAI_API_KEY": "k"}, model="e", provider="openai")
    assert "_KEY" not in said({}, model="e", baseUrl="http://127.0.0.1:8/v1")


def test_missing_key_and_price_are_warnings() -> None:
    """The agent answers; what it cannot do, or does not count, is named."""
    voice = {"hear": PLACE}
    assert any('cannot use its "voice.hear"' in text for text in told({}, {"voice": voice}))
    unpriced = told({"OPENAI_API_KEY": "k"}, {"voice": voice, "budget": {"usdPerDay": 1}})
    assert len(unpriced) == 1
    assert "openai/x has no price" in unpriced[0]


def test_key_of_such_a_model_may_be_the_agents_own() -> None:
    """In its env."""
    assert told({}, {"images": PLACE, "env": {"OPENAI_API_KEY": "k"}}) == []
