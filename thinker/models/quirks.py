"""What single models and providers need, by `quirks.json`.

A row applies if all that it names matches: a pattern of the model's name, places (a provider's
name, or the end of a host's) and the wire format. Each rule is taken from the first row that has
it, so rows about models come before those about places; `omits` of all rows count.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from thinker.protocol.messages import JsonObject, Reasoning
from thinker.protocol.providers import Provider, RequestRules

FILE = Path(__file__).with_suffix(".json")
# Up to so many tokens a budget counts as a level, where a provider takes levels alone.
LEVELS = ((0, "off"), (4096, "low"), (12_288, "medium"))


class Effort(NamedTuple):
    """The fields that ask for an effort; ``problem`` says why there are none."""

    fields: JsonObject
    problem: str = ""


@lru_cache(maxsize=1)
def _read_file() -> Any:  # noqa: ANN401 - checked by a test
    return json.loads(FILE.read_bytes())


def find_rules(provider: Provider, host: str, model: str) -> RequestRules:
    """Return the rules of requests to a model: those of its provider, and what its rows add."""
    facts = _read_file()
    found: dict[str, Any] = {}
    omits = [*provider.requests.omits]
    for row in facts["rows"]:
        if _matches(row, provider, host, model):
            rules = dict(row["rules"])
            omits += rules.pop("omits", ())
            found = {**rules, **found}
    if isinstance(found.get("effort"), str):
        found["effort"] = facts["efforts"][found["effort"]]
    return replace(provider.requests, **found, omits=tuple(dict.fromkeys(omits)))


def _matches(row: Mapping[str, Any], provider: Provider, host: str, model: str) -> bool:
    if row.get("wire", provider.wire) != provider.wire:
        return False
    if "model" in row and re.search(row["model"], model, re.IGNORECASE) is None:
        return False
    places = row.get("at")
    return places is None or any(
        host.endswith(place) if "." in place else provider.name == place for place in places
    )


def build_effort(rules: RequestRules, reasoning: Reasoning | None) -> Effort:
    """Return the fields of a request that ask for an effort, or why the model cannot have it."""
    if reasoning is None or (reasoning.effort is None and reasoning.max_tokens is None):
        return Effort({})
    budget = reasoning.max_tokens
    if budget is not None and "budget" in rules.effort:
        return Effort(_fill_budget(rules.effort["budget"], budget))
    level: str = reasoning.effort or ""
    if budget is not None:
        level = next((name for most, name in LEVELS if budget <= most), "high")
    fields = rules.effort.get(level)
    if fields is None:
        return Effort({}, f"{level!r} cannot be set for this model")
    return Effort({**fields})


def _fill_budget(template: JsonObject, budget: int) -> JsonObject:
    return {
        key: _fill_budget(value, budget)
        if isinstance(value, dict)
        else (budget if value == "$budget" else value)
        for key, value in template.items()
    }


def merge_fields(body: JsonObject, more: Mapping[str, Any]) -> None:
    """Add fields to a body; objects that both have are merged."""
    for name, value in more.items():
        before = body.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            body[name] = {**before, **value}
        else:
            body[name] = value
