"""The areas agents_json and binding_resolution."""

import json
import re
from typing import Any

from vector_runner.area import Area
from vector_runner.cases import Case

from orchestrator import routing
from orchestrator.agentsfile import AgentsFileError, Problem, parse
from orchestrator.channel_api import InboundMessage

NOT_SHARED = re.compile(
    r"\.(port|systemPrompt): Required$"
    r"|\.llmProvider: .* received '(openai|anthropic|openrouter|demo|auto)'$"
)
STRICTER = re.compile(r'unknown field|unknown agent|"agentId" must be 1 to 64')


def _judge(given: Any) -> dict[str, Any]:
    """What became of a file: its valid parts as JSON, and each error with its place."""
    problems: tuple[Problem, ...]
    try:
        loaded = parse(json.dumps(given).encode())
        parsed, problems = loaded.file.model_dump(mode="json", by_alias=True), loaded.errors
    except AgentsFileError as error:
        parsed, problems = None, error.problems
    return {
        "ok": not problems,
        "parsed": parsed,
        "errors": [f"{problem.path}: {problem.message}" for problem in problems],
    }


def _same(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    """The same verdict; the same defaults, or errors at the same places in our own words."""
    if expected["ok"] != got["ok"]:
        return False
    if got["ok"]:
        return _holds(expected["parsed"], got["parsed"])
    return _places(expected["errors"]) <= _places(got["errors"])


def _places(errors: list[str]) -> set[str]:
    return {re.sub(r"\.(\d+)", r"[\1]", error.partition(": ")[0]) for error in errors}


def _holds(stated: Any, ours: Any) -> bool:
    """Whether ``ours`` holds everything that ``stated`` does; it may hold more fields."""
    if isinstance(stated, dict):
        return all(key in ours and _holds(stated[key], ours[key]) for key in stated)
    if isinstance(stated, list):
        return len(stated) == len(ours) and all(map(_holds, stated, ours))
    return bool(stated == ours)


def _more_lenient(case: Case, got: dict[str, Any]) -> bool:
    """Without the errors that we do not share, the verdict and the others are the same."""
    errors = case.expected.get("errors", [])
    shared = [error for error in errors if not NOT_SHARED.search(error)]
    if shared == errors or got["ok"] == bool(shared):
        return False
    return _places(shared) <= _places(got["errors"])


def _stricter(case: Case, got: dict[str, Any]) -> bool:
    """We refuse what the reference accepts, each time for a reason that is listed."""
    return case.expected["ok"] and all(STRICTER.search(error) for error in got["errors"])


def _route(given: dict[str, Any]) -> list[str | None]:
    """The recorded default agent is our explicit fallbackAgentId."""
    default = given.get("defaultAgentId")
    names = {str(binding["agentId"]) for binding in given["bindings"]}
    names |= {default} if default else set()
    agents = [{"agentId": name, "model": "m"} for name in sorted(names)]
    content = {"agents": agents, "bindings": given["bindings"], "fallbackAgentId": default}
    file = parse(json.dumps(content).encode()).file
    message = InboundMessage(given["channel"], "bot", given["chatId"], "1", "sender")
    return [routing.resolve(file.bindings, message, file.usable(), file.fallback_agent_id)]


AREAS = {
    "agents_json": Area(
        _judge,
        same=_same,
        rules={"accepts-more": _more_lenient, "refuses-more": _stricter},
    ),
    "binding_resolution": Area(_route),
}
