"""Built-in knowledge of models: prices and context windows.

`known_models.json` comes from the package genai-prices by ``scripts/prices``. It is read for
each vendor when its models are first needed, and only those stay in memory.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from orchestrator.agentsfile.costs import Price
from thinker.protocol.providers import PROVIDERS

FILE = Path(__file__).with_suffix(".json")
DATED = re.compile(r"(.*-)(20\d\d)(\d\d)(\d\d)")  # ``gpt-5-20260102`` is known as gpt-5-2026-01-02

TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "equals": lambda name, value: name == value.lower(),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda name, value: value in name,
    "regex": lambda name, value: re.search(value, name) is not None,
}


class PriceStep(NamedTuple):
    """The price of calls whose prompt has more tokens than ``above``."""

    above: int
    price: Price


class KnownModel(NamedTuple):
    """A model's context window in tokens, if known, and its prices by size of the prompt."""

    context_window: int | None = None
    steps: tuple[PriceStep, ...] = ()

    def find_price(self, prompt: int = 0) -> Price | None:
        """Return the price of a call with this many prompt tokens; None if unknown."""
        fitting = [step.price for step in self.steps if step.above == 0 or prompt > step.above]
        return fitting[-1] if fitting else None


NOTHING = Price(input=0, output=0, per_minute=0, per_million_characters=0, per_picture=0)
FREE = KnownModel(steps=(PriceStep(0, NOTHING),))  # it costs only electricity


@lru_cache(maxsize=512)
def find_known_model(provider: str, model: str, address: str = "") -> KnownModel | None:
    """Return the built-in data of a provider's model; None for an unknown model.

    ``address`` is the address of the API if it is not the provider's own; the model is then looked
    up among those of the vendor at that address.
    """
    own = PROVIDERS.get(provider)
    if own is not None and (own.local or own.wire == "demo"):
        return FREE
    if own is not None and own.deployments:
        address = ""
    name = model.lower()
    names = (name, DATED.sub(r"\1\2-\3-\4", name))
    models = _load_models((own and own.priced_as) or provider, address)
    found = next((entry for text in names for entry in models if _matches_entry(entry, text)), None)
    if found is None:
        return None
    steps = (
        PriceStep(above, Price(input=given, output=out or 0, cached=read, cache_written=written))
        for above, given, out, read, written in found.get("prices", ())
    )
    return KnownModel(found.get("window"), tuple(steps))


def list_known_names(provider: str, address: str = "") -> tuple[str, ...]:
    """List the names of the models that are known of a provider, as `find_known_model` does."""
    own = PROVIDERS.get(provider)
    return tuple(one["id"] for one in _load_models((own and own.priced_as) or provider, address))


@lru_cache(maxsize=8)
def _load_models(provider: str, address: str) -> Sequence[Mapping[str, Any]]:
    """Return the models of the vendor with this name, or whose API has this address."""
    for vendor in orjson.loads(FILE.read_bytes())["providers"]:
        if re.match(vendor["address"], address) if address else vendor["id"] == provider:
            models: Sequence[Mapping[str, Any]] = vendor["models"]
            return models
    return ()


def _matches_entry(entry: Mapping[str, Any], name: str) -> bool:
    return _matches_rule(entry.get("match") or {"equals": entry["id"]}, name)


def _matches_rule(rule: Mapping[str, Any], name: str) -> bool:
    """Return whether a rule of the file matches a model's name."""
    ((kind, value),) = rule.items()
    if kind in ("or", "and"):
        fitting = (_matches_rule(inner, name) for inner in value)
        return any(fitting) if kind == "or" else all(fitting)
    return TESTS[kind](name, value)
