"""The prices and context windows that ship agree with the package they come from."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from fakes.manual import ROOT
from genai_prices import Usage as PricedUsage
from genai_prices.data import providers

from orchestrator.agentsfile.known_models import KnownModel, find_known_model
from orchestrator.spending import budgets
from thinker.protocol.messages import Usage

ASKED = ("anthropic", "openai", "groq", "openrouter", "mistral", "google", "x-ai", "together")
UNCLEAR = {"openrouter": 1}  # models whose price has parts that a call's usage does not show


def test_file_is_what_the_package_says() -> None:
    """If not, run scripts/prices after an update of genai-prices."""
    script = str(ROOT / "scripts" / "prices")
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


@pytest.mark.parametrize("vendor", ASKED)
def test_each_call_costs_what_the_package_computes(vendor: str) -> None:
    """Every model, short and long prompts, with tokens read from the cache and written to it."""
    (found,) = (provider for provider in providers if provider.id == vendor)
    at = datetime(2026, 11, 23, 12, tzinfo=UTC)
    unclear = 0
    for model in found.models:
        theirs = found.find_model(model.id)  # a name may be that of another model
        ours = find_known_model(vendor, model.id) or KnownModel()
        assert ours.context_window == ((theirs and theirs.context_window) or None), model.id
        for prompt in (1_000, 150_000, 300_000):
            used = Usage(prompt=prompt, completion=500, cached=100, cache_written=50)
            priced = PricedUsage(
                input_tokens=prompt, output_tokens=500, cache_read_tokens=100, cache_write_tokens=50
            )
            price = ours.find_price(prompt)
            expected = 0.0
            if theirs is not None:
                computed = theirs.calc_price(priced, found, genai_request_timestamp=at)
                expected = float(computed.total_price)
            if price is None:
                unclear += prompt == 1_000 and expected != 0
            else:
                assert budgets.compute_cost(price, used) == pytest.approx(expected), model.id
    assert unclear == UNCLEAR.get(vendor, 0)


@pytest.mark.parametrize(
    ("provider", "model", "address", "window"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", "", 200_000),
        ("openai", "gpt-4.1-mini-2025-04-14", "", 1_000_000),
        ("openai", "gpt-4.1-mini-20250414", "", 1_000_000),
        ("groq", "QWEN/qwen3-32b", "", 131_072),
        ("openai", "grok-4", "https://api.x.ai/v1", 256_000),
    ],
)
def test_model_is_known_by_the_names_that_requests_use(
    provider: str, model: str, address: str, window: int
) -> None:
    """Dated versions, capital letters, vendors behind an address."""
    found = find_known_model(provider, model, address)
    assert found is not None
    assert found.context_window == window
    assert found.find_price() is not None


@pytest.mark.parametrize(
    ("provider", "model", "address"),
    [
        ("openai", "gpt-4.1-mini", "http://127.0.0.1:8000/v1"),  # a server of one's own
        ("openai", "my-finetune", ""),
        ("openai", "mistral-large-latest", ""),
        ("openrouter", "openrouter/auto", ""),
        ("custom", "e5", ""),
        ("auto", "", ""),
    ],
)
def test_what_is_not_known_is_not_guessed(provider: str, model: str, address: str) -> None:
    """A model of the same name elsewhere may cost anything."""
    assert find_known_model(provider, model, address) is None


@pytest.mark.parametrize("provider", ["demo", "ollama", "lmstudio"])
def test_models_on_a_machine_of_ones_own_cost_nothing(provider: str) -> None:
    """Whatever their names."""
    found = find_known_model(provider, "claude-sonnet-4-5")
    assert found is not None
    assert budgets.compute_cost(found.find_price(), Usage(prompt=9_000_000, completion=9)) == 0.0


def test_long_prompts_have_the_price_of_their_size() -> None:
    """The whole call costs more above the vendor's limit."""
    found = find_known_model("anthropic", "claude-sonnet-4-5")
    assert found is not None
    short, long = found.find_price(200_000), found.find_price(200_001)
    assert short is not None
    assert long is not None
    assert (short.input, short.output, long.input, long.output) == (3, 15, 6, 22.5)
