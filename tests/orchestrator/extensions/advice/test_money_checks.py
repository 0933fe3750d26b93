"""Models without a price, and summaries that come too late, are told."""

from fakes.agents_file import WORK, parsed

PRICE = {"input": 1, "output": 2.5}
SMALL = {"agentId": "work", "llmProvider": "openai", "model": "gpt-4"}  # reads 8,192 tokens


def test_model_without_a_price_under_a_dollar_budget_is_warned_about() -> None:
    """Fallbacks too; a budget in tokens needs no price, and many models have a known one."""
    dollars = {"budget": {"usdPerDay": 1}}
    loaded = parsed(
        WORK | dollars | {"fallbackModels": ["openai/gpt", "second"]},
        {"agentId": "free", "llmProvider": "demo"} | dollars,
        {"agentId": "tokens", "model": "m", "budget": {"tokensPerDay": 1}},
        {"agentId": "auto", "llmProvider": "auto"} | dollars,
        {"agentId": "known", "model": "qwen/qwen3-32b", "smallModel": "openai/gpt-4.1"} | dollars,
        {"agentId": "local", "llmProvider": "ollama", "model": "m"} | dollars,
        prices={"groq/m": PRICE, "openai/*": PRICE},
    )
    assert not loaded.errors
    said = [problem.message for problem in loaded.problems]
    assert [message.partition(", so")[0] for message in said] == [
        "agent 'work': groq/second has no price",
    ]


def test_shared_dollar_budget_needs_prices_of_all_agents() -> None:
    """An agent without one would spend as if there was no limit."""
    loaded = parsed(
        WORK, {"agentId": "home", "llmProvider": "demo"}, prices={}, budget={"usdPerMonth": 5}
    )
    assert [problem.message.partition(", so")[0] for problem in loaded.problems] == [
        "agent 'work': groq/m has no price"
    ]


def test_summaries_that_come_too_late_are_warned_about() -> None:
    """With what the model reads."""
    late = {**SMALL, "compaction": {"thresholdTokens": 9_000}}
    (problem,) = (found for found in parsed(late).problems if "summarized" in found.message)
    assert problem.message == (
        "agent 'work': conversations are summarized from 9,000 tokens on, but openai/gpt-4 reads "
        "8,192; lower thresholdTokens"
    )
    assert problem.path == "agents[0].compaction.thresholdTokens"
