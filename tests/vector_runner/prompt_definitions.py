"""The areas of prompt_definitions.json."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec, turn_run
from pydantic import TypeAdapter
from structlog.testing import capture_logs
from vector_runner.cases import Area

from orchestrator.extensions.subagents import first_message as subprompt
from thinker import history
from thinker.agent import Agent
from thinker.formats.prompts.definition import DEFAULT_RECENT_IMAGES, PromptDefinition
from thinker.formats.prompts.problem import CircularIncludeError, UnknownPromptError
from thinker.formats.prompts.registry import AgentKind, Registry
from thinker.formats.prompts.sources import Source
from thinker.formats.prompts.tooluse import SubpromptUse, ToolEntry
from thinker.prompt.render.layouts import render_markdown
from thinker.prompt.render.lower import lower_definition
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.environments import Environments
from thinker.protocol.messages import Image, Reasoning, UserMessage
from thinker.toolcalls import schema_validation

# The names in the header of the file.
REGISTRY = Registry(
    prompts={"common_rules": "Rules.", "summarize_document": "Sum up."},
    models=frozenset({"conversational", "heavy"}),
    tools=frozenset({"search_docs", "create_ticket", "file_search"}),
    agents={
        "support_handoff": AgentKind(),
        "researcher": AgentKind(dual=True),
        "hidden_agent": AgentKind(dual=True, exposed=False),
    },
    hooks=frozenset({"limit_to_20_messages", "log_tool_calls"}),
)
SOURCES: TypeAdapter[dict[str, Source]] = TypeAdapter(dict[str, Source])


def _validated(given: Any) -> dict[str, Any]:
    """Return the verdict, the field and rule of every problem, and the uses of the tools."""
    problems = REGISTRY.validate_definition(given["definition"])
    places = [(problem.field, problem.rule) for problem in problems]
    found: dict[str, Any] = {"ok": not problems, "problems": places}
    if not problems:
        definition = PromptDefinition.model_validate(given["definition"])
        uses = map(REGISTRY.resolve_tool_entry, definition.tools or ())
        found["kinds"] = [use.kind for use in uses if use is not None]
    return found


def _same_verdict(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    if "field" in expected and (expected["field"], expected["rule"]) not in got["problems"]:
        return False
    return all(got[key] == expected[key] for key in ("ok", "kinds") if key in expected)


def _resolved(given: Any) -> dict[str, Any]:
    """Return an entry or a definition with its defaults."""
    if "definition" in given:
        return PromptDefinition.model_validate(given["definition"]).model_dump(by_alias=True)
    use = REGISTRY.resolve_tool_entry(ToolEntry.model_validate(given["tool"]))
    assert use is not None
    fields = use.model_dump(by_alias=True)
    return {**fields, **(fields.get("resumable") or {})}


def _included(given: Any) -> dict[str, Any]:
    """Return the text of a prompt with its includes, or the error."""
    definitions = {
        name: PromptDefinition.model_validate(value)
        for name, value in given.get("definitions", {}).items()
    }
    sources = SOURCES.validate_python(given.get("prompts", {}))
    sources |= {name: definition.prompt for name, definition in definitions.items()}
    root = definitions.get(given["resolve"])
    try:
        text = render_markdown(lower_definition(sources, given["resolve"]))
    except CircularIncludeError as error:
        return {"ok": False, "error": "circular_include", "path": list(error.path)}
    except UnknownPromptError as error:
        return {"ok": False, "error": "unknown_prompt", "prompt": error.name}
    own = {} if root is None else root.model_dump(by_alias=True)
    tools = None if root is None else [entry.name for entry in root.tools or ()]
    return {**own, "ok": True, "text": text, "tools": tools}


def _asked(given: Any) -> dict[str, Any]:
    """Run a turn with this definition; return the requests that the model gets."""
    bundle = {"name": "p", "definitions": {"p": {**given["definition"], "name": "p"}}}
    made = [_response(turn) for turn in given.get("model_turns", [])]
    model, host = ScriptedModel(*made, *[says("done")] * 3), MemoryHost()
    tools = [spec(name) for name in ("search_docs", "create_ticket", "file_search")]
    turn = turn_run("hello", *tools, prompt=bundle)
    with capture_logs():
        result = asyncio.run(Agent(ThinkerSettings(), model).run_turn(turn, host))
    first = model.requests[0] if model.requests else None
    return {
        "request_tools": [tool.name for tool in first.tools] if first else [],
        "request_tool_choice": first.tool_choice.mode if first else None,
        # The request after a call's result is not a retry.
        "model_requests": len(model.requests) - bool(host.ran),
        "final_has_tool_call": bool(host.ran),
        "error": result.error,
    }


def _response(turn: Mapping[str, Any]) -> Any:
    names = turn.get("tool_calls", [])
    if not names:
        return says(turn.get("text", ""))
    return calls(*(call(str(number), name) for number, name in enumerate(names)))


def _inputs(given: Any) -> dict[str, Any]:
    """Validate arguments and add defaults, or return the tool as the model sees it."""
    schema = given["schema"]
    if "arguments" in given:
        whole = subprompt.apply_defaults(given["arguments"], schema)
        problem = schema_validation.check_against_schema({**given["arguments"], **whole}, schema)
        paths = sorted(re.findall(r"\$\.([^:]+):|'([^']+)' is a required", problem or ""))
        found = [here or missing for here, missing in paths]
        return {"ok": problem is None, "args": whole, "paths": sorted(found)}
    fields = {"name": given["name"], "toolDescription": given["toolDescription"], "prompt": ""}
    fields |= {"model": "inherit", "requiredSchema": schema}
    tool = subprompt.build_tool_spec(PromptDefinition.model_validate(fields))
    inputs: Any = tool.parameters["properties"]
    return {
        "function": {"name": tool.name, "description": tool.description},
        "parameters_properties": list(inputs),
        "parameters_required": tool.parameters.get("required", []),
        "descriptions": {name: field.get("description") for name, field in inputs.items()},
    }


def _subprompt(given: Any) -> dict[str, Any]:
    """Return the first message of a run, or its result."""
    use = SubpromptUse.model_validate({"name": "p", **given["config"]})
    if "run" not in given:
        text, attached = subprompt.parse_opening(use, given["arguments"])
        return {"init_user_message": text, "attachments": list(attached)}
    ran = (
        subprompt.SubpromptCall(
            tool["name"], tool["arguments"], tool["result"], tool["status"] == "error"
        )
        for tool in given["run"]["tool_calls"]
    )
    return {"text": subprompt.format_run_result(use, given["run"]["text"], ran)}


def _same_text(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    """Check the statements of a case about a result or a first message."""
    text = got.get("text", "")
    stated = {
        "is_single_string": isinstance(text, str),
        "contains": all(part in text for part in expected.get("contains", [])),
        "not_contains": not any(part in text for part in expected.get("not_contains", [])),
    }
    return all(
        stated[key] if key in stated else got[key] == value for key, value in expected.items()
    )


def _images(given: Any) -> dict[str, Any]:
    threshold = given["recentImageThreshold"] or DEFAULT_RECENT_IMAGES
    picture = Image(media_type="image/png", data="AA==")
    count = given["messages_each_with_one_image"]
    said = [UserMessage(content=str(number), images=(picture,)) for number in range(count)]
    seen = history.describe_old_images(said, threshold)
    shown = [n for n, m in enumerate(seen) if isinstance(m, UserMessage) and m.images]
    hidden = (message for number, message in enumerate(seen) if number not in shown)
    return {
        "first_index_with_real_image": shown[0],
        "last_index_with_real_image": shown[-1],
        "older_replaced_by_text": all("[image: " in message.content for message in hidden),
    }


def _environment(given: Any) -> dict[str, str]:
    scopes = {name.removesuffix("_env"): values for name, values in given.items()}
    return Environments(**scopes).merge_levels()


def _visible(given: Any) -> dict[str, bool]:
    settings = Reasoning.model_validate(given)
    return {"returned_to_caller": not settings.exclude, "kept_in_history": settings.include}


def _hooks(given: Any) -> dict[str, list[str]]:
    """Return the hooks that a turn runs; a definition's hooks replace the agent's."""
    named = given["prompt_hooks"]
    definition: dict[str, Any] = {"toolDescription": "d", "model": "inherit", "prompt": "x"}
    definition |= {"name": "p"} if named is None else {"name": "p", "hooks": named}
    turn = turn_run("hello", prompt={"name": "p", "definitions": {"p": definition}})
    settings = ThinkerSettings(hooks=tuple(given["agent_hooks"] or ()), hooks_dir=Path("/missing"))
    with capture_logs() as logged:
        asyncio.run(Agent(settings, ScriptedModel(says("done"))).run_turn(turn, MemoryHost()))
    return {"run": [entry["hook"] for entry in logged if entry["event"] == "hook_not_loaded"]}


def _states(expected: Any, got: Any) -> bool:
    """Return whether every statement of a case is true; other values may exist."""
    return all(got[key] == value for key, value in expected.items())


VALIDATE = Area(_validated, same=_same_verdict)
PARTS = ("required", "prompt_content", "optional", "tools")
AREAS = {
    **dict.fromkeys((f"validate.{part}" for part in PARTS), VALIDATE),
    "defaults": Area(_resolved, same=_states),
    "include": Area(_included, same=_states),
    "tool_choice": Area(_asked, same=_states),
    "required_schema": Area(_inputs, same=_states),
    "subprompt": Area(_subprompt, same=_same_text),
    "hooks": Area(_hooks),
    "images": Area(_images, same=_states),
    "reasoning": Area(_visible),
    "env": Area(_environment),
}
