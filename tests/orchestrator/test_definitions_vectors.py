"""Vectors of agents.json, binding resolution and tool policy, run through the product.

Where the design decides otherwise than the recorded system, see tests/vectors/deviations.md.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator import policy, router
from orchestrator.adapter import InboundMessage
from orchestrator.definitions import AgentsFileError, Problem, parse

VECTORS = Path(__file__).parent.parent / "vectors" / "agent_runtime.json"

# Errors of the recorded system that we do not share, and errors of ours that it does not have.
NOT_REQUIRED = re.compile(r"\.(port|systemPrompt): Required$")
MORE_PROVIDERS = re.compile(
    r"\.llmProvider: .* received '(openai|anthropic|openrouter|demo|auto)'$"
)
STRICTER = re.compile(r'unknown field|unknown agent|"agentId" must be 1 to 64')


def cases(area: str) -> list[Any]:
    """The vectors of one area as pytest parameters."""
    entries = json.loads(VECTORS.read_text("utf-8"))
    return [pytest.param(e, id=e["name"]) for e in entries if e["area"] == area]


def outcome(value: object) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    """What became of a file: its valid parts as JSON, and the errors."""
    try:
        loaded = parse(json.dumps(value).encode())
    except AgentsFileError as error:
        return None, error.problems
    return loaded.file.model_dump(mode="json", by_alias=True), loaded.errors


def same_where_stated(stated: Any, ours: Any) -> bool:
    """Whether ``ours`` holds everything that ``stated`` does; it may hold more fields."""
    if isinstance(stated, dict):
        return all(key in ours and same_where_stated(stated[key], ours[key]) for key in stated)
    if isinstance(stated, list):
        return len(stated) == len(ours) and all(map(same_where_stated, stated, ours))
    return bool(stated == ours)


@pytest.mark.parametrize("case", cases("agents_json"))
def test_file_is_judged_as_recorded(case: dict[str, Any]) -> None:
    """The same files are accepted, with the same defaults, and the same fields refused."""
    parsed, errors = outcome(case["input"])
    if case["expected"]["ok"]:
        ours = [error for error in errors if not STRICTER.search(error.message)]
        assert ours == []
        if not errors:
            assert same_where_stated(case["expected"]["parsed"], parsed)
        return
    shared = [
        error
        for error in case["expected"]["errors"]
        if not NOT_REQUIRED.search(error) and not MORE_PROVIDERS.search(error)
    ]
    places = {re.sub(r"\.(\d+)", r"[\1]", error.partition(":")[0]) for error in shared}
    assert places <= {error.path for error in errors}
    assert bool(errors) == bool(shared)


@pytest.mark.parametrize("case", cases("binding_resolution"))
def test_chat_is_routed_as_recorded(case: dict[str, Any]) -> None:
    """The recorded default agent is our explicit fallbackAgentId."""
    given = case["input"]
    default = given.get("defaultAgentId")
    names = {binding["agentId"] for binding in given["bindings"]} | ({default} - {None})
    agents = [{"agentId": name, "model": "m"} for name in sorted(names)]
    content = {"agents": agents, "bindings": given["bindings"], "fallbackAgentId": default}
    file = parse(json.dumps(content).encode()).file
    message = InboundMessage(given["channel"], "bot", given["chatId"], "1", "sender")
    agent = router.resolve(file.bindings, message, file.usable(), file.fallback_agent_id)
    assert [agent] == case["expected"]


@pytest.mark.parametrize("case", cases("tool_policy"))
def test_tool_is_judged_as_recorded(case: dict[str, Any]) -> None:
    """Only ``*`` is special to us, so a recorded pattern with ``?`` matches no tool."""
    given = case["input"]
    patterns = given["allowedTools"] + given["deniedTools"]
    expected = case["expected"] and not any("?" in pattern for pattern in patterns)
    assert policy.allowed(given["tool"], given["allowedTools"], given["deniedTools"]) is expected
