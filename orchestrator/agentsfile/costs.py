"""Models of budgets and prices in agents.json."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from orchestrator.agentsfile.field_types import ConfigModel

Tokens = Annotated[int, Field(ge=1)]
Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]
MILLION = 1_000_000  # prices are per million tokens
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Budget(ConfigModel):
    """Hard limits of an agent's model calls; each call is reserved before it is made.

    Hours are the last 60 minutes; days and months those of the agent's time zone.
    """

    tokens_per_hour: Tokens | None = None
    """Tokens in any 60 minutes."""
    tokens_per_day: Tokens | None = None
    """Tokens in a calendar day."""
    tokens_per_month: Tokens | None = None
    """Tokens in a calendar month."""
    usd_per_hour: Dollars | None = None
    """US dollars in any 60 minutes; models whose price is unknown do not count."""
    usd_per_day: Dollars | None = None
    """US dollars in a calendar day."""
    usd_per_month: Dollars | None = None
    """US dollars in a calendar month."""

    @property
    def in_dollars(self) -> bool:
        """Whether a limit is in US dollars, which needs prices."""
        return any((self.usd_per_hour, self.usd_per_day, self.usd_per_month))


class Price(ConfigModel):
    """What a model costs, in US dollars per million tokens."""

    input: Rate
    """Price of prompt tokens."""
    output: Rate
    """Price of tokens in the answer."""
    cached: Rate | None = None
    """Price of prompt tokens from the provider's cache; as `input` when absent."""
    cache_written: Rate | None = None
    """Price of prompt tokens that the provider adds to its cache; as `input` when absent."""

    @property
    def dearest(self) -> float:
        """The price of a token in US dollars if all are of the dearest kind."""
        return max(self.input, self.output, self.cache_written or 0.0) / MILLION


def find_price(prices: Mapping[str, Price], model: str) -> Price | None:
    """Return the price that the file sets for ``provider/model``: its own, or the first glob's."""
    if model in prices:
        return prices[model]
    return next((price for name, price in prices.items() if fnmatchcase(model, name)), None)
