"""Budgets and prices in agents.json."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import Budget, Price

PRICE = {"input": 1, "output": 2.5}


def test_budget_and_prices_are_read() -> None:
    """Every limit is optional; a price may cover many models."""
    loaded = parsed(
        WORK | {"budget": {"tokensPerDay": 5, "usdPerMonth": 2}}, prices={"groq/*": PRICE}
    )
    assert loaded.problems == ()
    assert loaded.file.agents[0].budget == Budget(tokens_per_day=5, usd_per_month=2)
    assert loaded.file.prices == {"groq/*": Price(input=1, output=2.5)}


@pytest.mark.parametrize(
    "budget", [{"tokensPerDay": 0}, {"usdPerHour": 0}, {"tokensPerDay": 1.5}, {"perDay": 1}, 3]
)
def test_unusable_budget_disables_its_agent(budget: object) -> None:
    """The agent must not run without the limit."""
    other = {"agentId": "other", "model": "m"}
    loaded = parsed(WORK | {"budget": budget}, other)
    assert loaded.errors
    assert [agent.agent_id for agent in loaded.file.agents] == ["other"]


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ({"gpt": PRICE}, 'must be "provider/model"'),
        ({"openai/gpt": {"input": 1}}, 'price \'openai/gpt\' needs both "input" and "output"'),
        ({"openai/gpt": {}}, 'or "perMinute", "perMillionCharacters" or "perPicture"'),
        ({"openai/gpt": PRICE | {"input": -1}}, "greater than or equal to 0"),
        ([], "must be an object"),
    ],
)
def test_unusable_price_is_an_error_that_names_it(prices: Any, words: str) -> None:
    """The rest of the file stays usable."""
    (error,) = parsed(WORK, prices=prices).errors
    assert words in error.message


def test_budget_of_the_file_is_that_of_all_agents_and_a_wrong_one_allows_nothing() -> None:
    """Agents that answer without the limit that was meant would cost more than an outage."""
    loaded = parsed(WORK, budget={"usdPerMonth": 5})
    assert loaded.file.budget == Budget(usd_per_month=5)
    wrong = parsed(WORK, budget={"usdPerMonth": "five"})
    assert [problem.path for problem in wrong.errors] == ["budget.usdPerMonth"]
    assert wrong.file.budget == Budget(tokens_per_month=1)
