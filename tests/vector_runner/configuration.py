"""The areas agents_json and binding_resolution."""

import json
import re
from typing import Any

from vector_runner.cases import Area, Case

from orchestrator import routing
from orchestrator.agentsfile import AgentsFileError, Problem, parse_agents_file
from orchestrator.channel_api import InboundMessage

NOT_SHARED = re.compile(
    r"\.(port|systemPrompt): Required$"
    r"|\.llmProvider: .* received '(openai|anthropic|openrouter|demo|auto)'$"
)
STRICTER = re.compile(r'unknown field|unknown agent|"agentId" must be 1 to 64')


def _judge(given: Any) -> dict[str, Any]:
    """Parse agents.json; return its valid parts as JSON, and each error with its place."""
    problems: tuple[Problem, ...]
    try:
        loaded = parse_agents_file(json.dumps(given).encode())
        parsed, problems = loaded.file.model_dump(mode="json", by_alias=True), loaded.errors
    except AgentsFileError as error:
        parsed, problems = None, error.problems
    return {
        "ok": not problems,
        "parsed": parsed,
        "errors": [f"{problem.path}: {problem.message}" for problem in problems],
    }


def _same(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    """Return whether the verdicts are equal, and the values or the places of the errors."""
    if expected["ok"] != got["ok"]:
        return False
    if got["ok"]:
        return _holds(expected["parsed"], got["parsed"])
    return _places(expected["errors"]) <= _places(got["errors"])


def _places(errors: list[str]) -> set[str]:
    return {re.sub(r"\.(\d+)", r"[\1]", error.partition(": ")[0]) for error in errors}


def _holds(stated: Any, ours: Any) -> bool:
    """Return whether ``ours`` contains everything in ``stated``; it may have more fields."""
    if isinstance(stated, dict):
        return all(key in ours and _holds(stated[key], ours[key]) for key in stated)
    if isinstance(stated, list):
        return len(stated) == len(ours) and all(map(_holds, stated, ours))
    return bool(stated == ours)


def _more_lenient(case: Case, got: dict[str, Any]) -> bool:
    """Without the reference's additional errors, the verdicts and other errors are equal."""
    errors = case.expected.get("errors", [])
    shared = [error for error in errors if not NOT_SHARED.search(error)]
    if shared == errors or got["ok"] == bool(shared):
        return False
    return _places(shared) <= _places(got["errors"])


def _stricter(case: Case, got: dict[str, Any]) -> bool:
    """The product refuses what the reference accepts, for a listed reason."""
    return case.expected["ok"] and all(STRICTER.search(error) for error in got["errors"])


def _route(given: dict[str, Any]) -> list[str | None]:
    """Route a message; the recorded default agent is the fallbackAgentId."""
    default = given.get("defaultAgentId")
    names = {str(binding["agentId"]) for binding in given["bindings"]}
    names |= {default} if default else set()
    agents = [{"agentId": name, "model": "m"} for name in sorted(names)]
    content = {"agents": agents, "bindings": given["bindings"], "fallbackAgentId": default}
    file = parse_agents_file(json.dumps(content).encode()).file
    message = InboundMessage(given["channel"], "bot", given["chatId"], "1", "sender")
    return [
        routing.resolve_agent(
            file.bindings, message, file.list_enabled_ids(), file.fallback_agent_id
        )
    ]


AREAS = {
    "agents_json": Area(
        _judge, same=_same, rules={"accepts-more": _more_lenient, "refuses-more": _stricter}
    ),
    "binding_resolution": Area(_route),
}
