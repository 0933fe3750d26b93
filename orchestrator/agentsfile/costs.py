"""Models of budgets and prices in agents.json."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Self

from pydantic import Field, model_validator

from orchestrator.agentsfile.field_types import ConfigModel

Tokens = Annotated[int, Field(ge=1)]
Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]
MILLION = 1_000_000  # prices are per million tokens
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Budget(ConfigModel):
    """Hard limits of the model calls of an agent, or of all; each is reserved before it is made.

    An hour is the last 60 minutes; days and months are those of the agent's time zone.
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
    def is_in_dollars(self) -> bool:
        """Whether a limit is in US dollars, which needs prices."""
        return any((self.usd_per_hour, self.usd_per_day, self.usd_per_month))


class Price(ConfigModel):
    """The price of a model in US dollars: per million tokens, or for sound and pictures."""

    input: Rate | None = None
    """Price of a million prompt tokens."""
    output: Rate | None = None
    """Price of a million tokens in the answer."""
    cached: Rate | None = None
    """Price of prompt tokens from the provider's cache; as `input` when absent."""
    cache_written: Rate | None = None
    """Price of prompt tokens that the provider adds to its cache; as `input` when absent."""
    per_minute: Rate | None = None
    """Price of transcribing a minute of a recording."""
    per_million_characters: Rate | None = None
    """Price of speaking a million characters."""
    per_picture: Rate | None = None
    """Price of drawing a picture."""

    @model_validator(mode="after")
    def _require_complete_price(self) -> Self:
        rates = (self.per_minute, self.per_million_characters, self.per_picture)
        if (self.input is None) is not (self.output is None):
            raise ValueError('needs both "input" and "output"')
        if self.input is None and not any(rate is not None for rate in rates):
            raise ValueError(
                'needs "input" and "output", or "perMinute", "perMillionCharacters" or "perPicture"'
            )
        return self

    @property
    def highest_rate(self) -> float:
        """The highest price of a token, in US dollars."""
        return max(self.input or 0.0, self.output or 0.0, self.cache_written or 0.0) / MILLION


def find_price(prices: Mapping[str, Price], model: str) -> Price | None:
    """Return the price of ``provider/model``: an exact entry or the first matching glob."""
    if model in prices:
        return prices[model]
    return next((price for name, price in prices.items() if fnmatchcase(model, name)), None)
