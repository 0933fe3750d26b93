"""What single models and providers need, and how an effort is written for them."""

import json
import re
from dataclasses import fields, replace

import pytest

from thinker.models.quirks import FILE, build_effort, find_rules, merge_fields
from thinker.protocol.messages import JsonObject, Reasoning
from thinker.protocol.providers import PROVIDERS, RequestRules

FACTS = json.loads(FILE.read_bytes())


def rules(provider: str, model: str, host: str = "127.0.0.1") -> RequestRules:
    """Return the rules of a model."""
    return find_rules(PROVIDERS[provider], host, model)


def test_every_row_can_be_used_and_says_where_it_is_from() -> None:
    """A wrong pattern or name would be found with the first call alone."""
    known = {field.name for field in fields(RequestRules)}
    for row in FACTS["rows"]:
        assert row.keys() <= {"model", "at", "wire", "source", "date", "rules"}
        assert row["source"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])
        re.compile(row.get("model", ""))
        names = [place for place in row.get("at", ()) if "." not in place]
        assert set(names) <= PROVIDERS.keys()
        assert row["rules"].keys() <= known
        effort = row["rules"].get("effort", {})
        assert effort in FACTS["efforts"] if isinstance(effort, str) else True
    for levels in FACTS["efforts"].values():
        assert levels.keys() - {"budget"} == {"off", "low", "medium", "high"}


def test_a_model_counts_before_its_provider() -> None:
    """Wherever the model runs, by name or by address."""
    assert rules("litellm", "gemini/gemini-3-pro").call_extra
    assert not rules("litellm", "gemini/gemini-2.5-pro").call_extra
    assert rules("openai", "glm-4.7", "api.z.ai").send_back == "always"
    assert rules("openai", "glm-4.7").send_back == "calls"


def test_what_a_provider_omits_is_added_to_what_its_rows_omit() -> None:
    """An operator's own list counts as well."""
    provider = PROVIDERS["openai"]
    own = replace(provider, requests=replace(provider.requests, omits=("stream_options",)))
    assert find_rules(own, "api.openai.com", "gpt-5").omits == ("stream_options", "temperature")


@pytest.mark.parametrize(
    ("reasoning", "fields", "problem"),
    [
        (None, {}, ""),
        (Reasoning(exclude=True), {}, ""),
        (Reasoning(effort="low"), {"reasoning_effort": "low"}, ""),
        (Reasoning(max_tokens=0), {}, "'off' cannot be set"),
        (Reasoning(max_tokens=5000), {"reasoning_effort": "medium"}, ""),
        (Reasoning(max_tokens=50_000), {"reasoning_effort": "high"}, ""),
        (Reasoning(effort="off"), {}, "'off' cannot be set"),
    ],
)
def test_an_effort_is_written_or_said_to_be_impossible(
    reasoning: Reasoning | None, fields: JsonObject, problem: str
) -> None:
    """A budget counts as the nearest level."""
    found = build_effort(rules("groq", "openai/gpt-oss-20b"), reasoning)
    assert found.fields == fields
    assert problem in found.problem


def test_a_budget_fills_the_place_that_is_for_it() -> None:
    """At any depth."""
    found = build_effort(rules("anthropic", "claude-haiku-4-5"), Reasoning(max_tokens=3000))
    assert found.fields == {"thinking": {"type": "enabled", "budget_tokens": 3000}}


def test_fields_of_two_rules_are_merged() -> None:
    """The level of a Claude and the format of its answer are in one object."""
    body: JsonObject = {"output_config": {"effort": "low"}}
    merge_fields(body, {"output_config": {"format": {}}, "stream": True})
    assert body == {"output_config": {"effort": "low", "format": {}}, "stream": True}
