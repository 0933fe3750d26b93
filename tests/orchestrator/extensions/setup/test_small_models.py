"""What local servers say of their windows, and what setup makes of it."""

import json
from typing import Any

import pytest
from fakes.openai_api import OpenAIApi

from orchestrator.agentsfile import parse_agents_file
from orchestrator.extensions.setup.ability_trials import try_window
from orchestrator.extensions.setup.model_account import ModelAccount, find_account
from orchestrator.extensions.setup.proposal import SetupChoices, propose_text
from thinker.protocol.providers import PROVIDERS

LLAMA = {"/props": {"default_generation_settings": {"n_ctx": 2048}}}
STUDIO = {"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        (LLAMA, 2048),
        ({"/api/ps": {"models": [{"name": "m", "context_length": 4096}]}}, 4096),
        ({"/api/v0/models": {"data": [STUDIO]}}, 4096),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": 8192}]}}, 8192),
        ({"/v1/models": {"data": [{"id": "other", "max_model_len": 8192}]}}, None),
        ({"/props": {"default_generation_settings": {"n_ctx": "much"}}}, None),
        ({"/props": [1], "/v1/models": {"data": 7}}, None),
    ],
)
async def test_window_is_what_the_server_says(pages: dict[str, Any], window: int | None) -> None:
    """llama.cpp, Ollama, LM Studio and vLLM say it in different places."""
    async with OpenAIApi() as api:
        api.pages.clear()
        api.pages.update(pages)
        account = ModelAccount("llamacpp", PROVIDERS["llamacpp"], f"{api.url}/v1")
        assert await try_window(account, "m") == window


async def test_server_that_does_not_answer_has_no_window() -> None:
    """And setup goes on."""
    account = ModelAccount("llamacpp", PROVIDERS["llamacpp"], "http://127.0.0.1:1/v1")
    assert await try_window(account, "m") is None


def test_small_window_brings_the_small_profile() -> None:
    """With few tools and no skills, and summaries from half the window on."""
    text = propose_text(None, SetupChoices("home", find_account("llamacpp"), "m", window=2048))
    agent = json.loads(text)["agents"][0]
    assert (agent["profile"], agent["compaction"]) == ("small", {"thresholdTokens": 1024})
    (definition,) = parse_agents_file(text.encode()).file.agents
    assert (definition.skills, definition.max_output_tokens) == ((), 512)
    assert "store_fact" in definition.allowed_tools
    assert not definition.fact_extraction.enabled
