"""The areas tool_policy, leaked_tool_call, tool_arg_normalisation and sticky_tools."""

import re
from typing import Any

from vector_runner.cases import Area, Case, fixture

from orchestrator.tools import policy
from thinker.protocol.messages import ToolSpec
from thinker.toolcalls.arguments import coerce_arguments, relax_schema
from thinker.toolcalls.leaked import find_leaked_call
from thinker.toolcalls.ranking import Ranking
from thinker.toolcalls.select import select_tools

NOTHING = {"detected": False, "toolName": "", "parameters": {}, "preamble": ""}
LOOKBACK = 3  # turns, as the journal is asked for them (orchestrator/journal/turns/turns.py)


def _allowed(given: dict[str, Any]) -> bool:
    return policy.is_tool_allowed(given["tool"], given["allowedTools"], given["deniedTools"])


def _find(given: dict[str, Any]) -> dict[str, Any]:
    call = find_leaked_call(given["text"], given["availableTools"])
    if call is None:
        return NOTHING
    found = {"toolName": call.name, "parameters": call.arguments, "preamble": ""}
    return {"detected": True, **found}


def _normalise(given: dict[str, Any]) -> Any:
    """Relax a schema, or normalize arguments for a tool without a schema."""
    if "args" in given:
        return coerce_arguments(given["args"], given.get("schema") or {})
    return relax_schema(given)


def _sticky(given: dict[str, Any]) -> list[str]:
    """Return which tools of the case are offered; the tools of its fixture exist."""
    turns = given["recent"][-LOOKBACK:]
    recent = [tool for turn in reversed(turns) for tool in turn["tools"]]
    existing = {
        tool for playbook in fixture("seeded-17 playbooks") for tool in playbook["requiredTools"]
    }
    required = dict.fromkeys(given["playbookRequired"], "playbook")
    named = [name for name in dict.fromkeys((*required, *recent)) if name in {*existing, *recent}]
    tools = [ToolSpec(name=name, description="", parameters={}) for name in named]
    options: Any = {"required": required, "recent": recent, "ranking": Ranking(), "cap": 0}
    return sorted(select_tools(tools, given["message"], **options).reasons)


def _reads_question_mark(case: Case, got: object) -> bool:
    """The verdict is that of patterns in which a question mark is itself."""
    allowed, denied = case.given["allowedTools"], case.given["deniedTools"]
    if "?" not in "".join(allowed + denied):
        return False

    def fits(patterns: list[str]) -> bool:
        expressions = (re.escape(one).replace(r"\*", ".*") for one in patterns)
        return any(re.fullmatch(one, case.given["tool"]) for one in expressions)

    return got == ((not allowed or fits(allowed)) and not fits(denied))


def _guesses_no_chat(case: Case, got: dict[str, Any]) -> bool:
    """Only arguments differ that the reference filled with the primary chat; ours are as given."""
    primary = case.given.get("primaryChatId")
    if primary is None:
        return False
    guessed = {key for key, value in case.expected.items() if value == primary}
    given = {key: value for key, value in case.given["args"].items() if key in guessed}
    return bool(got == {**{k: v for k, v in case.expected.items() if k not in guessed}, **given})


AREAS = {
    "tool_policy": Area(_allowed, rules={"question-mark": _reads_question_mark}),
    "leaked_tool_call": Area(
        _find,
        rules={
            "words-around": lambda case, got: (
                got == NOTHING
                and case.expected["toolName"] in case.given["availableTools"]
                and (case.given["text"][0], case.given["text"][-1]) != ("{", "}")
            ),
        },
    ),
    "tool_arg_normalisation": Area(
        _normalise,
        rules={
            "no-guessed-chat": _guesses_no_chat,
            "by-schema": lambda case, got: (
                "args" in case.given and "schema" not in case.given and got == case.given["args"]
            ),
        },
    ),
    # The product has no tool groups; the tools that the case names are offered alike.
    "sticky_tools": Area(_sticky, same=lambda expected, got: set(got) <= set(expected)),
}
