"""What an agent's models cost: the file's own prices first, then those that are known."""

from typing import Any

import pytest
from fakes.agents_file import parsed

from orchestrator.agentsfile.model_costs import (
    compute_compaction_threshold,
    find_model_price,
    find_window,
    list_known_windows,
    list_models,
)
from thinker.protocol.context_windows import ContextWindow

CLAUDE = {"agentId": "work", "llmProvider": "anthropic", "model": "claude-haiku-4-5"}
MISTRAL = {"llmProvider": "openai", "model": "mistral-large-latest"}
AT_MISTRAL = {"baseUrl": "https://api.mistral.ai/v1"}


def inputs(file: Any, model: str) -> float | None:
    """The price of prompt tokens for the file's first agent."""
    price = find_model_price(file, file.agents[0], model)
    return None if price is None else price.input


def test_price_of_the_file_wins_over_the_known_one() -> None:
    """By its name or by a pattern; other models keep what is known of them."""
    file = parsed(CLAUDE, prices={"anthropic/claude-haiku-4-5": {"input": 9, "output": 9}}).file
    assert inputs(file, "anthropic/claude-haiku-4-5") == 9
    assert inputs(file, "anthropic/claude-sonnet-4-5") == 3
    assert inputs(file, "anthropic/claude-unheard-of") is None


def test_address_of_an_agent_tells_the_vendor_of_its_models() -> None:
    """A fallback of the same provider is asked there too; other providers are not."""
    file = parsed({**CLAUDE, **MISTRAL, **AT_MISTRAL}).file
    assert inputs(file, "openai/mistral-large-latest") is not None
    assert inputs(file, "openai/mistral-small-latest") is not None
    assert inputs(file, "openai/gpt-4.1") is None
    assert inputs(file, "groq/qwen/qwen3-32b") is not None


def test_address_of_a_named_model_is_its_own() -> None:
    """The one in "models", not that of the agent which uses it."""
    named = {"provider": "openai", "model": "mistral-large-latest", **AT_MISTRAL}
    file = parsed(CLAUDE, models={"big": named}).file
    assert inputs(file, "openai/mistral-large-latest") is not None


def test_models_of_an_agent_are_named_as_its_calls_are() -> None:
    """Its own, fallbacks, the small one and embeddings; without a model a star."""
    more = {"fallbackModels": ["claude-x", "groq/m"], "smallModel": "groq/m"}
    embeddings = {"embeddings": {"model": "e", "provider": "ollama"}}
    file = parsed({**CLAUDE, **more, **embeddings}, {"agentId": "b", "llmProvider": "auto"}).file
    assert list_models(file.agents[0]) == [
        "anthropic/claude-haiku-4-5",
        "anthropic/claude-x",
        "groq/m",
        "ollama/e",
    ]
    assert list_models(file.agents[1]) == ["auto/*"]


SMALL = {"llmProvider": "openai", "model": "gpt-4"}  # reads 8,192 tokens


@pytest.mark.parametrize(
    ("fields", "threshold"),
    [
        ({}, 5_000),
        (SMALL, 4_096),
        ({**SMALL, "compaction": {"keepTurns": 3}}, 4_096),
        ({**SMALL, "compaction": {"thresholdTokens": 3_000}}, 3_000),
        ({"model": "claude-unheard-of"}, 5_000),
    ],
)
def test_summaries_begin_before_the_window_is_full(fields: dict[str, Any], threshold: int) -> None:
    """At half of a known window where the file is silent."""
    assert compute_compaction_threshold(parsed({**CLAUDE, **fields}).file.agents[0]) == threshold


@pytest.mark.parametrize(
    ("fields", "told", "text"),
    [
        ({}, 0, "200,000 (the built-in table)"),
        ({}, 4096, "4,096 (its server)"),
        ({"contextTokens": 9000}, 4096, "9,000 (contextTokens)"),
        ({"model": "claude-unheard-of"}, 0, "32,768 (assumed)"),
        ({"llmProvider": "ollama", "model": "qwen3"}, 0, "4,096 (assumed)"),
    ],
)
def test_window_is_what_the_operator_the_server_or_the_table_says(
    fields: dict[str, Any], told: int, text: str
) -> None:
    """In this order; what a worker found out about another model does not count."""
    agent = parsed({**CLAUDE, **fields}).file.agents[0]
    name = f"{agent.llm_provider}/{agent.model}"
    window = ContextWindow(model=name, tokens=told, source="server") if told else None
    assert find_window(agent, window).text == text
    other = ContextWindow(model="openai/other", tokens=1, source="server")
    assert find_window(agent, other).tokens != 1


def test_window_of_a_provider_of_the_file_is_that_of_its_models() -> None:
    """Unless the agent says another."""
    providers = {"acme": {"baseUrl": "https://llm.acme.example/v1", "contextTokens": 6000}}
    acme = {"agentId": "a", "llmProvider": "acme", "model": "m"}
    agent = parsed(acme, providers=providers).file.agents[0]
    assert find_window(agent).tokens == 6000
    assert compute_compaction_threshold(agent) == 3000


def test_summaries_begin_before_a_window_is_full_that_the_server_told() -> None:
    """The table does not know it."""
    agent = parsed({**CLAUDE, "llmProvider": "ollama", "model": "qwen3"}).file.agents[0]
    told = ContextWindow(model="ollama/qwen3", tokens=8000, source="server")
    assert compute_compaction_threshold(agent, told) == 4000


def test_worker_is_told_the_windows_that_the_table_knows() -> None:
    """Of all its models; it asks the servers of the others."""
    agent = parsed({**CLAUDE, "fallbackModels": ["openai/gpt-4", "openai/unheard-of"]}).file.agents[
        0
    ]
    known = list_known_windows(agent, "claude-haiku-4-5")
    assert known == ("anthropic/claude-haiku-4-5=200000", "openai/gpt-4=8192")
